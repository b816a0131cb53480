"""The texture of frames in OpenCV and NumPy, the reference for the native library."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.engine.texture.combing import Axes, averaged, axes_of, combed_noise
from kernels.frames.combing import Comb
from kernels.frames.noise import BANDS, CELL, TRACKED, WINDOWS, tile, tracked_size
from kernels.frames.stream_state import StreamState, taken
from utils.opencv import cv2
from utils.stroke_directions import FOLLOW

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB
_Floats = NDArray[np.float32]  # [H, W]

DEVIATION = 20.0  # standard deviation of the noise in flat parts at full texture, of 255
FLAT = 18.0  # of 255: parts of the frame that deviate this much have no texture

KEPT = 4_000_000  # pixels of the largest frame whose tiles are cached

CERTAIN = 0.2  # peak of a phase correlation, of 1; below it, the motion is not known
STILL = 0.1  # pixels of the small copies; a smaller motion is noise
FAR = 0.06  # share of their width; beyond it, motion is measured from a newer frame
REFINED = 3  # refinement steps of a motion
OUTLIERS = 3.0  # median errors; a pixel with a larger error moves otherwise
_BACK = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
# Change of presence per frame while the motion is not known, and after it is known again.
FADES, RETURNS = 0.25, 0.05


class TextureReference:
    """A reference for `Texture`, several times slower. Not thread-safe.

    Attributes:
        offset: The offset of the pattern, in pixels to the right and down.
        presence: The pattern's strength, up to 1; 0 if the motion was unknown for a while.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        # Small copies: the one that motion is measured from, and the frame before.
        self._reference = self._before = np.empty((0, 0), np.float32)
        # Positions in pixels: of the pattern at the reference, of the scene, and of the pattern,
        # which ignores the noise of that measurement.
        self._anchor = self._moved = self.offset = (0.0, 0.0)
        self.presence = 1.0
        self._followed = False  # whether the motion since the last frame is known
        self._axes: Axes | None = None  # of strokes that followed the last frame

    def apply(
        self,
        inputs: tuple[Pixels, ...],
        amount: float,
        *,
        continues: bool,
        comb: Comb | None = None,
    ) -> tuple[Pixels, ...]:
        if amount <= 0:
            self.reset()
            return inputs
        strokes = inputs[-1]
        gray = np.asarray(cv2.cvtColor(strokes, cv2.COLOR_RGB2GRAY), np.uint8)
        earlier = self.offset
        if continues:
            self._follow(gray)
        else:
            self.reset()
        height, width = gray.shape
        if comb is None:
            self._axes = None
            noise = _noise(height, width, *self.offset)
        else:
            noise = self._combed(gray, comb, earlier)
        field = noise * flatness(gray)
        field *= np.float32(amount * DEVIATION * self.presence)
        return tuple(_added(picture, field) for picture in inputs)

    def state(self) -> StreamState:
        if not self._reference.size:
            return {}
        places = np.array((self._anchor, self._moved, self.offset))
        return {
            "reference": self._reference.copy(),
            "before": self._before.copy(),
            "places": places,
            "presence": np.array(self.presence),
            **({} if self._axes is None else {"axes": self._axes.copy()}),
        }

    def restore(self, state: StreamState) -> None:
        self.reset()
        if state:
            self._reference, self._before = taken(state, "reference"), taken(state, "before")
            places = ((float(x), float(y)) for x, y in taken(state, "places"))
            self._anchor, self._moved, self.offset = places
            self.presence = float(taken(state, "presence"))
            self._axes = taken(state, "axes") if "axes" in state else None

    def _combed(self, gray: NDArray[np.uint8], comb: Comb, earlier: tuple[float, float]) -> _Floats:
        height, width = gray.shape
        rows, columns = tracked_size(height, width)
        small = cv2.resize(gray, (columns, rows), interpolation=cv2.INTER_AREA)
        axes = axes_of(comb, np.asarray(small, np.uint8), (height, width), self.offset)
        if comb.direction == FOLLOW and self._axes is not None and self._followed:
            x, y = self.offset[0] - earlier[0], self.offset[1] - earlier[1]
            axes = averaged(self._axes, axes, x * columns / width, y * rows / height)
        self._axes = axes if comb.direction == FOLLOW else None
        return combed_noise(comb, axes, (height, width), self.offset)

    def _follow(self, gray: NDArray[np.uint8]) -> None:
        height, width = gray.shape
        scale, size = max(1.0, max(height, width) / TRACKED), tracked_size(height, width)[::-1]
        small = cv2.resize(gray, size, interpolation=cv2.INTER_AREA).astype(np.float32)
        if self._reference.shape != small.shape:
            self.reset()
            self._reference = self._before = small
            return
        self._followed = False
        motion = _motion(self._reference, small)
        if motion is None:  # perhaps too far from the reference, but not from the frame before
            self._reference, self._anchor = self._before, self._moved
            motion = _motion(self._reference, small)
        self._before = small
        if motion is None:
            self._reference, self._anchor = small, self._moved
            self.presence = max(0.0, self.presence - FADES)
            return
        self._followed = True
        self.presence = min(1.0, self.presence + RETURNS)
        x, y = motion
        self._moved = self._anchor[0] + x * width / size[0], self._anchor[1] + y * height / size[1]
        if math.dist(self._moved, self.offset) > STILL * scale:
            self.offset = self._moved
        if math.hypot(x, y) > FAR * size[0]:
            self._reference, self._anchor = small, self._moved


