"""The reference of smoothing: a recursive temporal filter along the motion of the source.

Flicker is a change of the result where the source only moves. The filter moves the accumulated
results with the source, and weights them where the moved source equals the new one. It measures
motion and change on small copies, against the accumulated source and not the last frame. It
therefore detects slow changes, which add up, but not sensor noise. kernels/frames/native/smooth.h
computes the same on the CPU and on GPUs, except where a value rounds in the other direction: that
changes a motion by 1/32 of a cell.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from app.engine.post.optical_flow import displaced, motion, sampled, slopes
from kernels.frames.smoothing import CELL, EASING, MAX_HISTORY_WEIGHT
from kernels.frames.stream_state import StreamState, taken
from utils.opencv import cv2

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB
_Floats = NDArray[np.float32]
_Fixed = NDArray[np.int16]

# Limit of its weight where it moves: moving a picture often blurs its edges.
MAX_MOVING_WEIGHT = 0.92
STILL_CELLS = 0.2  # cells: a smaller motion is only noise
STEPS_OF_MOTION = 32  # per cell and per pixel; OpenCV may round its samples to them
# Levels of change per level of slope that interpolation causes where something moves.
SLOPE_TOLERANCE = 0.05
SIGNED = 2  # side in cells of the window that averages a change with its sign, for less noise
MIN_CHANGE = 0.7  # levels (0-255) that never count as motion: the rounding error of the means
MAX_NOISE = 3.0  # levels; a larger change everywhere is not noise
SCENE_CUT_FRACTION = 0.8  # of the cells; if more of them changed, the scene may have been cut
ALIKE = 0.85  # correlation of two sources above which the scene is the same in another light
_ONE = 64  # fixed-point scale of the result, so that small steps are not rounded to zero
_WEIGHT_ONE = 16384  # fixed-point scale of weights


class ReferenceStream:
    """A stream of pictures of one size, like kernels.frames.native_smoothing.NativeStream."""

    def __init__(self, height: int, width: int) -> None:
        self.size = height, width
        shape = height, width, 3
        self._result: _Fixed = np.empty((0, 0, 3), np.int16)  # accumulated, times _ONE
        self._source: _Floats = np.empty((0, 0, 3), np.float32)  # accumulated, in cells
        self._change: _Fixed = np.empty(shape, np.int16)  # buffers
        self._weight: _Fixed = np.empty(shape, np.int16)
        self._missed = False  # whether the last frame showed another scene

    def smooth(self, result: Pixels, source: Pixels, amount: float) -> Pixels:
        """Filter a frame as `NativeStream.smooth` does; `result` itself if it is not filtered."""
        height, width, _ = result.shape
        size = max(width // CELL, 1), max(height // CELL, 1)
        cells = cv2.resize(source, size, interpolation=cv2.INTER_AREA).astype(np.float32)
        if self._result.shape != result.shape:
            return self._begin(result, cells)
        gray, known = (
            np.asarray(cv2.cvtColor(each, cv2.COLOR_RGB2GRAY), np.float32)
            for each in (cells, self._source)
        )
        flow = settled(motion(gray, known))
        moves = flow.any(axis=2)
        moved = sampled(self._source, flow)
        difference = np.asarray(cv2.blur(cells - moved, (SIGNED, SIGNED)), np.float32)
        change = np.asarray(np.abs(difference).max(axis=2), np.float32)
        right, down = slopes(gray)
        tolerance = 1 + np.float32(SLOPE_TOLERANCE) * np.sqrt(right * right + down * down)
        change = np.where(moves, change / tolerance, change).astype(np.float32)
        same = _same(change, _outside(flow))
        if float(same.mean()) < 1 - SCENE_CUT_FRACTION and _correlation(gray, known) < ALIKE:
            if self._missed:
                return self._begin(result, cells)
            self._missed = True
            return result
        self._missed = False
        most = MAX_HISTORY_WEIGHT * (1 - (1 - min(amount, 1.0)) ** EASING)
        kept = np.where(moves, min(most, MAX_MOVING_WEIGHT), most).astype(np.float32)
        new = np.float32(1) - kept * same  # weight of the new frame, in cells
        self._source = np.asarray(moved + new[..., None] * (cells - moved), np.float32)
        self._move(flow)
        weight = np.rint(new * _WEIGHT_ONE).astype(np.int16)
        weight = cv2.resize(weight, (width, height), interpolation=cv2.INTER_LINEAR)
        cv2.merge((weight, weight, weight), dst=self._weight)
        np.multiply(result, _ONE, out=self._change, dtype=np.int16)
        cv2.subtract(self._change, self._result, dst=self._change)
        cv2.multiply(self._change, self._weight, dst=self._change, scale=1 / _WEIGHT_ONE)
        cv2.add(self._result, self._change, dst=self._result)
        return np.asarray(cv2.convertScaleAbs(self._result, alpha=1 / _ONE), np.uint8)

    def state(self) -> StreamState:
        if not self._result.size:
            return {}
        missed = np.array(self._missed)
        return {"result": self._result.copy(), "source": self._source.copy(), "missed": missed}

    def restore(self, state: StreamState) -> None:
        if not state:
            self._result = np.empty((0, 0, 3), np.int16)
            return
        self._result, self._source = taken(state, "result").copy(), taken(state, "source").copy()
        self._missed = bool(taken(state, "missed"))

    def _move(self, flow: _Floats) -> None:
        if not flow.any():
            return
        height, width, _ = self._result.shape
        scale = np.array((width / flow.shape[1], height / flow.shape[0]), np.float32)
        pixels = cv2.resize(flow, (width, height), interpolation=cv2.INTER_LINEAR) * scale
        x, y = displaced(_rounded(np.asarray(pixels, np.float32)))
        how, edge = cv2.INTER_CUBIC, cv2.BORDER_REPLICATE
        moved = cv2.remap(self._result, x, y, how, borderMode=edge)
        self._result = np.asarray(moved, np.int16)

    def _begin(self, result: Pixels, cells: _Floats) -> Pixels:
        self._result = np.array(result, np.int16, order="C") * _ONE
        self._source = cells
        self._missed = False
        return result


def settled(flow: _Floats) -> _Floats:
    """Return the motion without the part that is only noise."""
    still = np.square(flow).sum(axis=2) < np.float32(STILL_CELLS**2)
    return _rounded(np.where(still[..., None], np.float32(0), flow))


def _rounded(flow: _Floats) -> _Floats:
    steps = np.float32(STEPS_OF_MOTION)
    return np.asarray(np.rint(flow * steps) / steps, np.float32)


def _outside(flow: _Floats) -> NDArray[np.bool_]:
    """Return the cells whose motion leads out of the picture, [h, w]."""
    height, width, _ = flow.shape
    x, y = displaced(flow)
    return (x < 0) | (y < 0) | (x > width - 1) | (y > height - 1)


def _same(
    change: _Floats,  # [H, W], levels (0-255)
    outside: NDArray[np.bool_],  # [H, W]
) -> _Floats:  # [H, W], 1 where both show the same, 0 where something else appeared
    """Separate new content from noise, whose level is estimated by the median change."""
    change = np.asarray(cv2.blur(change, (3, 3)), np.float32)
    noise = min(float(np.median(change)), MAX_NOISE)
    low, high = MIN_CHANGE + 1.5 * noise, 2 * MIN_CHANGE + 3 * noise
    other = np.where(outside, 1, np.clip((change - low) / (high - low), 0, 1)).astype(np.float32)
    # Dilated, since the strokes that change reach beyond the region that changed.
    return 1 - np.asarray(cv2.blur(cv2.dilate(other, np.ones((3, 3))), (3, 3)), np.float32)


def _correlation(a: _Floats, b: _Floats) -> float:
    """Return the correlation of two gray pictures, -1 to 1; 0 if one of them is uniform."""
    x, y = (np.rint(each).astype(np.int64).ravel() for each in (a, b))
    count = x.size
    variances = (count * int(each @ each) - int(each.sum()) ** 2 for each in (x, y))
    spread = math.sqrt(math.prod(variances))
    return (count * int(x @ y) - int(x.sum()) * int(y.sum())) / spread if spread else 0.0
