"""Sequences of launches, recorded once and repeated with other addresses.

Determining kernels, grids and numbers from the shapes of tensors takes longer than the launches.
They are recorded with placeholders for addresses, which every later call fills in.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from ctypes import Structure, c_void_p, sizeof
from typing import Any, NamedTuple, Protocol

_BITS = 48  # bits of an address
ALIGNMENT = 16  # bytes: kernels check whether an address is a multiple of it


class Bindable(Protocol):
    """A kernel, such as `Kernel`."""

    def bound(
        self, grid: tuple[int, int, int], arguments: tuple[Any, ...]
    ) -> Callable[[c_void_p | int | None], int]:
        """Return a function that launches it on a stream and returns an error or 0."""
        ...


class Launch(NamedTuple):
    """A recorded launch; its ctypes `arguments` have placeholders for addresses."""

    kernel: Bindable
    grid: tuple[int, int, int]
    arguments: tuple[Any, ...]


def place(slot: int, address: int = 0) -> int:
    """Return the placeholder for the address with index `slot` in every call's addresses.

    Only the alignment of `address` is used, which all calls must share.
    """
    return (slot + 1) << _BITS | address % ALIGNMENT


class LaunchSequence:
    """A sequence of launches to repeat, with copied arguments. Any thread may call it."""

    __slots__ = ("_bound", "_holes", "_lock")

    def __init__(self, launches: Sequence[Launch]) -> None:
        self._bound: list[Callable[[c_void_p | int | None], int]] = []
        self._holes: list[tuple[c_void_p, int, int]] = []  # with slot and offset
        for kernel, grid, arguments in launches:
            copies: tuple[Any, ...] = tuple(map(_copy, arguments))
            self._bound.append(kernel.bound(grid, copies))
            self._holes += (hole for each in copies for hole in _holes(each))
        self._lock = threading.Lock()

    def __call__(self, stream: c_void_p | int | None, addresses: Sequence[int]) -> int:
        """Launch the sequence; return 0, or the CUresult of the first launch that failed.

        `addresses` has one address per slot, 0 if the slot is unused.
        """
        with self._lock:  # another call would fill in its own addresses
            for hole, slot, offset in self._holes:
                hole.value = addresses[slot] + offset
            for launch in self._bound:
                if error := launch(stream):
                    return error
        return 0


def _copy(argument: Any) -> Any:
    kind: Any = argument.__class__
    return kind.from_buffer_copy(argument)


def _holes(argument: Any) -> Iterator[tuple[c_void_p, int, int]]:
    """Yield the pointers in a ctypes value that have a placeholder, with its slot and offset."""
    kind: Any = argument.__class__
    for at in _pointers(kind, 0):
        pointer = c_void_p.from_buffer(argument, at)
        value = pointer.value or 0
        if slot := value >> _BITS:
            offset = value & (1 << _BITS) - 1
            yield pointer, slot - 1, offset - offset % ALIGNMENT


def _pointers(kind: Any, at: int) -> Iterator[int]:
    if kind is c_void_p:
        yield at
    elif issubclass(kind, Structure):
        for name, field, *_ in kind._fields_:
            yield from _pointers(field, at + getattr(kind, name).offset)
    elif hasattr(kind, "_length_"):
        for index in range(kind._length_):
            yield from _pointers(kind._type_, at + index * sizeof(kind._type_))
