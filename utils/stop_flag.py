"""A flag that stops native code under way, set from any thread."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Stopped(Exception):
    """Raised if a StopFlag ended a computation, whose result is then incomplete."""


class StopFlag:
    """A flag in memory that native code reads while it computes.

    Attributes:
        address: Of an int32, which is not 0 while the flag is set.
    """

    def __init__(self) -> None:
        self._value = ctypes.c_int32(0)
        self.address = ctypes.addressof(self._value)

    def set(self) -> None:
        self._value.value = 1

    def clear(self) -> None:
        self._value.value = 0

    def is_set(self) -> bool:
        return self._value.value != 0

    def check(self) -> None:
        """Raise Stopped if the flag is set."""
        if self.is_set():
            raise Stopped


_in_force: ContextVar[StopFlag | None] = ContextVar("stop flag", default=None)


@contextmanager
def stopped_by(flag: StopFlag) -> Iterator[None]:
    """Let a flag stop the native code that this thread calls within the block."""
    token = _in_force.set(flag)
    try:
        yield
    finally:
        _in_force.reset(token)


def flag_in_force() -> StopFlag | None:
    """Return the flag of the innermost `stopped_by` on this thread, if any."""
    return _in_force.get()
