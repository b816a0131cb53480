"""The reference of moving: it shows the last painting where the scene has moved to since.

A painting takes several frames. Until the next one is there, the last one moves with the scene, by
the dense motion between its source and the newest frame. Where the moved source is not the newest
frame (uncovered areas, motion that is too fast), or the motion changes much from cell to cell, it
shrinks smoothly to none, so that nothing tears or melts. A motion that explains no more than
standing still does not count, such as a motion of noise. After a cut, the painting stays as it is.
A new painting, moved in the same way, fades in over FADE frames, where both can be moved.
kernels/frames/native/smoothing/moving.h computes the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.engine.post.optical_flow import displaced, motion, sampled, slopes
from app.engine.post.smoothing_reference import SLOPE_TOLERANCE, settled
from kernels.frames.moving import (
    CERTAIN,
    FADE,
    FULL_GAIN,
    LEAST_GAIN,
    SAME_SCENE,
    TORN,
    UNKNOWN,
    WHOLE,
)
from kernels.frames.smoothing import CELL
from utils.opencv import cv2

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB
_Floats = NDArray[np.float32]

STEPS_OF_MOTION = 32  # per pixel
TRUST_WINDOW = 5  # cells: the window over which change and trust are averaged
_ONE = 64  # fixed-point scale of paintings, so that a mix is rounded only once


class _Painting(NamedTuple):
    """A painting, [H, W, 3] times _ONE, and its source, [h, w] gray cells."""

    pixels: NDArray[np.int16]
    known: _Floats


class ReferenceMover:
    """The paintings of a stream of one size, like kernels.frames.native_moving.NativeMover."""

    def __init__(self, height: int, width: int) -> None:
        self.size = height, width
        self._newest: _Painting | None = None
        self._before: _Painting | None = None
        self._shown = 0  # frames since the newest painting

    def painted(self, painting: Pixels, source: Pixels) -> None:
        """Take a new painting of `source`, both [H, W, 3]."""
        pixels = painting.astype(np.int16) * np.int16(_ONE)
        self._before, self._shown = self._newest, 0
        self._newest = _Painting(pixels, _cells(source))

    def shown(self, source: Pixels) -> Pixels:
        """Return the picture [H, W, 3] for the frame `source`.

        Raises:
            ValueError: If there is no painting.
        """
        if self._newest is None:
            raise ValueError("there is no painting yet")
        now = _cells(source)
        self._shown += 1
        moved, _ = _moved(self._newest, now)
        if self._before is not None and self._shown < FADE:
            earlier, trust = _moved(self._before, now)
            share = np.float32(1 - self._shown / FADE) * trust[..., None]
            moved = moved + (earlier - moved) * share
        else:
            self._before = None
        return np.clip(np.rint(moved / np.float32(_ONE)), 0, 255).astype(np.uint8)


def _cells(source: Pixels) -> _Floats:
    height, width, _ = source.shape
    size = max(width // CELL, 1), max(height // CELL, 1)
    cells = cv2.resize(source, size, interpolation=cv2.INTER_AREA).astype(np.float32)
    return np.asarray(cv2.cvtColor(cells, cv2.COLOR_RGB2GRAY), np.float32)


def _moved(painting: _Painting, now: _Floats) -> tuple[_Floats, _Floats]:
    """Return a painting moved to a frame, times _ONE, and the trust in its motion, 0 to 1."""
    height, width, _ = painting.pixels.shape
    flow = settled(motion(now, painting.known))
    trust, gain = _trust_and_gain(now, painting.known, flow)
    flow = np.asarray(flow * (trust * gain)[..., None], np.float32)
    scale = np.array((width / flow.shape[1], height / flow.shape[0]), np.float32)
    pixels = cv2.resize(flow, (width, height), interpolation=cv2.INTER_LINEAR) * scale
    steps = np.float32(STEPS_OF_MOTION)
    x, y = displaced(np.asarray(np.rint(pixels * steps) / steps, np.float32))
    how, edge = cv2.INTER_CUBIC, cv2.BORDER_REPLICATE
    moved = cv2.remap(painting.pixels, x, y, how, borderMode=edge)
    large = cv2.resize(trust, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(moved, np.float32), np.asarray(large, np.float32)


def _trust_and_gain(now: _Floats, known: _Floats, flow: _Floats) -> tuple[_Floats, _Floats]:
    """Return how far each cell's motion explains the newest frame, and how much of it counts."""
    right, down = slopes(now)
    tolerance = 1 + np.float32(SLOPE_TOLERANCE) * np.sqrt(right * right + down * down)

    def change(moved: _Floats) -> _Floats:
        return _mean(np.asarray(np.abs(now - moved) / tolerance, np.float32))

    moving, still = change(sampled(known, flow)), change(known)
    known_share = (np.float32(UNKNOWN) - moving) / np.float32(UNKNOWN - CERTAIN)
    saved = (still - moving - np.float32(LEAST_GAIN)) / np.float32(FULL_GAIN - LEAST_GAIN)
    certain = np.clip(known_share, 0, 1) * _agreement(flow)
    trust, gain = (_mean(_mean(share)) for share in (certain, np.clip(saved, 0, 1)))
    same = trust.mean(dtype=np.float64) >= SAME_SCENE
    return (trust if same else np.zeros_like(trust)), gain


def _agreement(flow: _Floats) -> _Floats:
    """Return how far each cell's motion agrees with the motion of its neighbors, 0 to 1."""
    beyond = np.pad(flow, ((1, 1), (1, 1), (0, 0)), mode="edge")
    across = np.abs(beyond[1:-1, 2:] - beyond[1:-1, :-2]) / 2
    down = np.abs(beyond[2:, 1:-1] - beyond[:-2, 1:-1]) / 2
    change = np.maximum(across, down).max(axis=2)
    return np.clip((np.float32(TORN) - change) / np.float32(TORN - WHOLE), 0, 1)


def _mean(values: _Floats) -> _Floats:
    return np.asarray(cv2.blur(values, (TRUST_WINDOW, TRUST_WINDOW)), np.float32)
