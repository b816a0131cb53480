"""The choice of network input sizes that meet a time budget and change rarely."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from app.engine.config import EngineConfig
from app.options import STROKE_SIZE, STROKES

SHORTEST = 16  # pixels; the network's smallest side
# Long sides that the automatic size chooses from, in addition to the size of the strokes and the
# frame's own. There are few, so that a stream changes rarely and each change is worth it.
AUTO_SIZES = (256, 320, 384, 512, 768, 1024, 1440, 1920)
# The least automatic long sides of the networks. Strokes have a fixed width in pixels, so a smaller
# input leaves colored blur without a subject: a slower machine paints fewer frames instead. The
# full network paints wider strokes than the lite one and needs more pixels for them.
LEAST_LITE, LEAST_FULL = 256, 320
# Least ratio of detail size to stroke size; below it, sharpness is not worth the time.
SHARPER = 1.4
# The default long side of the network's input for single pictures on every device; strokes have a
# fixed width in its pixels. Larger pictures are scaled down for the network, and the result is
# scaled up again with their detail.
MAX_SIZE = 2048

ENOUGH = 3  # frames to measure before the first decision
RECENT = 12  # frames that a decision is based on
MISSED = 8  # how many of these have to be too slow to reduce the size
MISSED_S = 1.0  # for how long this has to last
MARGIN = 1.15  # a frame is too slow if it took longer than this multiple of the budget
ROOM = 0.8  # share of the budget that a larger size may need
NEARLY_ALL = 0.95  # the same for sizes up to the strokes', to preserve the stroke width
GROWTH = 0.8  # time grows with this power of the pixels, since a part of it is constant
HOLD_S = 5.0  # the least time between changes
ROOM_S = 8.0  # how long a larger size has to be affordable before it is used
LONGEST_ROOM_S = 600.0  # each return to a smaller size doubles ROOM_S, up to this


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of the network's inputs for a frame, as (width, height).

    Strokes have a fixed width in pixels of the network's input, so `strokes` determines their
    width in the result. If `detail` is larger, the network runs at both sizes, and the result has
    the sharpness of `detail` (see app.engine.post.blending.join_bands).
    """

    strokes: tuple[int, int]
    detail: tuple[int, int]

    @property
    def pixels(self) -> int:
        pixels = self.strokes[0] * self.strokes[1]
        return pixels + (self.detail[0] * self.detail[1] if self.detail != self.strokes else 0)


def fit(width: int, height: int, long_side: int) -> tuple[int, int]:
    """Scale a size so that its longer side is `long_side`; no side is below SHORTEST."""
    scale = long_side / max(width, height)
    return max(SHORTEST, round(width * scale)), max(SHORTEST, round(height * scale))


def stroke_size(strokes: str) -> int:
    """Return the long side of the network's input, in pixels, that makes strokes this wide.

    Args:
        strokes: A key of STROKES.
    """
    return round(STROKE_SIZE * STROKES[strokes].scale)


def long_side(config: EngineConfig, width: int, height: int) -> int:
    """Return the long side of the network's input in pixels, not yet adapted to the machine."""
    size = config.size or min(STROKE_SIZE, max(width, height))
    return round(size * STROKES[config.strokes].scale)


def requested_sizes(config: EngineConfig, width: int, height: int) -> Sizes:
    """Return the sizes for frames of width x height if the size in `config` is not automatic."""
    if config.keep_strokes and config.size:
        return kept_strokes(width, height, config.size, stroke_size(config.strokes))
    size = fit(width, height, long_side(config, width, height))
    return Sizes(size, size)


def kept_strokes(width: int, height: int, size: int, usual: int) -> Sizes:
    """Return sizes with strokes as wide as `usual` makes them, and the sharpness of `size`.

    Args:
        size: The long side of the larger input. If it is less than `usual`, the strokes become
            wider.
        usual: The long side of the other input, see `stroke_size`.
    """
    size = min(size, max(width, height))
    strokes = min(size, usual)
    small = fit(width, height, strokes)
    return Sizes(small, fit(width, height, size) if size >= SHARPER * strokes else small)


def still_sizes(config: EngineConfig, width: int, height: int) -> Sizes:
    """Return the sizes for a still picture in full quality, however long they take."""
    if config.size is not None:
        return requested_sizes(config, width, height)
    return kept_strokes(width, height, AUTO_SIZES[-1], stroke_size(config.strokes))


def size_for(config: EngineConfig, pixels: int) -> int:
    """Return the `EngineConfig.size` for `pixels`, rounded down: the inverse of `long_side`."""
    return int(pixels / STROKES[config.strokes].scale)


