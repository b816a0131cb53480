"""Layers of the animated scene, and the random shapes and RGB colors they are drawn with.

Colors are premultiplied by coverage: compositing is one multiplication and one addition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from utils.opencv import cv2

Float = NDArray[np.float32]
Real = NDArray[np.floating]
Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """Pixels to composite over a picture with the top left corner at (x, y)."""

    colors: Bytes  # [h, w, 3], premultiplied by coverage
    transparency: Bytes  # [h, w, 3], 255 where the picture below is unchanged
    x: int = 0
    y: int = 0

    @classmethod
    def from_color_and_cover(cls, colors: Real, cover: Real, x: int = 0, y: int = 0) -> Layer:
        """Make a layer of colors [h, w, 3], 0-255, not premultiplied, and coverage [h, w], 0-1."""
        cover = np.clip(cover, 0, 1)[..., None]
        keep = np.repeat(1 - cover, 3, axis=2)
        return cls(to_bytes(colors * cover), to_bytes(keep * 255), x, y)

    def crop(self, top: int, bottom: int, left: int, right: int) -> Layer:
        rows, columns = slice(top, bottom), slice(left, right)
        return Layer(
            np.ascontiguousarray(self.colors[rows, columns]),
            np.ascontiguousarray(self.transparency[rows, columns]),
            self.x + left,
            self.y + top,
        )

    def composite_onto(self, picture: Bytes) -> None:
        """Composite the layer over `picture` in place, clipped to it."""
        height, width = self.transparency.shape[:2]
        top, left = max(self.y, 0), max(self.x, 0)
        bottom = min(self.y + height, picture.shape[0])
        right = min(self.x + width, picture.shape[1])
        if top >= bottom or left >= right:
            return
        rows = slice(top - self.y, bottom - self.y)
        columns = slice(left - self.x, right - self.x)
        below = picture[top:bottom, left:right]
        cv2.multiply(below, self.transparency[rows, columns], below, 1 / 255)
        cv2.add(below, self.colors[rows, columns], below)


def to_bytes(values: Real) -> Bytes:
    return np.rint(np.clip(values, 0, 255)).astype(np.uint8)


def rgb(*channels: float) -> Float:
    return np.array(channels, np.float32)


def interpolate(a: Real, b: Real, share: Real) -> Float:
    """Interpolate between `a`, where `share` [h, w] is 0, and `b`, where it is 1."""
    share = np.clip(share, 0, 1)[..., None]
    return (a * (1 - share) + b * share).astype(np.float32, copy=False)


def color_ramp(stops: list[tuple[float, tuple[float, float, float]]], count: int) -> Float:
    """Interpolate colors [count, 3] between stops of (position in 0-1, color)."""
    places = [place for place, _ in stops]
    at = np.linspace(0, 1, count)
    channels = [np.interp(at, places, [color[c] for _, color in stops]) for c in range(3)]
    return np.stack(channels, axis=1).astype(np.float32)


def noise(
    height: int, width: int, smooth: float, wide: float, seed: int, most: float = 0.0
) -> Float:
    """Return tileable noise [height, width] with mean 0 and standard deviation 1.

    Args:
        smooth: the spectrum falls as frequency to the power -`smooth`.
        wide: ratio of the features' width to their height.
        most: features per height from which on the spectrum falls.
    """
    white = np.random.default_rng(seed).standard_normal((height, width)).astype(np.float32)
    fy = np.fft.fftfreq(height)[:, None] * height
    fx = np.fft.rfftfreq(width)[None] * width * (height / width) * wide
    frequency = np.sqrt(fy**2 + fx**2 + most**2)
    frequency[0, 0] = np.inf
    values = np.fft.irfft2(np.fft.rfft2(white) / frequency**smooth, (height, width))
    return (values / values.std()).astype(np.float32)


def random_ridge(width: int, smooth: float, seed: int) -> Float:
    """Return a random skyline [width] with values in 0-1."""
    line = noise(2, width * 2, smooth, 1.0, seed)[0, :width]
    return (line - line.min()) / (line.max() - line.min())


def trimmed(layer: Layer) -> Layer:
    rows = np.flatnonzero((layer.transparency < 255).any(axis=(1, 2)))
    columns = np.flatnonzero((layer.transparency < 255).any(axis=(0, 2)))
    return layer.crop(rows[0], rows[-1] + 1, columns[0], columns[-1] + 1)
