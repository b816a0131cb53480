"""Writes TOML, which the standard library only reads, and reads it from untrusted files."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from utils.files import small_json
from utils.files.regular import read_regular
from utils.translation.texts import tr

MAX_BYTES = 1 << 20  # bytes of a file
DOTS = 200  # per line; tomllib's time is quadratic in the number of parts of a key

Value = str | int | float | bool | Sequence[float]


def load(path: Path) -> dict[str, Any]:
    """Read a regular TOML file of at most MAX_BYTES bytes.

    Raises:
        OSError: If the file does not exist or cannot be read.
        ValueError: If the text is not TOML.
    """
    return loads(read_regular(path, MAX_BYTES).decode("utf-8"))


def loads(text: str) -> dict[str, Any]:
    """Parse TOML.

    Raises:
        ValueError: If the text is not TOML, too deep, or beyond the bounds of JSON.
    """
    if any(line.count(".") > DOTS for line in text.split("\n")):
        raise ValueError(tr("a line has more than {n} dots", n=DOTS))
    try:
        table = tomllib.loads(text)
    except RecursionError as exc:
        raise ValueError(tr(small_json.TOO_DEEP)) from exc
    if not small_json.is_bounded(table):
        raise ValueError(tr(small_json.NO_NUMBER))
    return table


def dumps(table: Mapping[str, Value]) -> str:
    """Format values by bare keys, without nested tables, so that tomllib.loads reads them back."""
    return "".join(f"{name} = {_value(value)}\n" for name, value in table.items())


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are valid in TOML, except for DEL and characters beyond U+FFFF.
        text = value.encode("utf-8", "replace").decode("utf-8")
        return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)
