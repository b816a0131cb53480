"""The built-in animated scene, a lake in the late afternoon; it depends only on the time."""

from __future__ import annotations

import functools
import math
import threading
import time

import numpy as np

from app.frame import Frame, FrameSource, SourceInfo
from app.sources import foreground, landscape
from app.sources.layers import Bytes, Layer
from utils.opencv import cv2
from utils.translation.texts import tr

SCENE = "scene"  # its spec
PERIOD_S = 30.0  # the scene repeats after this time
FPS = 30.0
WATERLINE = landscape.HORIZON + 0.14  # position of the boat, as a fraction of the height

# Maps the sum of two waves to light: the water sparkles only where both are high.
_SPARKLE = np.clip((np.arange(256) - 158) * 7, 0, 255).astype(np.uint8)

Sheet = tuple[Bytes, Bytes]  # colors and transparency of a Layer, wider than the picture


class SceneRenderer:
    """The layers of the scene at one size, and their motion."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._sky = landscape.sky(width, height)
        self._horizon = len(self._sky)
        high, low = round(height * 0.30), round(height * 0.33)
        # The high clouds repeat twice per width: with the same period they move half as fast.
        self._high = _repeated(landscape.clouds((width + 1) // 2, high, 0.34, 9.0, 71, 0.2, 0.6), 3)
        self._low = _repeated(landscape.clouds(width, low, 0.40, 2.4, 78, 0.45, 0.95), 2)
        self._low_top = round(height * 0.08)
        self._mountains = landscape.mountains(width, height)
        self._water = landscape.water(width, height)
        shore = foreground.shore(width, height)
        # The tree is narrow and the bank low: as two strips, compositing takes a third of the time.
        bank, tree = round(height * 0.72) - shore.y, round(width * 0.32) - shore.x
        rows, columns = shore.transparency.shape[:2]
        self._shore = (shore.crop(0, bank, 0, tree), shore.crop(bank, rows, 0, columns))
        self._boat = foreground.boat(height)
        self._balloon = foreground.balloon(height)

    def render(self, t: float) -> Bytes:
        """Render the scene at `t` seconds as [H, W, 3] RGB."""
        turn = (t / PERIOD_S) % 1.0
        picture = np.empty((self.height, self.width, 3), np.uint8)
        above, below = picture[: self._horizon], picture[self._horizon :]
        above[:] = self._sky
        _composite_shifted(above, self._high, 0, turn * self._high[0].shape[1] / 3)
        _composite_shifted(above, self._low, self._low_top, turn * self._low[0].shape[1] / 2)
        self._mountains.composite_onto(above)
        self._draw_balloon_and_birds(above, turn)
        self._draw_lake(above, below, turn)
        self._draw_boat(picture, turn)
        for part in self._shore:
            part.composite_onto(picture)
        return picture

    def _draw_balloon_and_birds(self, above: Bytes, turn: float) -> None:
        circle = 2 * math.pi * turn
        x = self.width * (0.50 + 0.03 * math.sin(circle))
        y = self.height * (0.075 + 0.018 * math.sin(2 * circle + 1))
        _moved(self._balloon, x, y).composite_onto(above)
        for i in range(7):
            along = (2 * turn + 0.055 * abs(i - 3)) % 1.0
            x = self.width * (1.08 - 1.16 * along)
            y = self.height * (0.25 + 0.017 * (i - 3) + 0.02 * math.sin(circle * 4 + i))
            flap = math.sin(2 * math.pi * (45 * turn + 0.17 * i))
            span = self.height * 0.0125
            wing = np.array(
                [(-1, -0.5 * flap), (-0.4, -0.35), (0, 0), (0.4, -0.35), (1, -0.5 * flap)]
            )
            points = np.rint((wing * span + (x, y)) * 16).astype(np.int32)
            thick = max(1, round(self.height / 400))
            cv2.polylines(above, [points], False, (54, 52, 70), thick, cv2.LINE_AA, 4)

    def _draw_lake(self, above: Bytes, below: Bytes, turn: float) -> None:
        """Draw the mirror image of the upper part, distorted by two opposite waves."""
        water = self._water
        slide = int(turn * self.width)
        there = slice(slide, slide + self.width)
        back = slice(self.width - slide, 2 * self.width - slide)
        x = cv2.add(water.x, cv2.add(water.ripple[:, there], water.swell[:, back]))
        y = cv2.add(water.y, cv2.add(water.swell[:, there], water.ripple[:, back]))
        seen = cv2.remap(above, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        cv2.multiply(seen, water.tint, seen, 1 / 255)
        light = cv2.add(water.sparkle[:, there], water.sparkle[:, back])
        light = cv2.LUT(light, _SPARKLE)
        cv2.add(seen, water.glow, seen)
        shine = cv2.multiply(cv2.merge([light, light, light]), water.shine, scale=1 / 255)
        cv2.add(seen, shine, below)

    def _draw_boat(self, picture: Bytes, turn: float) -> None:
        """Draw the boat, which crosses the lake once per period, and its reflection."""
        circle = 2 * math.pi * turn
        boat = self._boat
        height, width = boat.transparency.shape[:2]
        x = -width + (self.width + 2 * width) * ((turn + 0.46) % 1.0)
        line = self.height * (WATERLINE + 0.0035 * math.sin(9 * circle))
        lean = 0.035 * math.sin(7 * circle) - 0.05
        mirrored = Layer(boat.colors[::-1], boat.transparency[::-1])
        sway = 0.03 * math.sin(23 * circle)
        _moved(_dimmed(mirrored), x, line, -lean + sway, 0.0).composite_onto(picture)
        _moved(boat, x, line - height, lean, float(height)).composite_onto(picture)


def _repeated(sheet: Sheet, times: int) -> Sheet:
    colors, keep = sheet
    return np.tile(colors, (1, times, 1)), np.tile(keep, (1, times, 1))


def _composite_shifted(picture: Bytes, sheet: Sheet, top: int, shift: float) -> None:
    """Composite the sheet, shifted by a fraction of a pixel, so that slow clouds move smoothly."""
    whole, part = int(shift), shift % 1.0
    width = picture.shape[1]
    last = sheet[0].shape[1] - width - 1
    colors, keep = (
        cv2.addWeighted(s[:, a : a + width], 1 - part, s[:, b : b + width], part, 0)
        for s in sheet
        for a, b in [(min(whole, last), min(whole + 1, last + 1))]
    )
    _layer(colors, keep, 0, top).composite_onto(picture)


def _layer(colors: np.ndarray, keep: np.ndarray, x: int = 0, y: int = 0) -> Layer:
    """Make a layer of OpenCV's results, which are uint8 although the annotations do not say so."""
    return Layer(colors.astype(np.uint8, copy=False), keep.astype(np.uint8, copy=False), x, y)


