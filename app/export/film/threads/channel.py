"""A bounded queue between two threads that either side can end."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Channel(Generic[T]):
    """A queue of `room` values that passes them from one thread to another, in order."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._values: deque[T] = deque()
        self._changed = threading.Condition()
        self._ended = self._given_up = False

    @property
    def given_up(self) -> bool:
        return self._given_up

    def put(self, value: T) -> bool:
        """Wait for room and pass a value on; return False once the other side has given up."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._values) < self._room or self._given_up)
            if self._given_up:
                return False
            self._values.append(value)
            self._changed.notify_all()
            return True

    def end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def give_up(self) -> None:
        """Accept no more values, and drop waiting ones."""
        with self._changed:
            self._given_up = True
            self._values.clear()
            self._changed.notify_all()

    def __iter__(self) -> Iterator[T]:
        """Yield values until the other side ends, or either side gives up."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._values or self._ended or self._given_up)
                if not self._values:
                    return
                value = self._values.popleft()
                self._changed.notify_all()
            yield value
