"""Brings a small result up to the frame, with the frame's edges.

A guided filter (He & Sun 2015, arXiv:1505.00996) explains the result around each pixel as
`a * luma + b` of the small source. Taken whole, that line would replace the strokes, which the
source does not know, by the source's own shading. So only its slope is used: what the frame has
beyond its small copy is added to the enlarged result, `a` times. Strokes stay as the network
painted them, edges become the frame's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from utils.opencv import cv2

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB

RADIUS = 1  # of the windows, in pixels of the small picture; wider ones bleed across edges
NOISE = 50.0  # variance of luma (0-255) below which a window holds no edge, only sensor noise
NOISE_FLOOR = 4  # levels of luma; so much of every detail may be noise, and would flicker
MAX_SLOPE = 1.5  # where a style exaggerates contrast, a steeper slope would draw halos
KEPT = 3 * 1920 * 1200  # samples; buffers for larger frames, which are no streams, are let go
_ONE = 64  # of fixed-point slopes: 255 * STEEPEST * _ONE stays within 16 bits


class GuidedUpsampler:
    """Works in buffers that it keeps: getting them anew costs more than all the arithmetic."""

    def __init__(self) -> None:
        self._triples = np.empty((3, 0, 0, 3), np.int16)
        self._bytes = np.empty((2, 0, 0), np.uint8)
        self._lost = np.empty((0, 0), np.int16)
        self._grain = np.empty((0, 0), np.int16)

    def enlarge(self, result: Pixels, small: Pixels, frame: Pixels, *, guided: bool) -> Pixels:
        """`result`, made from `small`, in the size of `frame`, of which `small` is the scaled
        copy; a result of that size already is returned as it is.

        `guided` takes from the frame the detail that scaling up cannot bring back; it does
        nothing where the result is not smaller. All are RGB, uint8.
        """
        if result.shape == frame.shape:
            return result
        size = frame.shape[1], frame.shape[0]
        large = np.asarray(cv2.resize(result, size, interpolation=cv2.INTER_CUBIC), np.uint8)
        if not guided or result.size >= frame.size:
            return large
        self._fit(frame.shape)
        slope, lost, detail = self._triples
        known, luma = self._bytes
        # In 16 bits, a quarter of the time of float32.
        small_luma = cv2.cvtColor(small, cv2.COLOR_RGB2GRAY)
        steps = np.rint(_slope(result, np.asarray(small_luma, np.uint8)) * _ONE).astype(np.int16)
        cv2.resize(steps, size, dst=slope, interpolation=cv2.INTER_LINEAR)
        cv2.resize(small_luma, size, dst=known, interpolation=cv2.INTER_CUBIC)
        cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY, dst=luma)
        cv2.subtract(luma, known, dst=self._lost, dtype=cv2.CV_16S)
        np.clip(self._lost, -NOISE_FLOOR, NOISE_FLOOR, out=self._grain)
        np.subtract(self._lost, self._grain, out=self._lost)
        cv2.merge((self._lost,) * 3, dst=lost)
        cv2.multiply(slope, lost, dst=detail, scale=1 / _ONE)
        cv2.add(large, detail, dst=large, dtype=cv2.CV_8U)
        if frame.size > KEPT:
            self._fit((0, 0, 3))
        return large

    def _fit(self, shape: tuple[int, ...]) -> None:
        if self._lost.shape != shape[:2]:
            self._triples = np.empty((3, *shape), np.int16)
            self._bytes = np.empty((2, *shape[:2]), np.uint8)
            self._lost = np.empty(shape[:2], np.int16)
            self._grain = np.empty(shape[:2], np.int16)


def _slope(
    result: Pixels,
    luma: NDArray[np.uint8],  # [H, W]
) -> NDArray[np.float32]:  # [H, W, 3], within STEEPEST of 0
    """How each channel of the result goes with the luma of its source, around each pixel."""
    guide, target = luma.astype(np.float32), result.astype(np.float32)
    mean_guide, mean_target = _mean(guide), _mean(target)
    variance = np.subtract(_mean(guide * guide), mean_guide * mean_guide, dtype=np.float32)
    product, means = target * guide[..., None], mean_target * mean_guide[..., None]
    together = np.subtract(_mean(product), means, dtype=np.float32)
    # Means of both before the division, so that a window beside an edge takes the edge's slope.
    slope = np.divide(_mean(together), (_mean(variance) + NOISE)[..., None], dtype=np.float32)
    return np.clip(slope, -MAX_SLOPE, MAX_SLOPE)


def _mean(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    side = 2 * RADIUS + 1
    return np.asarray(cv2.blur(picture, (side, side), borderType=cv2.BORDER_REFLECT), np.float32)
