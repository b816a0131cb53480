"""Conversion of frames from OpenCV to RGB arrays."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.frame_memory import new_pixels
from utils.opencv import cv2

CONVERSIONS = {1: cv2.COLOR_GRAY2RGB, 3: cv2.COLOR_BGR2RGB, 4: cv2.COLOR_BGRA2RGB}  # by channels


class SupportsRetrieve(Protocol):
    """The method of cv2.VideoCapture that decodes the grabbed frame."""

    def retrieve(self) -> tuple[bool, object]:
        """Return (success, pixels)."""
        ...


def retrieve_rgb(capture: SupportsRetrieve) -> NDArray[np.uint8] | None:
    """Decode the frame that `capture` grabbed, as [H, W, 3] uint8 RGB in new memory.

    None if the frame is damaged; the next one may be intact.
    """
    try:
        good, pixels = capture.retrieve()
    except cv2.error:
        return None
    return as_rgb(pixels) if good else None


def as_rgb(pixels: object) -> NDArray[np.uint8] | None:
    """Convert BGR, BGRA or gray uint8 pixels to a new RGB array; None for anything else."""
    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8 or pixels.size == 0:
        return None
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    code = CONVERSIONS.get(pixels.shape[-1])
    if pixels.ndim != 3 or code is None:
        return None
    rgb = new_pixels(*pixels.shape[:2])
    cv2.cvtColor(pixels, code, dst=rgb)
    return rgb
