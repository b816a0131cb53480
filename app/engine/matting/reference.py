"""The arithmetic of mattes in NumPy and OpenCV, the reference for the native library.

A color of the frame has a part in the direction of the scene's color, its brightness, and a rest,
which is a change of color (Horprasert, Harwood and Davis 1999). A loss of brightness alone, in a
tile without structure, is partly a shadow. A guided filter (He, Sun and Tang 2013) then fits the
matte around each pixel by a linear function of the luma, whose coefficients are enlarged in place
of the matte (He and Sun 2015, arXiv:1505.00996). kernels/frames/native/smoothing/matting.h computes
the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.frames.matting import (
    BRIGHT,
    CHANGE,
    COLOR,
    DARKEST,
    ENOUGH,
    FIT_REACH,
    LEAST,
    MEAN_REACH,
    MOST,
    PLAIN,
    SHADE,
    SOFT,
    STEADY,
    TILE,
)
from utils.opencv import cv2

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB
Floats = NDArray[np.float32]

_SUM = np.ones((1, 3), np.float32)


class ReferenceMatting:
    """The mattes of a stream, like kernels.frames.native_matting.NativeMatting."""

    def __init__(self, height: int, width: int) -> None:
        self.size = height, width
        self._colors = self._noise = self._length = np.zeros((0, 0), np.float32)
        self._gray = self._before = np.zeros((height, width), np.float32)

    def take_scene(self, colors: Floats, noise: Floats) -> None:
        self._colors, self._noise = colors, noise
        self._length = np.sqrt(np.maximum(cv2.transform(colors**2, _SUM), 1))

    def rough(
        self, frame: Pixels, light: Floats | None, given: Floats | None, *, first: bool
    ) -> Floats:
        if frame.shape != (*self.size, 3):
            raise ValueError(f"a stream of {self.size} got a frame of {frame.shape}")
        gray = _luma(frame)
        change = _tiles(np.abs(gray - self._gray))
        self._gray = gray
        rough = given if light is None else self._difference(frame.astype(np.float32), light)
        assert rough is not None
        if not first:
            kept = self._enlarged(STEADY * np.clip(2 - change * (2 / CHANGE), 0, 1))
            rough = rough + kept * (self._before - rough)
        self._before = np.asarray(rough, np.float32)
        return self._before

    def guided(self, rough: Floats) -> tuple[Floats, Floats]:
        gray = self._gray
        mean, level, square, both = (
            _means(each, FIT_REACH) for each in (rough, gray, gray * gray, gray * rough)
        )
        slope = (both - level * mean) / (square - level * level + SOFT)
        return _means(slope, MEAN_REACH), _means(mean - slope * level, MEAN_REACH)

    def _difference(self, frame: Floats, light: Floats) -> Floats:
        lit = frame / light
        lit = np.where((frame >= BRIGHT) & (lit < self._colors), self._colors, lit)
        along = cv2.transform(lit * self._colors, _SUM) / self._length
        brightness = along - self._length
        color = np.sqrt(np.maximum(cv2.transform(lit * lit, _SUM) - along * along, 0))
        # A shadow scales the brightness of a whole tile; structure is what no scale explains.
        length = self._length
        scaled, square, tint, full = (
            _tiles(each) for each in (brightness * length, brightness**2, color, length**2)
        )
        structure = np.sqrt(np.maximum(square - scaled * scaled / full, 0)) + tint
        plain = np.clip(PLAIN - structure / _tiles(self._noise), 0, 1)
        # A tile at the edge of a person has structure, and the shadow beside the edge has none.
        plain = self._enlarged(cv2.dilate(plain, np.ones((3, 3), np.uint8)))
        shadow = np.minimum(np.maximum(-brightness, 0), (1 - DARKEST) * self._length)
        unlike = cv2.magnitude(np.abs(brightness) - SHADE * shadow * plain, COLOR * color)
        deviations = cv2.blur(np.minimum(unlike / self._noise, ENOUGH), (3, 3))
        return np.asarray(np.clip((deviations - LEAST) / (MOST - LEAST), 0, 1), np.float32)

    def _enlarged(self, tiles: NDArray[Any]) -> Floats:
        height, width = self.size
        return np.asarray(cv2.resize(tiles, (width, height)), np.float32)


def mixed(painted: Pixels, frame: Pixels, slope: Floats, base: Floats, *, swapped: bool) -> Pixels:
    """Mix a painting with its frame, like kernels.frames.native_matting.native_mixed."""
    share = matte_at(frame, slope, base)[..., None]
    there = frame.astype(np.float32)
    made = there + (1 - share if swapped else share) * (painted - there)
    return np.rint(made).astype(np.uint8)


def matte_at(frame: Pixels, slope: Floats, base: Floats) -> Floats:
    """Return the matte of a frame, [H, W] from 0 to 1, from a smaller slope and base."""
    height, width = frame.shape[:2]
    gray = _luma(frame)
    large = [cv2.resize(each, (width, height)) for each in (slope, base)]
    return np.asarray(np.clip(large[0] * gray + large[1], 0, 1), np.float32)


def _luma(frame: Pixels) -> Floats:
    # COLOR_RGB2GRAY rounds otherwise than the native luma, which is of YCrCb.
    return np.asarray(cv2.cvtColor(frame, cv2.COLOR_RGB2YCrCb)[..., 0], np.float32)


def _means(values: NDArray[Any], reach: int) -> Floats:
    """Return the means of the windows around each pixel."""
    return np.asarray(cv2.blur(values, (2 * reach + 1, 2 * reach + 1)), np.float32)


def _tiles(values: NDArray[Any]) -> Floats:
    """Return the means of tiles of TILE x TILE pixels; the last ones may have fewer."""
    sums: NDArray[Any] = values
    for axis, side in enumerate(values.shape):
        firsts = range(0, side, TILE)
        counts = np.array([min(side - first, TILE) for first in firsts])
        of_axis = counts[:, None] if axis == 0 else counts[None]
        sums = np.add.reduceat(sums, firsts, axis=axis) / of_axis
    return np.asarray(sums, np.float32)
