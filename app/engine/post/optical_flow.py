"""Dense optical flow between two small gray pictures.

The method of Lucas and Kanade (1981) runs in a window around each pixel, from coarse to fine. Every
step moves the earlier picture by the motion known so far and solves for the whole motion, not for
the remainder, so that a window with few slopes adopts the motion around it (as Farneback 2003
does). The slopes come from the later picture and are computed once (Baker and Matthews 2004). The
mean of a window does not count, since a change of light is not a motion. This is the reference for
kernels/frames/native/flow.h, which estimates the flow on the CPU and on GPUs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.frames.dense_motion import SMALLEST, STEPS
from utils.opencv import cv2

Floats = NDArray[np.float32]

WINDOW = 7  # pixels
DAMPING = 2.0  # levels squared; slopes of a window up to this may be noise
MEDIAN = 5  # pixels: the window over which single errors are removed, at each size
_SLOPES = 1 / 32  # the sum of Scharr's weights is 32


def motion(
    now: Floats,  # [h, w], levels (0-255)
    earlier: Floats,  # [h, w]
) -> Floats:  # [h, w, 2]
    """Find where each pixel was in an earlier picture, in pixels to the right and down."""
    sizes = [(now, earlier)]
    while min(sizes[-1][0].shape) >= 2 * SMALLEST:
        later, before = sizes[-1]
        sizes.append((_half(later), _half(before)))
    flow = np.zeros((*sizes[-1][0].shape, 2), np.float32)
    for later, before in reversed(sizes):
        flow = _refined(later, before, _enlarged(flow, later.shape))
    return flow


def displaced(flow: Floats) -> tuple[Floats, Floats]:
    """Return where a motion leads from each pixel, in pixels from left and top, [h, w] each."""
    height, width, _ = flow.shape
    x = flow[..., 0] + np.arange(width, dtype=np.float32)
    y = flow[..., 1] + np.arange(height, dtype=np.float32)[:, None]
    return x, y


def sampled(picture: Floats, flow: Floats) -> Floats:
    """Sample a picture, [h, w] or [h, w, 3], at the places that a flow leads to.

    Places outside have the value of the nearest edge pixel.
    """
    how, edge = cv2.INTER_LINEAR, cv2.BORDER_REPLICATE
    return np.asarray(cv2.remap(picture, *displaced(flow), how, borderMode=edge), np.float32)


def slopes(picture: Floats) -> tuple[Floats, Floats]:
    """Compute the slopes of a picture to the right and down, in levels per pixel (Scharr 2000)."""
    right = cv2.Scharr(picture, cv2.CV_32F, 1, 0, scale=_SLOPES)
    down = cv2.Scharr(picture, cv2.CV_32F, 0, 1, scale=_SLOPES)
    return np.asarray(right, np.float32), np.asarray(down, np.float32)


def _refined(now: Floats, earlier: Floats, flow: Floats) -> Floats:
    """Refine the motion at one size, starting from the motion at the next smaller size."""
    right, down = slopes(now)
    mean_right, mean_down = _mean(right), _mean(down)
    xx = _mean(right * right) - mean_right * mean_right + np.float32(DAMPING)
    yy = _mean(down * down) - mean_down * mean_down + np.float32(DAMPING)
    xy = _mean(right * down) - mean_right * mean_down
    inverse = np.float32(1) / (xx * yy - xy * xy)
    for _ in range(STEPS):
        there = sampled(earlier, flow)
        left = now - there + right * flow[..., 0] + down * flow[..., 1]
        wrong = np.asarray(left, np.float32)
        around, mean = _mean(flow) * np.float32(DAMPING), _mean(wrong)
        x = _mean(right * wrong) - mean_right * mean + around[..., 0]
        y = _mean(down * wrong) - mean_down * mean + around[..., 1]
        solved = (yy * x - xy * y) * inverse, (xx * y - xy * x) * inverse
        flow = np.dstack(solved).astype(np.float32)
    components = [np.ascontiguousarray(flow[..., k]) for k in (0, 1)]
    return np.dstack([cv2.medianBlur(each, MEDIAN) for each in components]).astype(np.float32)


def _half(picture: Floats) -> Floats:
    return np.asarray(cv2.pyrDown(picture), np.float32)


def _mean(values: Floats) -> Floats:
    return np.asarray(cv2.blur(values, (WINDOW, WINDOW)), np.float32)


def _enlarged(flow: Floats, shape: tuple[int, ...]) -> Floats:
    height, width = shape
    if flow.shape[:2] == shape:
        return flow
    scale = np.array((width / flow.shape[1], height / flow.shape[0]), np.float32)
    larger = cv2.resize(flow, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(larger * scale, np.float32)