def _motion(before: _Floats, now: _Floats) -> tuple[float, float] | None:
    """Return how far a picture has moved, in pixels to the right and down; None if unknown.

    Phase correlation is off by some tenths of a pixel. The method of Lucas and Kanade (1981)
    refines it over the whole picture, except for pixels with another motion.
    """
    height, width = now.shape
    window = _window(width, height)
    # OpenCV writes the product into its arguments if it receives a window.
    (x, y), certainty = cv2.phaseCorrelate(before * window, now * window)
    if not certainty >= CERTAIN:  # NaN if the picture is empty
        return None
    for _ in range(REFINED):
        back = cv2.warpAffine(
            now, _translation(x, y), (width, height), flags=_BACK, borderMode=cv2.BORDER_REPLICATE
        )
        wrong = before - back
        error = np.abs(wrong)
        weight = window * (error <= OUTLIERS * float(np.median(error)) + 1)
        right = cv2.Sobel(back, cv2.CV_32F, 1, 0, scale=1 / 8) * weight
        down = cv2.Sobel(back, cv2.CV_32F, 0, 1, scale=1 / 8) * weight
        slopes = np.stack((right, down)).reshape(2, -1)
        step = np.linalg.lstsq(slopes @ slopes.T, slopes @ (wrong * weight).ravel(), rcond=1e-3)[0]
        if math.hypot(*step) > 1:  # the slopes are not conclusive
            break
        x, y = x + float(step[0]), y + float(step[1])
    return x, y


def _added(picture: Pixels, field: _Floats) -> Pixels:
    height, width, _ = picture.shape
    if field.shape != (height, width):
        larger = cv2.resize(field, (width, height), interpolation=cv2.INTER_CUBIC)
        field = np.asarray(larger, np.float32)
    rounded = np.rint(field).astype(np.int16)
    gray = cv2.merge((rounded, rounded, rounded))
    return np.asarray(cv2.add(picture, gray, dtype=cv2.CV_8U), np.uint8)


def flatness(gray: NDArray[np.uint8]) -> _Floats:
    """Return the flatness per pixel, [H, W]: 1 without deviation, 0 from a deviation of FLAT."""
    height, width = gray.shape
    cells = max(1, width // CELL), max(1, height // CELL)
    values = gray.astype(np.float32)
    mean, square = (
        cv2.resize(each, cells, interpolation=cv2.INTER_AREA) for each in (values, values * values)
    )
    variance = np.zeros((), np.float32)
    for window in WINDOWS:
        near, squared = (cv2.GaussianBlur(each, (0, 0), window / CELL) for each in (mean, square))
        variance = np.maximum(variance, squared - near * near)
    flat = np.clip(1 - np.sqrt(variance) / FLAT, 0, 1)
    return np.asarray(cv2.resize(flat, (width, height), interpolation=cv2.INTER_LINEAR), np.float32)


def _noise(height: int, width: int, x: float, y: float) -> _Floats:
    """Return the pattern, of unit deviation, moved by x and y pixels."""
    total = np.zeros((height, width), np.float32)
    for number, (_, side) in enumerate(BANDS):
        # Whole pixels are cut out; the remainder is interpolated.
        left, top = math.floor(-x), math.floor(-y)
        repeats = math.ceil((height + 1) / side) + 1, math.ceil((width + 1) / side) + 1
        # Tiles of large pictures, which do not come in streams, are not cached.
        tiles = (_tiles if height * width <= KEPT else _new_tiles)(number, *repeats)
        cut = tiles[top % side :, left % side :][: height + 1, : width + 1]
        rest = _translation(-x - left, -y - top)
        total += np.asarray(cv2.warpAffine(cut, rest, (width, height), flags=_BACK), np.float32)
    total *= np.float32(1 / math.sqrt(len(BANDS)))
    return total


def _translation(x: float, y: float) -> NDArray[np.float64]:
    return np.array([[1, 0, x], [0, 1, y]], np.float64)


@lru_cache(maxsize=4)
def _window(width: int, height: int) -> _Floats:
    """Return weights for a phase correlation that exclude the edges."""
    columns, rows = (np.hanning(side + 2)[1:-1] for side in (width, height))
    return np.asarray(np.outer(rows, columns), np.float32)


def _new_tiles(number: int, down: int, across: int) -> _Floats:
    """Repeat a tile of one of BANDS, so that every cut of a frame is a part of it."""
    return np.tile(tile(number), (down, across))


_tiles = lru_cache(maxsize=2 * len(BANDS))(_new_tiles)  # for two frame sizes