def unhurried_size(config: EngineConfig, width: int, height: int, limit: int) -> int:
    """Return the `EngineConfig.size` for a picture: all its pixels, up to a limit for automatic."""
    return max(SHORTEST, config.size or min(max(width, height), limit))


class AdaptiveResolution:
    """The choice of sizes from measured times per pixel, for a network, device and stroke width.

    On a machine that is fast enough, strokes have the width that `stroke_size` determines, and the
    rest of the budget is spent on sharpness. Otherwise the input is smaller and strokes are wider,
    down to `least`; on a machine that is too slow for `least`, frames exceed the budget. The first
    decision uses the size that fits; later changes, which are visible, need many frames that agree.
    The first frame at new sizes is not measured: it allocates buffers and selects convolution
    algorithms. Measurements survive a change of the frame's size.

    Args:
        budget_ms: The latency to aim at, from capture to paint.
        interval_ms: The time per frame to aim at.
        least: The smallest long side to choose, unless the frame or `stroke_size` is smaller.

    Attributes:
        overhead_ms: The part of the latency that is spent outside the engine.
        blend_ms: The engine's time that does not depend on the sizes.
    """

    def __init__(
        self,
        budget_ms: float,
        interval_ms: float = math.inf,
        stroke_size: int = STROKE_SIZE,
        least: int = LEAST_LITE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.budget_ms = budget_ms
        self.interval_ms = interval_ms
        self.overhead_ms = 0.0
        self.blend_ms = 0.0
        self.streamed = False
        self._clock = clock
        self._stroke_size = stroke_size
        self._least = least
        self._recent: deque[float] = deque(maxlen=RECENT)  # ms per pixel at the current sizes
        # Milliseconds per pixel of the newest frame, including the first at its sizes.
        self._upper_bound = 0.0
        self._last: Sizes | None = None
        self._long = stroke_size
        self._decided = False
        self._changed_at = -math.inf
        self._missed_since: float | None = None
        self._room_since: float | None = None
        self._room_s = ROOM_S

    def live(self, width: int, height: int, *, hold: bool = False) -> Sizes:
        """Choose the sizes for a stream's frame in pixels; `hold` keeps them unchanged."""
        if len(self._recent) >= ENOUGH and not hold:
            self._decide(width, height)
        return self._sizes(width, height, self._long)

    def first(self, width: int, height: int, still: Sizes) -> Sizes:
        """Choose the sizes for the first result of a still picture, as soon as possible.

        Strokes are as wide as for `still`, whose result replaces it; other widths would look like
        another painting.
        """
        soon, strokes = self.live(width, height), still.strokes
        return soon if soon.strokes == strokes else Sizes(strokes, strokes)

    def measured(self, sizes: Sizes, network_ms: float) -> None:
        self._upper_bound = network_ms / sizes.pixels
        if sizes == self._last:
            self._recent.append(self._upper_bound)
        else:
            self._recent.clear()
        self._last = sizes

    def reset_measurements(self) -> None:
        """Discard the measurements, such as times of other kernels, but keep the sizes."""
        self._recent.clear()
        self._upper_bound, self._last = 0.0, None
        self._decided, self._room_s = False, ROOM_S

    def _decide(self, width: int, height: int) -> None:
        now, budget = self._clock(), self._network_budget()
        if not self._decided:
            self._decided = True
            # The fastest frame counts: disturbances (starting up, a compiler) only slow a frame
            # down.
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
        """Return the milliseconds that the network may take.

        This is the budget without the time of everything else, but at least a third of the budget,
        since a smaller network could not make up for the rest.
        """
        latency = max(self.budget_ms - self.overhead_ms - self.blend_ms, self.budget_ms / 3)
        interval = max(self.interval_ms - self.blend_ms, self.interval_ms / 3)
        return min(latency, interval)

    def _affordable(self, width: int, height: int, budget_ms: float, cost: float) -> int:
        """Return the longest side within `budget_ms`, else `least`; `cost` is ms per pixel."""
        largest = min(max(width, height), AUTO_SIZES[-1])
        assert self._last is not None
        pixels = self._last.pixels
        best = self._least
        for long_side in sorted({*AUTO_SIZES, self._stroke_size, largest}):
            share = NEARLY_ALL if long_side <= self._stroke_size else ROOM
            more = self._sizes(width, height, long_side).pixels / pixels
            if cost * pixels * more**GROWTH <= share * budget_ms:
                best = max(best, min(long_side, largest))
        return best

    def _sizes(self, width: int, height: int, long_side: int) -> Sizes:
        return kept_strokes(width, height, min(long_side, AUTO_SIZES[-1]), self._stroke_size)
