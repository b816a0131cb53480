"""Chooses the size of the network's input that keeps a time budget."""

from __future__ import annotations

import math
from collections import deque
from statistics import median

SHORTEST = 16  # the network's smallest side
STEP = 32  # the automatic size moves in steps of this many pixels of the long side
SMALLEST = 128  # long side; below, a picture is no longer worth its frame rate
FIRST = 256  # long side tried before anything was measured
LARGEST = 1920
STILL_BUDGET_MS = 4000.0  # a picture that stands still may take this long to refine


def fit(width: int, height: int, long_side: int) -> tuple[int, int]:
    """(width, height) scaled so that the longer is `long_side`, no side under SHORTEST."""
    scale = long_side / max(width, height)
    return max(SHORTEST, round(width * scale)), max(SHORTEST, round(height * scale))


class AutoSize:
    """Remembers what a pixel costs and picks the long side from it.

    One instance serves one way of running (network, precision, device); its memory of the cost
    survives changes of frame size. The first frame at a new size is not counted: it plans
    buffers and tunes convolutions. `interval_ms` is how often a frame should be finished; the
    budget is for how late it is.
    """

    def __init__(self, budget_ms: float, interval_ms: float = math.inf) -> None:
        self.budget_ms = budget_ms
        self.interval_ms = interval_ms
        self.overhead_ms = 0.0  # capture-to-paint time that is not the engine's
        self.blend_ms = 0.0  # what the engine spends whatever the size
        self._costs: deque[float] = deque(maxlen=5)  # ms per pixel
        self._rough = 0.0  # the same of a first frame at its size: an upper bound
        self._last = (0, 0)
        self._long = FIRST

    def live(self, width: int, height: int) -> tuple[int, int]:
        """The network's size for a frame of a running source."""
        largest = min(max(width, height), LARGEST)
        if len(self._costs) >= 2:
            # Never less than a third of the budget: overhead beyond that is not ours to mend.
            overhead = self.overhead_ms + self.blend_ms
            late = max(self.budget_ms - overhead, self.budget_ms / 3)
            often = max(self.interval_ms - self.blend_ms, self.interval_ms / 3)
            affordable = self._long_for(width, height, 0.85 * min(late, often))
            # Going up waits until there is room for a whole step more, or sizes would flutter.
            if affordable < self._long or affordable >= self._long + 2 * STEP:
                self._long = affordable
        return fit(width, height, min(self._long, largest))

    def still(self, width: int, height: int) -> tuple[int, int]:
        """The network's size for a picture that is not going to change."""
        largest = min(max(width, height), LARGEST)
        if not self._costs and not self._rough:
            return self.live(width, height)
        long_side = self._long_for(width, height, STILL_BUDGET_MS)
        return fit(width, height, min(max(long_side, self._long), largest))

    def measured(self, size: tuple[int, int], engine_ms: float) -> None:
        """A frame of `size` took the engine `engine_ms`."""
        self._rough = engine_ms / (size[0] * size[1])
        if size == self._last:
            self._costs.append(self._rough)
        self._last = size

    def _long_for(self, width: int, height: int, budget_ms: float) -> int:
        pixels = budget_ms / (median(self._costs) if self._costs else self._rough)
        long_side = math.sqrt(pixels * max(width, height) / min(width, height))
        return min(max(SMALLEST, int(long_side) // STEP * STEP), LARGEST)
