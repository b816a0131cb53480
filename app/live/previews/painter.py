"""Small previews of the current picture in one style after another, painted between two frames."""

from __future__ import annotations

import logging
import math
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.post.blending import Pixels
from app.engine.process_mode import ProcessMode
from app.errors import StyleForgeError
from app.frame import Frame
from app.live.loop_events import Between
from app.live.previews.budget import StreamBudget
from models.transformer_net import IN_RUNTIMES
from utils.opencv import cv2

log = logging.getLogger(__name__)

SIZE = (192, 144)  # width and height that a preview covers, if AREA allows it
AREA = 256 * 144  # most pixels of a preview and of its network's input
LONGEST = 4  # times the short side; the middle of a longer picture is painted
QUIET_S = 0.3  # after the last frame of a still picture, before previews are painted
RENEW_S = 10.0  # until the preview of a moving picture is painted again


@dataclass(frozen=True, slots=True, eq=False)
class Preview:
    """The picture in one style.

    Attributes:
        pixels: [h, w, 3] uint8, RGB, of AREA pixels at most; None if the style cannot paint.
        whole: Whether they show the whole picture.
        reason: Why it cannot, as a sentence.
    """

    style: str
    pixels: Pixels | None
    reason: str = ""
    whole: bool = False


@dataclass(frozen=True, slots=True)
class _Made:
    """The number of the picture and the config that a preview was made from, and when."""

    picture: int
    look: EngineConfig
    at: float


class PreviewPainter:
    """A painter of previews, at most one per `step`, for the engine's thread.

    A StreamBudget limits it while a stream moves. A second engine holds its networks and the
    weights of one style; the painter releases it when every preview of a still picture is painted.
    """

    def __init__(
        self,
        make_engine: Callable[[], Engine],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._make_engine, self._clock = make_engine, clock
        self._budget = StreamBudget()
        self._engine: Engine | None = None
        self._wanted: tuple[str, ...] = ()
        self._visible: frozenset[str] = frozenset()
        self._made: dict[str, _Made] = {}
        self._refused: set[str] = set()  # styles that cannot paint
        self._picture: weakref.ref[Pixels] | None = None
        self._number = 0  # of the picture
        self._small: tuple[int, Frame] | None = None  # the newest picture, with its number
        self._quiet_at = 0.0

    @property
    def holds_networks(self) -> bool:
        """Whether its networks are in memory."""
        return self._engine is not None

    def want(self, styles: Sequence[str], visible: int) -> None:
        """Set the styles that need previews, by key and in painting order.

        For a moving picture, only the first `visible` are painted more than once.
        """
        self._wanted, self._visible = tuple(styles), frozenset(styles[:visible])
        if not styles:
            self._engine = None

    def forget(self) -> None:
        self._made.clear()
        self._refused.clear()
        self._small = None

    def evict(self, style: str) -> None:
        self._made.pop(style, None)
        self._refused.discard(style)

    def step(self, between: Between | None) -> Preview | None:
        """Paint the next preview if there is time for it; `between` None forbids it."""
        if between is None or not self._wanted:
            return None
        now, pixels = self._clock(), between.frame.pixels
        if self._picture is None or self._picture() is not pixels:
            self._picture, self._number = weakref.ref(pixels), self._number + 1
        if between.moving:
            if not self._budget.allows(now):
                return None
        elif not between.idle:
            self._quiet_at = now + QUIET_S
            return None
        elif now < self._quiet_at:
            return None
        look = look_of(between.config)
        style = self._next(look, now, moving=between.moving)
        if style is None:
            if not between.moving:
                self._engine = None
            return None
        preview = self._paint(style, look, between.frame)
        ended = self._clock()
        self._budget.spend(ended, ended - now)
        self._made[style] = _Made(self._number, look, ended)
        return preview

    def _next(self, look: EngineConfig, now: float, *, moving: bool) -> str | None:
        styles = [style for style in self._wanted if style not in self._refused]
        made = self._made
        for style in styles:
            if style not in made or made[style].look != look:
                return style
        if not moving:
            return next((s for s in styles if made[s].picture != self._number), None)
        old = [s for s in styles if s in self._visible and now - made[s].at >= RENEW_S]
        return min(old, key=lambda style: made[style].at, default=None)

    def _paint(self, style: str, look: EngineConfig, frame: Frame) -> Preview:
        if self._engine is None:
            self._engine = self._make_engine()
        if self._small is None or self._small[0] != self._number:
            self._small = self._number, _scaled(frame.preview or frame)
        try:
            small = self._small[1]
            size = max(small.width, small.height)
            self._engine.configure(replace(look, style=style, size=size))
            styled = self._engine.process(small, ProcessMode.SINGLE)
        except StyleForgeError as exc:
            log.info("no preview of %s: %s", style, exc)
            self._refused.add(style)
            return Preview(style, None, str(exc))
        finally:
            self._engine.evict(style)
        return Preview(style, styled.frame.pixels, whole=not _is_long(frame.width, frame.height))


def look_of(config: EngineConfig) -> EngineConfig:
    """Return the config for previews in any style and of any size: the look of `config`."""
    in_runtime = config.kernels in IN_RUNTIMES  # other runtimes compile a program for every style
    defaults = EngineConfig()
    return replace(
        config.unmatted(),
        style="",
        mix=None,
        mix_more=(),
        mix_amount=defaults.mix_amount,
        network="lite",
        size=None,
        keep_strokes=False,
        strokes=defaults.strokes,
        smoothing=0.0,
        compare=False,
        kernels=defaults.kernels if in_runtime else config.kernels,
        device="cpu" if in_runtime else config.device,
    )


def _is_long(width: int, height: int) -> bool:
    return max(width, height) > LONGEST * min(width, height)


def _scaled(frame: Frame) -> Frame:
    """Return a small copy of a frame, or of its middle."""
    down, across = (
        min(side, LONGEST * min(frame.width, frame.height)) for side in (frame.height, frame.width)
    )
    left, top = (frame.width - across) // 2, (frame.height - down) // 2
    middle = np.ascontiguousarray(frame.pixels[top : top + down, left : left + across])
    scale = min(max(SIZE[0] / across, SIZE[1] / down), math.sqrt(AREA / (across * down)))
    size = max(1, int(across * scale)), max(1, int(down * scale))
    return Frame(np.asarray(cv2.resize(middle, size, interpolation=cv2.INTER_AREA), np.uint8))
