"""The clock of a film that plays: when each moment of it is heard."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

JUMP_S = 0.05  # what a device is off by more than this was lost or repeated by it
GAIN = 0.05  # share of a smaller error that is corrected with every block of the device


class PlaybackClock:
    """Relates positions of a film to `time.perf_counter()`. Positions are seconds that go on
    increasing where the film begins again. One thread at a time starts and stops it."""

    def __init__(self) -> None:
        self._offset: float | None = None  # the time of position 0

    @property
    def running(self) -> bool:
        """Whether it was started and not stopped."""
        return self._offset is not None

    def start(self, position: float, at: float) -> None:
        """Start, or start anew: `position` is heard at the time `at`."""
        self._offset = at - position

    def stop(self) -> None:
        """Stop."""
        self._offset = None

    def when(self, position: float) -> float:
        """When a position is heard. The clock has to be running."""
        offset = self._offset
        assert offset is not None
        return offset + position

    def position(self, at: float) -> float:
        """Which position is heard at a time. The clock has to be running."""
        return at - self.when(0.0)

    def correct(self, position: float, heard_at: float) -> None:
        """Follow a device: it tells the times of its blocks less exactly than it plays them."""
        offset = self._offset
        if offset is None:
            return
        error = heard_at - position - offset
        self._offset = offset + (error if abs(error) > JUMP_S else GAIN * error)


class RealTime:
    """The time of the machine; tests have another."""

    def now(self) -> float:
        """The time, in seconds."""
        return time.perf_counter()

    def wait(
        self, changed: threading.Condition, done: Callable[[], object], seconds: float | None
    ) -> bool:
        """Wait until `done`, or so many seconds; whether it is done. `changed` is held."""
        return bool(changed.wait_for(done, seconds))
