"""A reader of JSON from any source, with bounds on its size, its depth and its numbers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any, NoReturn, cast

from utils.files.regular import read_regular
from utils.translation.texts import mark, tr

MAX_BYTES = 16 << 20  # bytes of a file, unless its reader sets another limit
DEPTH = 64  # nested containers
LARGEST = (1 << 63) - 1  # magnitude of an integer
_DIGITS = 20  # of such an integer with its sign; Python's time for more is quadratic

TOO_DEEP = mark("it is nested too deeply")
NO_NUMBER = mark("it has a number that is not finite or too large")
_ESCAPE, _TEXT = re.compile(rb"\\.", re.DOTALL), re.compile(rb'"[^"]*"')
_NO_BRACKETS = bytes(set(range(256)) - set(b'[]{}"'))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1, ord('"'): 0}
# Everything up to the next bracket. It never backtracks, so hostile text costs linear time.
_UP_TO_BRACKET = re.compile(
    r'[^"\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"\[\]{}]*+)*+([\[\]{}])', re.DOTALL
)


class _Refused:
    def __repr__(self) -> str:
        return "..."


# The placeholder for a value beyond the bounds, see `loads_parts`. No type check accepts it.
REFUSED = _Refused()


class SmallJsonError(ValueError):
    """Raised for text that is not JSON or exceeds the bounds; the message is a clause."""


def loads(text: str | bytes) -> Any:
    """Parse a JSON document, bytes in UTF-8; the last of equal keys in an object wins.

    Raises:
        SmallJsonError: If it is not JSON, nests more than DEPTH deep, or has a number that is not
            finite or an integer beyond LARGEST.
    """
    return _parsed(_decoded(text), _refuse_depth, _refuse_number)


def loads_parts(text: str | bytes) -> Any:
    """Parse JSON, bytes in UTF-8, whose parts are independent, such as the rows of a list.

    Each value beyond the bounds becomes REFUSED, so that the others can be read.

    Raises:
        SmallJsonError: If the bytes are not JSON.
    """
    return _parsed(_decoded(text), _cut_depth, lambda _: REFUSED)


def load(path: Path, most: int = MAX_BYTES) -> Any:
    """Parse a regular file of at most `most` bytes as `loads` does.

    Raises:
        OSError: If the file does not exist, is larger or cannot be read.
    """
    return loads(read_regular(path, most))


def value_at(text: str, start: int) -> Any:
    """Parse the JSON value that begins at `start`, ignoring everything after it.

    Raises:
        SmallJsonError: If no value begins there, or it exceeds the bounds of `loads`.
    """
    try:
        value, end = _decoder(_refuse_number).raw_decode(text, start)
    except RecursionError:
        raise SmallJsonError(tr(TOO_DEEP)) from None
    except json.JSONDecodeError as error:
        raise _malformed() from error
    if _depth(text[start:end]) > DEPTH:
        raise SmallJsonError(tr(TOO_DEEP))
    return value


def is_bounded(value: object) -> bool:
    inside = [value]
    while inside:
        match inside.pop():
            case dict() as table:
                inside += cast("dict[str, object]", table).values()
            case list() as row:
                inside += cast("list[object]", row)
            case int() as number if abs(number) > LARGEST:
                return False
            case float() as number if not math.isfinite(number):
                return False
            case _:
                pass
    return True


def _decoded(text: str | bytes) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SmallJsonError(tr("it is not UTF-8 text")) from error


def _parsed(text: str, bound: Callable[[str], str], number: Callable[[str], object]) -> Any:
    if _depth(text) > DEPTH:
        text = bound(text)
    try:
        return _decoder(number).decode(text)
    except json.JSONDecodeError as error:
        raise _malformed() from error


def _depth(text: str) -> int:
    """Return the maximum nesting depth of containers, or more for malformed text."""
    brackets = _ESCAPE.sub(b"", text.encode("utf-8", "replace")).translate(None, _NO_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, _TEXT.sub(b"", brackets))), default=0)


def _decoder(refused: Callable[[str], object]) -> json.JSONDecoder:
    def whole(digits: str) -> object:
        if len(digits) > _DIGITS or abs(number := int(digits)) > LARGEST:
            return refused(digits)
        return number

    def real(digits: str) -> object:
        number = float(digits)
        return number if math.isfinite(number) else refused(digits)

    return json.JSONDecoder(parse_int=whole, parse_float=real, parse_constant=refused)


def _refuse_depth(_: str) -> NoReturn:
    raise SmallJsonError(tr(TOO_DEEP))


def _cut_depth(text: str) -> str:
    """Replace every container deeper than DEPTH by NaN, which the decoder replaces."""
    kept: list[str] = []
    depth, at, begun = 0, 0, 0
    while found := _UP_TO_BRACKET.match(text, at):
        at = found.end()
        if found[1] in "[{":
            depth += 1
            if depth == DEPTH + 1:
                kept.append(text[begun : at - 1])
        else:
            if depth == DEPTH + 1:
                kept.append("NaN")
                begun = at
            depth -= 1
    if depth > DEPTH:
        raise SmallJsonError(tr(TOO_DEEP))
    return "".join((*kept, text[begun:]))


def _refuse_number(_: str) -> NoReturn:
    raise SmallJsonError(tr(NO_NUMBER))


def _malformed() -> SmallJsonError:
    return SmallJsonError(tr("it is not valid JSON"))
