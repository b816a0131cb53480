"""The decision, from measurements, whether a stream needs the lite network."""

from __future__ import annotations

import math
from collections import deque
from statistics import median

from app.engine.resolution import Sizes, fit
from utils.translation.numbers import number
from utils.translation.texts import tr

LEAST_FPS = 15.0  # the frame rate that a stream should reach
# The same where the last painting moves with the scene. The full network at 8 paintings a second
# looks better than the lite one at 20.
FLUID_FPS = 8.0
COUNTED = 5  # frames to measure before the first decision
VERY_SLOW_MS = 500.0  # if frames take this long, two are enough
MARGIN = 1.3  # times that rate that the full network must reach to be used again


class NetworkSelector:
    """The decision whether a stream needs the lite network, for one variant.

    The first frame at a new size is not measured, see AdaptiveResolution. While the lite network
    runs, the full network's time is extrapolated from changes in the lite one's. Each return to the
    full network raises the margin of the next one, so that a wrong estimate is not repeated.

    Attributes:
        remark: Why it is needed, as a clause; empty if it is not.
        rate: The rate that the full network would reach, such as "8 fps"; empty until the lite
            network is first needed.
    """

    def __init__(self) -> None:
        self.lite = False
        self.remark = self.rate = ""
        self._costs: dict[bool, deque[float]] = {}  # ms per pixel, by lite
        self._blend_ms = 0.0
        self._first_lite_cost = 0.0  # ms per pixel of the lite network when it was first used
        self._last: tuple[bool, Sizes] | None = None
        self._at = (0, 0)
        self._margin = MARGIN
        self._reset()

    def measured(self, lite: bool, sizes: Sizes, network_ms: float, blend_ms: float) -> None:
        """Record a live frame's times: one that grows with the sizes, and one that does not."""
        if (lite, sizes) == self._last:
            self._costs[lite].append(network_ms / sizes.pixels)
            self._blend_ms = blend_ms
            self._best_ms = min(self._best_ms, network_ms)
        self._last = (lite, sizes)
        if lite and not self._first_lite_cost and len(self._costs[True]) >= COUNTED:
            self._first_lite_cost = median(self._costs[True])

    def decide(self, width: int, height: int, long_side: int, *, fluid: bool = False) -> bool:
        """Choose the lite network (True) for the next frame if the full one is too slow.

        Args:
            long_side: The long side of the network's input for that rate.
            fluid: Whether FLUID_FPS suffices, in place of LEAST_FPS.
        """
        least = FLUID_FPS if fluid else LEAST_FPS
        at = fit(width, height, long_side)
        fps = self._full_fps(at)
        if not self.lite:
            enough = 2 if self._best_ms >= VERY_SLOW_MS else COUNTED
            if fps < least and len(self._costs[False]) >= enough:
                self.lite = True
                self._set_remark(fps, at)
        elif fps >= least * self._margin:
            self.lite, self.remark = False, ""
            self._margin *= MARGIN
            self._reset()
        elif at != self._at:
            self._set_remark(fps, at)
        return self.lite

    def _full_fps(self, at: tuple[int, int]) -> float:
        """Return the full network's frame rate at the size `at`; infinite if not yet measured."""
        if not self._costs[False]:
            return math.inf
        # The fastest frame counts: disturbances (starting up, a compiler) only slow a frame down.
        cost = min(self._costs[False])
        if self.lite and self._first_lite_cost:
            cost *= median(self._costs[True]) / self._first_lite_cost
        return 1000 / (cost * at[0] * at[1] + self._blend_ms)

    def _set_remark(self, fps: float, at: tuple[int, int]) -> None:
        self._at = at
        rounded = number(math.floor(fps)) if fps >= 1 else number(fps, 1)
        self.rate = tr("{fps} fps", fps=rounded)
        self.remark = tr("the full network reaches {rate} at {size}", rate=self.rate, size=max(at))

    def _reset(self) -> None:
        self._best_ms = math.inf
        self._costs = {False: deque(maxlen=9), True: deque(maxlen=9)}
        self._first_lite_cost = 0.0
