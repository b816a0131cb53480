"""Decides whether a stream moves its last painting while it paints the next one."""

from __future__ import annotations

from collections import deque
from statistics import median

from app.engine.display_path import MOVED_MS

# Seconds of a painting: at 20 a second and more, each is younger than a moved one would look.
SLOW_S = 0.05
FAST_S = MOVED_MS / 1e3  # below this, a stream shows every painting again
COUNTED = 5  # paintings
# Times of moving a painting, for which the network goes on before the next move: where moving is
# slow, paintings must not starve.
REST = 2.0
ENOUGH = 3  # paintings before the first decision: the first one may wait for kernels


class Fluid:
    """Whether paintings take so long that a stream should move them.

    Attributes:
        active: True if paintings usually take SLOW_S or more, until they take less than FAST_S.
    """

    def __init__(self) -> None:
        self.active = False
        self._spent: deque[float] = deque(maxlen=COUNTED)
        self._next = 0.0  # when a painting may be moved, at the earliest

    def has_time(self, now: float) -> bool:
        """Return whether a painting may be moved at `now`, while the next one is painted."""
        return now >= self._next

    def moved(self, begun: float, ended: float) -> None:
        """Record when a painting was moved."""
        self._next = ended + REST * (ended - begun)

    def painted(self, seconds: float) -> None:
        """Record the time of a painting, without the time of moving the one before."""
        self._spent.append(seconds)
        usual = median(self._spent)
        slow = usual >= (FAST_S if self.active else SLOW_S)
        self.active = slow and len(self._spent) >= ENOUGH

    def forget(self) -> None:
        """Begin again, with another source or network."""
        self.active = False
        self._spent.clear()
