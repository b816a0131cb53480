"""Walks a pickle without executing it: calls become values that describe them."""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from models.training.download.errors import LayoutError
from utils.translation.texts import tr


@dataclass(frozen=True, slots=True)
class Name:
    """A function or class named in the pickle, such as "torch FloatStorage"."""

    text: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A persistent id: the pickle's name for an object outside it."""

    value: Any


@dataclass(slots=True, eq=False)
class Call:
    """A call that is requested, not executed, with the last state and the items to assign."""

    function: Any
    arguments: Any
    state: Any = None
    items: dict[Any, Any] = field(default_factory=dict[Any, Any])


_MARK = object()
_TEXTS = ("SHORT_BINSTRING", "BINSTRING", "STRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE")
_NUMBERS = ("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "FLOAT", "BINFLOAT")
# The value that each operation pushes for its argument, if it only pushes one.
_FRESH: dict[str, Callable[[Any], Any]] = {
    "MARK": lambda _: _MARK,
    "NONE": lambda _: None,
    "NEWTRUE": lambda _: True,
    "NEWFALSE": lambda _: False,
    "EMPTY_DICT": lambda _: {},
    "EMPTY_LIST": lambda _: [],
    "EMPTY_TUPLE": lambda _: (),
    "GLOBAL": Name,
    **dict.fromkeys((*_TEXTS, *_NUMBERS), lambda argument: argument),
}


def described(file: BinaryIO) -> Any:
    """Read one pickle, of the protocols 0 to 3, from the file's position to the pickle's end.

    Numbers, text and containers stay as they are; the rest becomes Name, Call and Reference.

    Raises:
        LayoutError: If the bytes are not a pickle, or have an item that no file of weights needs.
    """
    try:
        return _Machine().run(pickletools.genops(file))
    except OSError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError) as exc:
        raise LayoutError(tr("the file on the server is not in PyTorch's format")) from exc


class _Machine:
    """The stack machine of pickles (PEP 307), for the operations in files of weights."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memo: dict[Any, Any] = {}

    def run(self, operations: Iterator[tuple[Any, Any, int | None]]) -> Any:
        for operation, argument, _ in operations:
            name: str = operation.name
            if name == "STOP":
                return self._stack.pop()
            self._take(name, argument)
        raise ValueError("no end")

    def _take(self, name: str, argument: Any) -> None:
        push, pop = self._stack.append, self._stack.pop
        if name in _FRESH:
            push(_FRESH[name](argument))
            return
        match name:
            case "PROTO":
                pass
            case "BINPUT" | "LONG_BINPUT" | "PUT":
                self._memo[argument] = self._stack[-1]
            case "BINGET" | "LONG_BINGET" | "GET":
                push(self._memo[argument])
            case "TUPLE":
                push(tuple(self._marked()))
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                parts = [pop() for _ in range(int(name[-1]))]
                push(tuple(reversed(parts)))
            case "BINPERSID":
                push(Reference(pop()))
            case "REDUCE" | "NEWOBJ":
                arguments = pop()
                push(Call(pop(), arguments))
            case "BUILD":
                state = pop()
                self._stack[-1].state = state
            case "APPEND" | "APPENDS":
                values = [pop()] if name == "APPEND" else self._marked()
                self._stack[-1].extend(values)
            case "SETITEM" | "SETITEMS":
                pairs = [pop(), pop()][::-1] if name == "SETITEM" else self._marked()
                self._assign(self._stack[-1], pairs)
            case _:
                raise ValueError(f"the operation {name}")

    def _marked(self) -> list[Any]:
        at = len(self._stack) - 1
        while self._stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise ValueError("no mark")
        values = self._stack[at + 1 :]
        del self._stack[at:]
        return values

    def _assign(self, target: Any, pairs: list[Any]) -> None:
        items: dict[Any, Any] = target.items if isinstance(target, Call) else target
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            items[key] = value