def _dimmed(layer: Layer) -> Layer:
    """Return the layer at 60 % of its coverage, and a little darker."""
    colors = cv2.convertScaleAbs(layer.colors, alpha=0.55)
    return _layer(colors, cv2.convertScaleAbs(layer.transparency, alpha=0.6, beta=102))


def _moved(layer: Layer, x: float, y: float, lean: float = 0.0, foot: float = 0.0) -> Layer:
    """Return the layer at the subpixel position (x, y), sheared by `lean` around the row `foot`."""
    height, width = layer.transparency.shape[:2]
    margin = 2 + math.ceil(abs(lean) * height)
    left, top = math.floor(x), math.floor(y)
    matrix = np.array(
        [[1, -lean, x - left + margin + lean * foot], [0, 1, y - top + 1]], np.float64
    )
    size = (width + 2 * margin, height + 3)
    colors = cv2.warpAffine(layer.colors, matrix, size)
    keep = cv2.warpAffine(layer.transparency, matrix, size, borderValue=(255, 255, 255))
    return _layer(colors, keep, left - margin, top - 1)


@functools.lru_cache(maxsize=2)
def scene_renderer(width: int, height: int) -> SceneRenderer:
    """Return the renderer for that size; the first call takes tenths of a second."""
    return SceneRenderer(width, height)


def render(t: float, width: int = 1280, height: int = 720) -> Bytes:
    """Render the scene as [height, width, 3] uint8 RGB, the same for the same arguments.

    It repeats every PERIOD_S seconds; width and height are at least 64.
    """
    return scene_renderer(width, height).render(t)


class Scene(FrameSource):
    """The scene as a live source of FPS frames per second; frames not read in time are dropped."""

    kind = "scene"

    def __init__(self, width: int = 1280, height: int = 720) -> None:
        self._painting = scene_renderer(width, height)
        self.info = SourceInfo(tr("Animated scene"), width, height, FPS)
        self._closed = threading.Event()
        self._began = time.perf_counter()  # plus the time spent paused
        self._paused_at: float | None = None
        self._delivered = -1
        self._dropped = 0

    def read(self, timeout: float = 0.02) -> Frame | None:
        end = time.perf_counter() + timeout
        while (index := self._due()) <= self._delivered or self._closed.is_set():
            now = time.perf_counter()
            if now >= end:
                return None
            next_due = self._began + (self._delivered + 1) / FPS
            idle = self._closed.is_set() or self._paused_at is not None
            wait = end - now if idle else min(end, next_due) - now
            time.sleep(max(wait, 0.0))
        self._dropped += index - self._delivered - 1
        self._delivered = index
        start = time.perf_counter()
        pixels = self._painting.render(index / FPS)
        return Frame(pixels, index, start, (time.perf_counter() - start) * 1e3)

    def _due(self) -> int:
        return int(((self._paused_at or time.perf_counter()) - self._began) * FPS)

    def close(self) -> None:
        self._closed.set()

    @property
    def dropped(self) -> int:
        return self._dropped

    def pause(self, paused: bool) -> None:
        now = time.perf_counter()
        if paused and self._paused_at is None:
            self._paused_at = now
            self._delivered = max(self._delivered, self._due())
        elif not paused and self._paused_at is not None:
            self._began += now - self._paused_at
            self._paused_at = None
