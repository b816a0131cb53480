"""Hands the newest result from the engine's thread to the window's."""

from __future__ import annotations

import threading

from app.engine.result import StyledFrame


class LatestValue:
    """Holds the newest result only: a slow reader skips results and never falls behind.
    Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._value: StyledFrame | None = None

    def put(self, value: StyledFrame) -> bool:
        """Store a result, in place of one that was not taken.

        Returns:
            Whether the reader has to be notified: no result was waiting.
        """
        with self._lock:
            was_empty = self._value is None
            self._value = value
        return was_empty

    def take(self) -> StyledFrame | None:
        """Remove and return the result; None if there is no new one."""
        with self._lock:
            value, self._value = self._value, None
        return value
