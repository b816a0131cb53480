"""A bounded queue between two threads, which either of them can end."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Channel(Generic[T]):
    """Hands values from one thread to another, in order.

    Args:
        room: How many values may wait.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._values: deque[T] = deque()
        self._changed = threading.Condition()
        self._ended = self._given_up = False

    @property
    def given_up(self) -> bool:
        """Whether either side takes, or gives, no more."""
        return self._given_up

    def put(self, value: T) -> bool:
        """Wait for room and hand a value over; False once the other side has given up."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._values) < self._room or self._given_up)
            if self._given_up:
                return False
            self._values.append(value)
            self._changed.notify_all()
            return True

    def end(self) -> None:
        """Say that no value follows."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def give_up(self) -> None:
        """Take no more values, and drop those that wait."""
        with self._changed:
            self._given_up = True
            self._values.clear()
            self._changed.notify_all()

    def __iter__(self) -> Iterator[T]:
        """Take values until the other side ends, or either gives up."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._values or self._ended or self._given_up)
                if not self._values:
                    return
                value = self._values.popleft()
                self._changed.notify_all()
            yield value
