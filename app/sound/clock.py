"""The clock of a playing film, which tells when each moment is heard."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

JUMP_S = 0.05  # a device that is off by more has lost or repeated sound
GAIN = 0.05  # share of a smaller error to correct with every block of the device


class PlaybackClock:
    """The relation of positions in a film to `time.perf_counter()`.

    Positions are seconds that keep increasing when the film begins again. Only one thread at a time
    may start and stop the clock.
    """

    def __init__(self) -> None:
        self._offset: float | None = None  # the time of position 0

    @property
    def running(self) -> bool:
        return self._offset is not None

    def start(self, position: float, at: float) -> None:
        """Start or restart the clock: `position`, in seconds, is heard at the time `at`."""
        self._offset = at - position

    def stop(self) -> None:
        self._offset = None

    def when(self, position: float) -> float:
        """Return the time at which a position is heard. The clock must be running."""
        offset = self._offset
        assert offset is not None
        return offset + position

    def position(self, at: float) -> float:
        """Return the position that is heard at a time. The clock must be running."""
        return at - self.when(0.0)

    def correct(self, position: float, heard_at: float) -> None:
        """Follow a device smoothly, since it reports its times less exactly than it plays."""
        offset = self._offset
        if offset is None:
            return
        error = heard_at - position - offset
        self._offset = offset + (error if abs(error) > JUMP_S else GAIN * error)


class RealTime:
    """The time of the machine, which tests replace."""

    def now(self) -> float:
        return time.perf_counter()

    def wait(
        self, changed: threading.Condition, done: Callable[[], object], seconds: float | None
    ) -> bool:
        """Wait until `done`, at most `seconds`, with `changed` held; return whether it is done."""
        return bool(changed.wait_for(done, seconds))
