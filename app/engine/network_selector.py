"""Decides, from what was measured, whether a stream needs the lite network."""

from __future__ import annotations

import math
from collections import deque
from statistics import median

from app.engine.resolution import Sizes, fit

LEAST_FPS = 15.0  # what a stream should reach
COUNTED = 5  # frames before anything is decided
VERY_SLOW_MS = 500.0  # of frames that take so long, two are enough
MARGIN = 1.3  # the full network has to be this much faster than needed to be taken again


class NetworkSelector:
    """One instance serves one way of running (kernels, precision, device).

    The first frame at a new size is not counted, see AdaptiveResolution. While the lite network
    runs, what the full one would take is told from how the lite one's time has changed; whoever
    goes back and finds it was not so has to be surer the next time.
    """

    def __init__(self) -> None:
        self.lite = False
        self.remark = ""  # why lite, in words; empty where full
        self._costs: dict[bool, deque[float]] = {}  # ms per pixel, by lite
        self._blend_ms = 0.0
        self._lite_then = 0.0  # what a pixel cost the lite network at first
        self._last: tuple[bool, Sizes] | None = None
        self._at = (0, 0)
        self._margin = MARGIN
        self._forget()

    def measured(self, lite: bool, sizes: Sizes, network_ms: float, blend_ms: float) -> None:
        """A live frame took so long: what grows with `sizes`, and what does not."""
        if (lite, sizes) == self._last:
            self._costs[lite].append(network_ms / sizes.pixels)
            self._blend_ms = blend_ms
            self._best_ms = min(self._best_ms, network_ms)
        self._last = (lite, sizes)
        if lite and not self._lite_then and len(self._costs[True]) >= COUNTED:
            self._lite_then = median(self._costs[True])

    def decide(self, width: int, height: int, long_side: int) -> bool:
        """True for lite, for a frame of `width` and `height`; `long_side` is that of the
        network's input at which the stream should be fluent."""
        at = fit(width, height, long_side)
        fps = self._full_fps(at)
        if not self.lite:
            enough = 2 if self._best_ms >= VERY_SLOW_MS else COUNTED
            if fps < LEAST_FPS and len(self._costs[False]) >= enough:
                self.lite = True
                self._say(fps, at)
        elif fps >= LEAST_FPS * self._margin:
            self.lite, self.remark = False, ""
            self._margin *= MARGIN
            self._forget()
        elif at != self._at:
            self._say(fps, at)
        return self.lite

    def _full_fps(self, at: tuple[int, int]) -> float:
        """Of the full network at the size `at`; infinite before anything was measured."""
        if not self._costs[False]:
            return math.inf
        # The best of the last frames: what disturbs one (a start, a compiler) only slows it.
        cost = min(self._costs[False])
        if self.lite and self._lite_then:
            cost *= median(self._costs[True]) / self._lite_then
        return 1000 / (cost * at[0] * at[1] + self._blend_ms)

    def _say(self, fps: float, at: tuple[int, int]) -> None:
        self._at = at
        shown = f"{math.floor(fps)}" if fps >= 1 else f"{fps:.1f}"
        self.remark = f"the full network reaches {shown} fps at {max(at)}"

    def _forget(self) -> None:
        self._best_ms = math.inf
        self._costs = {False: deque(maxlen=9), True: deque(maxlen=9)}
        self._lite_then = 0.0
