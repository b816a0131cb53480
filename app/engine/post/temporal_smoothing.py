"""Reduces flicker by a recursive temporal filter, where the source does not move.

Flicker is a change of the result where its source does not change. Motion is measured on small
copies, against the accumulated source, not the last frame: slow changes add up and are detected,
sensor noise is not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.frames.launchers import CELL
from utils.opencv import cv2

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB
_Floats = NDArray[np.float32]
_Fixed = NDArray[np.int16]

MAX_HISTORY_WEIGHT = 0.95  # of the old result at full smoothing: 20 frames to follow a change
MIN_CHANGE = 0.7  # levels (0-255) that are never motion: the rounding error of the means
MAX_NOISE = 3.0  # levels; a larger change everywhere is motion, not noise
SCENE_CUT_FRACTION = 0.8  # of the cells; if more of them move, the scene was cut
_ONE = 64  # fixed-point scale of the result, so that small steps are not rounded to zero
_WEIGHT_ONE = 16384  # fixed-point scale of weights


class TemporalSmoother:
    """Filters a stream of one size; another size begins a new stream. Not thread-safe."""

    def __init__(self) -> None:
        self._result: _Fixed = np.empty((0, 0, 3), np.int16)  # accumulated, times _ONE
        self._source: _Floats = np.empty((0, 0, 3), np.float32)  # accumulated, in cells
        self._change: _Fixed = np.empty((0, 0, 3), np.int16)  # buffers
        self._weight: _Fixed = np.empty((0, 0, 3), np.int16)

    def smooth(self, result: Pixels, source: Pixels, amount: float) -> Pixels:
        """Filter the next frame of the stream.

        Args:
            result: The styled picture.
            source: The picture it was made from, of the same size.
            amount: 0 for none, 1 for the most smoothing.

        Returns:
            The filtered picture; after a scene cut and for the first frame, `result` itself.
        """
        height, width, _ = result.shape
        size = max(width // CELL, 1), max(height // CELL, 1)
        cells = cv2.resize(source, size, interpolation=cv2.INTER_AREA).astype(np.float32)
        if self._result.shape != result.shape:
            return self._begin(result, cells)
        still = _still(np.abs(cells - self._source).max(axis=2))
        if float(still.mean()) < 1 - SCENE_CUT_FRACTION:
            return self._begin(result, cells)
        new = 1 - min(amount, 1.0) * MAX_HISTORY_WEIGHT * still  # weight of the new frame, in cells
        self._source += new[..., None] * (cells - self._source)
        weight = np.rint(new * _WEIGHT_ONE).astype(np.int16)
        weight = cv2.resize(weight, (width, height), interpolation=cv2.INTER_LINEAR)
        cv2.merge((weight, weight, weight), dst=self._weight)
        np.multiply(result, _ONE, out=self._change, dtype=np.int16)
        cv2.subtract(self._change, self._result, dst=self._change)
        cv2.multiply(self._change, self._weight, dst=self._change, scale=1 / _WEIGHT_ONE)
        cv2.add(self._result, self._change, dst=self._result)
        return np.asarray(cv2.convertScaleAbs(self._result, alpha=1 / _ONE), np.uint8)

    def _begin(self, result: Pixels, cells: _Floats) -> Pixels:
        self._result = np.array(result, np.int16, order="C") * _ONE
        self._source = cells
        if self._change.shape != result.shape:
            self._change = np.empty(result.shape, np.int16)
            self._weight = np.empty(result.shape, np.int16)
        return result


def _still(
    change: _Floats,  # [H, W], levels (0-255)
) -> _Floats:  # [H, W], 1 where nothing moved, 0 where something did
    """Separate motion from noise, whose level is estimated by the median change."""
    change = np.asarray(cv2.blur(change, (3, 3)), np.float32)
    noise = min(float(np.median(change)), MAX_NOISE)
    low, high = MIN_CHANGE + 1.5 * noise, 2 * MIN_CHANGE + 3 * noise
    moved = np.clip((change - low) / (high - low), 0, 1)
    # Dilated, since the strokes that change reach beyond the region that moved.
    return 1 - np.asarray(cv2.blur(cv2.dilate(moved, np.ones((3, 3))), (3, 3)), np.float32)
