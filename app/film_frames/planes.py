"""Conversion between RGB and luma with chroma, for any matrix and range, rounded exactly.

FFmpeg's scaler takes 9.5 ms of a core to read a frame of 1080p with exact rounding, and 7 to write
one; OpenCV takes 4 for each. OpenCV receives 16 bits, which it computes in float32; with 8 bits it
would round each share of the matrix to 1 / 1024, which shifts grays.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utils.opencv import cv2

Plane = NDArray[np.uint8] | NDArray[np.uint16]  # [H, W]


class Matrix:
    """A conversion by one matrix and range (ITU-R BT.601, BT.709, BT.2020). Thread-safe.

    Args:
        red: The share of red in luma; `blue` likewise.
        full: Whether black and white are the extreme values, not 16 and 235 (of 8 bits).
        bits: Bits of luma and chroma; planes of more than 8 are uint16.
    """

    def __init__(self, red: float, blue: float, *, full: bool, bits: int = 8) -> None:
        green = 1 - red - blue
        step = 1 << (bits - 8)
        most = 256 * step - 1
        luma, chroma = (255 / most,) * 2 if full else (255 / 219 / step, 255 / 224 / step)
        to_rgb = np.array(
            [
                [luma, 0, 2 * (1 - red) * chroma],
                [
                    luma,
                    -2 * (1 - blue) * blue / green * chroma,
                    -2 * (1 - red) * red / green * chroma,
                ],
                [luma, 2 * (1 - blue) * chroma, 0],
            ]
        )
        black = np.array([0 if full else 16 * step, 128 * step, 128 * step])
        self._to_rgb = np.column_stack([to_rgb, -to_rgb @ black]).astype(np.float32)
        self._of_thread = threading.local()
        self._from_rgb = np.column_stack([np.linalg.inv(to_rgb), black]).astype(np.float32)

    def to_rgb(self, planes: Sequence[Plane], rgb: NDArray[np.uint8]) -> None:
        """Convert luma [H, W] and both chroma planes, as large or smaller, into `rgb` [H, W, 3]."""
        luma, *chroma = planes
        size = luma.shape[1], luma.shape[0]
        memory = self._memory(luma.shape, luma.dtype)
        for plane, whole in zip(chroma, memory.chroma, strict=True):
            if plane.shape == luma.shape:
                np.copyto(whole, plane)
            else:
                cv2.resize(plane, size, dst=whole, interpolation=cv2.INTER_LINEAR)
        cv2.merge([luma, *memory.chroma], dst=memory.joined)
        np.copyto(memory.wide, memory.joined)
        cv2.transform(memory.wide, self._to_rgb, dst=memory.result)
        cv2.convertScaleAbs(memory.result, dst=rgb)

    def from_rgb(self, rgb: NDArray[np.uint8], planes: Sequence[NDArray[np.uint8]]) -> None:
        """Convert RGB [H, W, 3] into 8-bit luma [H, W] and both chroma planes [H / 2, W / 2]."""
        luma, *chroma = planes
        memory = self._memory(luma.shape, luma.dtype)
        np.copyto(memory.wide, rgb)
        cv2.transform(memory.wide, self._from_rgb, dst=memory.result)
        cv2.convertScaleAbs(memory.result, dst=memory.joined)
        cv2.extractChannel(memory.joined, 0, dst=luma)
        for number, (plane, whole) in enumerate(zip(chroma, memory.chroma, strict=True), 1):
            cv2.extractChannel(memory.joined, number, dst=whole)
            size = plane.shape[1], plane.shape[0]
            cv2.resize(whole, size, dst=plane, interpolation=cv2.INTER_AREA)

    def _memory(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> _Memory:
        """Return this thread's buffers: allocating new memory would take longer than computing."""
        of_thread = self._of_thread
        memory: _Memory | None = getattr(of_thread, "memory", None)
        if memory is None or memory.chroma[0].shape != shape or memory.chroma[0].dtype != dtype:
            height, width = shape
            memory = of_thread.memory = _Memory(height, width, dtype)
        return memory


class _Memory:
    def __init__(self, height: int, width: int, dtype: np.dtype[Any]) -> None:
        self.chroma = [np.empty((height, width), dtype) for _ in range(2)]
        self.joined = np.empty((height, width, 3), dtype)
        self.wide = np.empty((height, width, 3), np.uint16)
        self.result = np.empty((height, width, 3), np.uint16)


def over_white(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Composite [H, W, 4] RGB and alpha over white; return [H, W, 3]."""
    color = cv2.cvtColor(pixels, cv2.COLOR_RGBA2RGB)
    alpha = cv2.cvtColor(cv2.extractChannel(pixels, 3), cv2.COLOR_GRAY2RGB)
    share = cv2.multiply(color, alpha, scale=1 / 255)
    return np.asarray(cv2.add(share, cv2.bitwise_not(alpha)), np.uint8)


def plane_pixels(buffer: memoryview, line: int, width: int, height: int) -> NDArray[np.uint8]:
    """Return a view of a plane, [H, W] uint8; a line uses `width` of its `line` bytes."""
    return np.frombuffer(buffer, np.uint8)[: line * height].reshape(height, line)[:, :width]
