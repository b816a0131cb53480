"""Chooses the sizes of the network's input that keep a time budget, and keeps them for long."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from app.engine.config import EngineConfig
from app.options import STROKE_SIZE, STROKES

SHORTEST = 16  # the network's smallest side
# Long sides the automatic size chooses from, beside the one that gives strokes their width and
# the frame's own. Few, so that a stream changes seldom and each change buys something.
AUTO_SIZES = (128, 192, 256, 384, 512, 768, 1024, 1440, 1920)
SHARPER = 1.4  # times the size of the strokes; less adds more time than sharpness
STILL_BUDGET_MS = 4000.0  # a picture that stands still may take this long to refine

ENOUGH = 3  # frames measured before the first decision
RECENT = 12  # frames that decisions look at
MISSED = 8  # of these, so many have to be too slow for the size to go down
MISSED_S = 1.0  # and they have to be for this long
MARGIN = 1.15  # a frame is too slow if it took the budget this many times
ROOM = 0.8  # a sharper size is taken if it is expected to need this share of the budget at most
NEARLY_ALL = 0.95  # the same of sizes up to that of the strokes, whose width is worth more
GROWTH = 0.8  # a frame's time grows with its pixels to the power of this: some of it is fixed
HOLD_S = 5.0  # a size is kept at least this long
ROOM_S = 8.0  # there has to be room for a larger one this long
LONGEST_ROOM_S = 600.0  # each return to a smaller size doubles that, up to this


@dataclass(frozen=True, slots=True)
class Sizes:
    """(width, height) of the network's inputs for one frame.

    Strokes have a fixed width in the network's input, so `strokes` decides how wide they are in
    the picture; where `detail` is larger, the network works at both sizes, and the picture is as
    sharp as `detail` with the strokes of `strokes` (see app.engine.blending.join_bands).
    """

    strokes: tuple[int, int]
    detail: tuple[int, int]

    @property
    def pixels(self) -> int:
        """What the network has to compute."""
        pixels = self.strokes[0] * self.strokes[1]
        return pixels + (self.detail[0] * self.detail[1] if self.detail != self.strokes else 0)


def fit(width: int, height: int, long_side: int) -> tuple[int, int]:
    """(width, height) scaled so that the longer is `long_side`, no side under SHORTEST."""
    scale = long_side / max(width, height)
    return max(SHORTEST, round(width * scale)), max(SHORTEST, round(height * scale))


def long_side(config: EngineConfig, width: int, height: int) -> int:
    """The long side of the network's input that `config` asks for, for frames of width x height:
    its size or, where that is automatic, the one at which strokes have their width."""
    size = config.size or min(STROKE_SIZE, max(width, height))
    return round(size * STROKES[config.strokes].scale)


def requested_sizes(config: EngineConfig, width: int, height: int) -> Sizes:
    """The sizes for frames of width x height where `config` asks for one."""
    size = fit(width, height, long_side(config, width, height))
    return Sizes(size, size)


def size_for(config: EngineConfig, pixels: int) -> int:
    """The `EngineConfig.size` at which the long side of the network's input is `pixels`, the
    inverse of `long_side`; rounded down."""
    return int(pixels / STROKES[config.strokes].scale)


class AdaptiveResolution:
    """Remembers what a pixel costs and picks the sizes from it.

    One instance serves one way of running (network, precision, device, strokes); its memory of
    the cost survives changes of frame size. Where the machine is fast enough, strokes are as wide
    as `stroke_size` (the long side of a network's input) makes them, and what is left of the
    budget buys sharpness; where it is not, the network's input is smaller, and strokes are wider.

    The first frame at new sizes is not counted: it plans buffers and tunes convolutions.
    `interval_ms` is how often a frame should be finished; the budget is for how late it is. The
    first decision goes straight to the size that fits; later ones wait until many frames agree,
    since every change is seen. `clock` gives seconds.
    """

    def __init__(
        self,
        budget_ms: float,
        interval_ms: float = math.inf,
        stroke_size: int = STROKE_SIZE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.budget_ms = budget_ms
        self.interval_ms = interval_ms
        self.overhead_ms = 0.0  # capture-to-paint time that is not the engine's
        self.blend_ms = 0.0  # what the engine spends whatever the size
        self.streamed = False  # a stream has used it, not only a comparison
        self._clock = clock
        self._stroke_size = stroke_size
        self._recent: deque[float] = deque(maxlen=RECENT)  # ms per pixel, at these sizes
        self._rough = 0.0  # the same of a first frame at its sizes: an upper bound
        self._last: Sizes | None = None
        self._long = stroke_size
        self._decided = False
        self._changed_at = -math.inf
        self._missed_since: float | None = None
        self._room_since: float | None = None
        self._room_s = ROOM_S

    def live(self, width: int, height: int, *, hold: bool = False) -> Sizes:
        """The network's sizes for a frame of a running source; `hold` keeps those in force."""
        if len(self._recent) >= ENOUGH and not hold:
            self._decide(width, height)
        return self._sizes(width, height, self._long)

    def still(self, width: int, height: int) -> Sizes:
        """The network's sizes for a picture that is not going to change."""
        if not self._recent and not self._rough:
            return self.live(width, height)
        cost = median(self._recent) if self._recent else self._rough
        long_side = self._affordable(width, height, STILL_BUDGET_MS, cost)
        return self._sizes(width, height, max(long_side, self._long))

    def measured(self, sizes: Sizes, network_ms: float) -> None:
        """A frame of these sizes took the network `network_ms`."""
        self._rough = network_ms / sizes.pixels
        if sizes == self._last:
            self._recent.append(self._rough)
        else:
            self._recent.clear()
        self._last = sizes

    def reset_measurements(self) -> None:
        """What was measured no longer holds (other kernels): keep the sizes, decide anew."""
        self._recent.clear()
        self._rough, self._last = 0.0, None
        self._decided, self._room_s = False, ROOM_S

    def _decide(self, width: int, height: int) -> None:
        now, budget = self._clock(), self._network_budget()
        if not self._decided:
            self._decided = True
            # By the best frame, since what disturbs one (a start, a compiler) only slows it.
            best = min(self._recent)
            size = self._affordable(width, height, budget, best)
            fits = best * self._sizes(width, height, self._long).pixels <= MARGIN * budget
            self._change(max(size, self._long) if fits else size, now)
            return
        if now - self._changed_at < HOLD_S:
            return
        pixels = self._sizes(width, height, self._long).pixels
        missed = sum(cost * pixels > MARGIN * budget for cost in self._recent) >= MISSED
        larger = self._affordable(width, height, budget, median(self._recent))
        room = not missed and self._sizes(width, height, larger).pixels > pixels
        self._missed_since = (self._missed_since or now) if missed else None
        self._room_since = (self._room_since or now) if room else None
        if self._missed_since is not None and now - self._missed_since >= MISSED_S:
            self._room_s = min(2 * self._room_s, LONGEST_ROOM_S)
            self._change(self._affordable(width, height, budget, median(self._recent)), now)
        elif self._room_since is not None and now - self._room_since >= self._room_s:
            self._change(larger, now)

    def _change(self, long_side: int, now: float) -> None:
        if long_side != self._long:
            self._long = long_side
            self._recent.clear()
        self._changed_at = now
        self._missed_since = self._room_since = None

    def _network_budget(self) -> float:
        """Milliseconds for the network: what neither the rest of the engine nor the way from
        the camera to the screen takes, and never less than a third of the budget, since what
        goes beyond that is not the network's to mend."""
        late = max(self.budget_ms - self.overhead_ms - self.blend_ms, self.budget_ms / 3)
        often = max(self.interval_ms - self.blend_ms, self.interval_ms / 3)
        return min(late, often)

    def _affordable(self, width: int, height: int, budget_ms: float, cost: float) -> int:
        """The largest long side expected to keep `budget_ms`, where a pixel of the last frame took
        `cost` milliseconds."""
        largest = min(max(width, height), AUTO_SIZES[-1])
        assert self._last is not None
        pixels = self._last.pixels
        best = AUTO_SIZES[0]
        for long_side in sorted({*AUTO_SIZES, self._stroke_size, largest}):
            share = NEARLY_ALL if long_side <= self._stroke_size else ROOM
            more = self._sizes(width, height, long_side).pixels / pixels
            if cost * pixels * more**GROWTH <= share * budget_ms:
                best = max(best, min(long_side, largest))
        return best

    def _sizes(self, width: int, height: int, long_side: int) -> Sizes:
        largest = min(max(width, height), AUTO_SIZES[-1])
        long_side = min(long_side, largest)
        strokes = min(long_side, self._stroke_size)
        sharper = long_side >= SHARPER * strokes
        small = fit(width, height, strokes)
        return Sizes(small, fit(width, height, long_side) if sharper else small)
