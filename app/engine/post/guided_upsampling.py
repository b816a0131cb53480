"""Upsampling of a small result to the frame's size, with the detail of the frame.

A guided filter (He & Sun 2015, arXiv:1505.00996) fits the result around each pixel as
`a * luma + b`, with the luma of the small source. The fit itself would replace the strokes, which
are not in the source, by the shading of the source. So only its slope is used: the detail that the
frame has beyond its small copy is multiplied by `a` and added to the enlarged result. The result
keeps its strokes and gains the frame's edges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from utils.opencv import cv2

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB
Deep = NDArray[np.uint16]  # [H, W, 3] RGB

RADIUS = 1  # of the windows, in pixels of the small picture; wider ones bleed across edges
NOISE = 50.0  # variance of luma (0-255) below which a window has no edge, only sensor noise
NOISE_FLOOR = 4  # levels of luma that are cut from the detail: they may be noise, and flicker
MAX_SLOPE = 1.5  # a larger slope, where a style exaggerates contrast, would draw halos
# Samples; buffers for larger frames, which do not come in streams, are freed.
KEPT = 3 * 1920 * 1200
_ONE = 64  # scale of fixed-point slopes: 255 * MAX_SLOPE * _ONE stays within 16 bits


class GuidedUpsampler:
    """An upsampler that reuses its buffers, as allocating takes longest. Not thread-safe."""

    def __init__(self) -> None:
        self._triples = np.empty((3, 0, 0, 3), np.int16)
        self._bytes = np.empty((2, 0, 0), np.uint8)
        self._residual = np.empty((0, 0), np.int16)
        self._noise = np.empty((0, 0), np.int16)

    def enlarge(self, result: Pixels, small: Pixels, frame: Pixels, *, guided: bool) -> Pixels:
        """Enlarge the result of `small`, a scaled frame; return `result` if it fits already."""
        if result.shape == frame.shape:
            return result
        size = frame.shape[1], frame.shape[0]
        large = np.asarray(cv2.resize(result, size, interpolation=cv2.INTER_CUBIC), np.uint8)
        if not guided or result.size >= frame.size:
            return large
        self._fit(frame.shape)
        slope, residual, detail = self._triples
        known, luma = self._bytes
        # 16 bits take a quarter of the time of float32.
        small_luma = cv2.cvtColor(small, cv2.COLOR_RGB2GRAY)
        steps = np.rint(_slope(result, np.asarray(small_luma, np.uint8)) * _ONE).astype(np.int16)
        cv2.resize(steps, size, dst=slope, interpolation=cv2.INTER_LINEAR)
        cv2.resize(small_luma, size, dst=known, interpolation=cv2.INTER_CUBIC)
        cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY, dst=luma)
        cv2.subtract(luma, known, dst=self._residual, dtype=cv2.CV_16S)
        np.clip(self._residual, -NOISE_FLOOR, NOISE_FLOOR, out=self._noise)
        np.subtract(self._residual, self._noise, out=self._residual)
        cv2.merge((self._residual,) * 3, dst=residual)
        cv2.multiply(slope, residual, dst=detail, scale=1 / _ONE)
        cv2.add(large, detail, dst=large, dtype=cv2.CV_8U)
        if frame.size > KEPT:
            self._fit((0, 0, 3))
        return large

    def _fit(self, shape: tuple[int, ...]) -> None:
        if self._residual.shape != shape[:2]:
            self._triples = np.empty((3, *shape), np.int16)
            self._bytes = np.empty((2, *shape[:2]), np.uint8)
            self._residual = np.empty(shape[:2], np.int16)
            self._noise = np.empty(shape[:2], np.int16)


def enlarge_deep(result: Deep, eight: Pixels, small: Pixels, frame: Deep, *, guided: bool) -> Deep:
    """Enlarge a result with 16 bits per channel as GuidedUpsampler does; `eight` has 8 bits."""
    if result.shape == frame.shape:
        return result
    size = frame.shape[1], frame.shape[0]
    large = np.asarray(cv2.resize(result, size, interpolation=cv2.INTER_CUBIC), np.uint16)
    if not guided or result.size >= frame.size:
        return large
    luma = np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2GRAY), np.uint8)
    slope = _slope(eight, luma)
    known = cv2.resize(luma.astype(np.float32), size, interpolation=cv2.INTER_CUBIC)
    detail = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY).astype(np.float32)
    detail /= 257
    detail -= known
    detail -= np.clip(detail, -NOISE_FLOOR, NOISE_FLOOR)
    detail *= 257
    for channel in range(3):
        share = cv2.resize(slope[..., channel], size, interpolation=cv2.INTER_LINEAR)
        added = cv2.add(large[..., channel], share * detail, dtype=cv2.CV_16U)
        large[..., channel] = added
    return large


def _slope(
    result: Pixels,
    luma: NDArray[np.uint8],  # [H, W]
) -> NDArray[np.float32]:  # [H, W, 3], within -MAX_SLOPE and MAX_SLOPE
    """Return the slope of each channel of the result over its source's luma, per pixel."""
    guide, target = luma.astype(np.float32), result.astype(np.float32)
    mean_guide, mean_target = _mean(guide), _mean(target)
    variance = np.subtract(_mean(guide * guide), mean_guide * mean_guide, dtype=np.float32)
    product, means = target * guide[..., None], mean_target * mean_guide[..., None]
    together = np.subtract(_mean(product), means, dtype=np.float32)
    # Averaging both before the division gives windows next to an edge the slope of the edge.
    slope = np.divide(_mean(together), (_mean(variance) + NOISE)[..., None], dtype=np.float32)
    return np.clip(slope, -MAX_SLOPE, MAX_SLOPE)


def _mean(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    side = 2 * RADIUS + 1
    return np.asarray(cv2.blur(picture, (side, side), borderType=cv2.BORDER_REFLECT), np.float32)
