"""Steadies a stream: where the source stands still, the result follows it slowly.

A result that changes where its source does not is flicker. Whether the source moved is measured
on small copies, against the source that the result kept stands for, so that a slow change counts
as soon as it adds up, and sensor noise does not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from utils.opencv import cv2

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB
_Floats = NDArray[np.float32]
_Fixed = NDArray[np.int16]

CELL = 4  # pixels; motion is looked for in the means of such squares
MAX_HISTORY_WEIGHT = (
    0.95  # of the old result in the new one at full smoothing: it follows within 20 frames
)
MIN_CHANGE = 0.7  # levels (0-255) of change that are never motion: the rounding of the means
MAX_NOISE = 3.0  # levels; a source that changes more everywhere moves, it is not noisy
SCENE_CUT_FRACTION = 0.8  # of the picture moving at once is another picture
_ONE = 64  # of the result kept: fixed point, so that small steps are not rounded away
_SHARE = 16384  # of fixed-point shares


class TemporalSmoother:
    """Keeps one result and the source it stands for. Frames of another size begin anew."""

    def __init__(self) -> None:
        self._kept: _Fixed = np.empty((0, 0, 3), np.int16)  # the result kept, times _ONE
        self._source: _Floats = np.empty((0, 0, 3), np.float32)  # its source, in cells
        self._change: _Fixed = np.empty((0, 0, 3), np.int16)  # buffers
        self._share: _Fixed = np.empty((0, 0, 3), np.int16)

    def smooth(self, result: Pixels, source: Pixels, amount: float) -> Pixels:
        """`result` of `source` (of one size), steadied by `amount`, 0 (not at all) to 1."""
        height, width, _ = result.shape
        cells = max(width // CELL, 1), max(height // CELL, 1)
        seen = cv2.resize(source, cells, interpolation=cv2.INTER_AREA).astype(np.float32)
        if self._kept.shape != result.shape:
            return self._begin(result, seen)
        still = _still(np.abs(seen - self._source).max(axis=2))
        if float(still.mean()) < 1 - SCENE_CUT_FRACTION:
            return self._begin(result, seen)
        new = (
            1 - min(amount, 1.0) * MAX_HISTORY_WEIGHT * still
        )  # the share of the new result, in cells
        self._source += new[..., None] * (seen - self._source)
        share = np.rint(new * _SHARE).astype(np.int16)
        share = cv2.resize(share, (width, height), interpolation=cv2.INTER_LINEAR)
        cv2.merge((share, share, share), dst=self._share)
        np.multiply(result, _ONE, out=self._change, dtype=np.int16)
        cv2.subtract(self._change, self._kept, dst=self._change)
        cv2.multiply(self._change, self._share, dst=self._change, scale=1 / _SHARE)
        cv2.add(self._kept, self._change, dst=self._kept)
        return np.asarray(cv2.convertScaleAbs(self._kept, alpha=1 / _ONE), np.uint8)

    def _begin(self, result: Pixels, seen: _Floats) -> Pixels:
        self._kept = np.array(result, np.int16, order="C") * _ONE
        self._source = seen
        if self._change.shape != result.shape:
            self._change = np.empty(result.shape, np.int16)
            self._share = np.empty(result.shape, np.int16)
        return result


def _still(
    change: _Floats,  # [H, W], levels (0-255)
) -> _Floats:  # [H, W], 1 where nothing moved, 0 where something did
    change = np.asarray(cv2.blur(change, (3, 3)), np.float32)
    noise = min(float(np.median(change)), MAX_NOISE)
    low, high = MIN_CHANGE + 1.5 * noise, 2 * MIN_CHANGE + 3 * noise
    moved = np.clip((change - low) / (high - low), 0, 1)
    # What is painted reaches a little further than what moved.
    return 1 - np.asarray(cv2.blur(cv2.dilate(moved, np.ones((3, 3))), (3, 3)), np.float32)
