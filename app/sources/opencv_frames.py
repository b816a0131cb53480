"""Turns what OpenCV delivers into pictures, or says that it is none."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from utils.opencv import cv2


class Retrieves(Protocol):
    """The part of cv2.VideoCapture that hands over the frame grabbed last."""

    def retrieve(self) -> tuple[bool, object]: ...


def retrieved(capture: Retrieves) -> NDArray[np.uint8] | None:
    """The frame that `capture` grabbed last, [H, W, 3] RGB in memory of its own; None if it is
    damaged: the next may be whole."""
    try:
        good, pixels = capture.retrieve()
    except cv2.error:
        return None
    return rgb(pixels) if good else None


def rgb(pixels: object) -> NDArray[np.uint8] | None:
    """What OpenCV delivered (BGR, BGRA or gray uint8), as a new RGB array; None if it is none of
    these."""
    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8 or pixels.size == 0:
        return None
    if pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] == 1):
        return cv2.cvtColor(pixels, cv2.COLOR_GRAY2RGB).astype(np.uint8, copy=False)
    code = {3: cv2.COLOR_BGR2RGB, 4: cv2.COLOR_BGRA2RGB}.get(pixels.shape[-1])
    if pixels.ndim != 3 or code is None:
        return None
    return cv2.cvtColor(pixels, code).astype(np.uint8, copy=False)
