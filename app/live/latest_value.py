"""The handover of the newest result from the engine's thread to the window's."""

from __future__ import annotations

import math
import threading
import time

from app.engine.result import StyledFrame


class LatestValue:
    """The newest result only: a slow reader skips results and never falls behind. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._value: StyledFrame | None = None
        self._put_at = 0.0  # as time.perf_counter()
        self._interval = math.inf  # between the newest two results, in seconds
        self._awaited = False

    def put(self, value: StyledFrame) -> bool:
        """Store a result, replacing one not taken; return whether to notify the reader.

        It is notified if no result was waiting, or if it awaits this one.
        """
        now = time.perf_counter()
        with self._lock:
            notify = self._value is None or self._awaited
            self._value, self._awaited = value, False
            self._interval, self._put_at = now - self._put_at, now
        return notify

    def await_next(self, seconds: float) -> bool:
        """Return whether the rate of results promises the next one within `seconds`.

        If so, `put` then returns True for it, even if another result is waiting.
        """
        with self._lock:
            self._awaited = self._interval <= seconds
            return self._awaited

    def take(self) -> StyledFrame | None:
        """Remove and return the result; None if there is no new one."""
        with self._lock:
            value, self._value = self._value, None
        return value
