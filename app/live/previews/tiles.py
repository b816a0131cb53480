"""Paintings of the current picture for the tiles of a wall, in the fine version of each style."""

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
from app.engine.painting_devices import painting_device
from app.engine.post.blending import Pixels
from app.engine.process_mode import ProcessMode
from app.errors import StyleForgeError
from app.frame import Frame
from app.live.frame_loop import Interrupted
from app.live.loop_events import Between
from app.live.previews.painter import Preview, look_of
from utils.opencv import cv2

log = logging.getLogger(__name__)

UNPAINTED = ""  # stands for a style in the preview that shows the picture itself
# Most pixels of a tile on a CPU: two cores paint the first in 1.5 s and nine in 12 s.
AREA = 448 * 256
# Share above a tile of what it cuts off: faces are in the upper part of an upright picture.
ABOVE, ABOVE_UPRIGHT = 0.5, 0.25
SOFT_SIDE = 64  # px, the long side of the softened picture that stands for missing tiles


@dataclass(frozen=True, slots=True)
class _Made:
    """The number of the picture and the config that a tile was made from, and when."""

    picture: int
    look: EngineConfig
    at: float


class TilePainter:
    """A painter of tiles, at most one per `step`, for the engine's thread.

    The first tile of each style comes first, in order. The tiles of a moving picture then follow
    its frames, the oldest first; a rest as long as each painting leaves half of the time to others.
    A second engine holds the networks and the weights of the styles until nothing is wanted.
    """

    def __init__(
        self,
        make_engine: Callable[[], Engine],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._make_engine, self._clock = make_engine, clock
        self._engine: Engine | None = None
        self._styles: tuple[str, ...] = ()
        self._size = (0, 0)
        self._made: dict[str, _Made] = {}
        self._refused: set[str] = set()  # styles that cannot paint
        self._picture: weakref.ref[Pixels] | None = None
        self._number = self._shown = 0  # of the picture, and of the one that was softened
        self._small: tuple[int, Frame] | None = None  # the newest picture, with its number
        self._due = 0.0  # when a tile of a moving picture may follow another frame

    @property
    def holds_networks(self) -> bool:
        """Whether its networks are in memory."""
        return self._engine is not None

    def want(self, styles: Sequence[str], width: int, height: int) -> None:
        """Set the styles that need tiles, by key and in painting order; without any, rest.

        Args:
            width: The width of a tile, in pixels of the screen.
            height: The height of a tile.
        """
        if (width, height) != self._size:
            self._made.clear()
            self._small = None
        gone = set(self._styles) - set(styles)
        self._styles, self._size = tuple(styles), (width, height)
        if not styles:
            self._engine = None
        if self._engine is not None:
            for style in gone:
                self._engine.evict(style)

    def forget(self) -> None:
        self._made.clear()
        self._refused.clear()
        self._small = None
        self._shown = 0

    def evict(self, style: str) -> None:
        self._made.pop(style, None)
        self._refused.discard(style)
        if self._engine is not None:
            self._engine.evict(style)

    def step(self, between: Between | None) -> Preview | None:
        """Paint the next tile, or soften a new picture; `between` None forbids it.

        Return None if there is nothing to paint, or if the painting was interrupted.
        """
        if between is None or not self._styles:
            return None
        pixels = between.frame.pixels
        if self._picture is None or self._picture() is not pixels:
            self._picture, self._number = weakref.ref(pixels), self._number + 1
        if not self._shown or not (between.moving or self._shown == self._number):
            self._shown = self._number
            return Preview(UNPAINTED, _softened(self._scaled(between)), whole=True)
        look = replace(look_of(between.config), network="full")
        style = self._next(look, moving=between.moving)
        return None if style is None else self._paint(style, look, between)

    def _next(self, look: EngineConfig, *, moving: bool) -> str | None:
        made = self._made
        styles = [style for style in self._styles if style not in self._refused]
        for style in styles:
            if style not in made or made[style].look != look:
                return style
        old = [style for style in styles if made[style].picture != self._number]
        if moving and self._clock() < self._due:
            return None
        return min(old, key=lambda style: made[style].at, default=None)

    def _paint(self, style: str, look: EngineConfig, between: Between) -> Preview | None:
        begun = self._clock()
        if self._engine is None:
            self._engine = self._make_engine()
        small = self._scaled(between)
        try:
            size = max(small.width, small.height)
            self._engine.configure(replace(look, style=style, size=size))
            styled = self._engine.process(small, ProcessMode.SINGLE)
        except Interrupted:
            return None
        except StyleForgeError as exc:
            log.info("no tile of %s: %s", style, exc)
            self._refused.add(style)
            return Preview(style, None, str(exc))
        ended = self._clock()
        self._due = ended + (ended - begun)
        self._made[style] = _Made(self._number, look, ended)
        return Preview(style, styled.frame.pixels, whole=True)

    def _scaled(self, between: Between) -> Frame:
        """Return the picture cut to the shape of a tile, as large as it is painted."""
        if self._small is None or self._small[0] != self._number:
            on_cpu = painting_device(look_of(between.config).device).type == "cpu"
            self._small = self._number, _cropped(between.frame, self._size, on_cpu=on_cpu)
        return self._small[1]


def _cropped(frame: Frame, size: tuple[int, int], *, on_cpu: bool) -> Frame:
    width, height = size
    scale = min(frame.width / width, frame.height / height)
    across, down = max(1, int(width * scale)), max(1, int(height * scale))
    above = ABOVE_UPRIGHT if frame.height > frame.width else ABOVE
    left, top = (frame.width - across) // 2, int((frame.height - down) * above)
    middle = np.ascontiguousarray(frame.pixels[top : top + down, left : left + across])
    least = min(1.0, width / across)
    if on_cpu:
        least = min(least, math.sqrt(AREA / (across * down)))
    small = max(1, int(across * least)), max(1, int(down * least))
    return Frame(np.asarray(cv2.resize(middle, small, interpolation=cv2.INTER_AREA), np.uint8))


def _softened(frame: Frame) -> Pixels:
    scale = SOFT_SIDE / max(frame.width, frame.height)
    size = max(1, int(frame.width * scale)), max(1, int(frame.height * scale))
    small = cv2.resize(frame.pixels, size, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.GaussianBlur(small, (0, 0), 1.2), np.uint8)
