"""Fitting of pictures of any size into the one size of a virtual camera."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from utils.opencv import cv2
from utils.translation.texts import tr

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB
MOST_LINEAR = 1.5  # largest reduction without averaging


def fitted(pixels: Pixels, width: int, height: int, fit: str) -> Pixels:
    """Scale [H, W, 3] uint8 RGB to a camera's size in pixels, without distorting it.

    `fit` is "whole" for all of the picture between black bars, or "fill" for its middle, which
    fills the camera. Return `pixels` themselves if they have that size.
    """
    rows, columns = pixels.shape[:2]
    if (columns, rows) == (width, height):
        return pixels
    if fit == "fill":
        kept = _inside(width, height, columns, rows)
        left, top = (columns - kept[0]) // 2, (rows - kept[1]) // 2
        return _scaled(pixels[top : top + kept[1], left : left + kept[0]], width, height)
    inner = _inside(columns, rows, width, height)
    if inner == (width, height):
        return _scaled(pixels, width, height)
    canvas = np.zeros((height, width, 3), np.uint8)
    left, top = (width - inner[0]) // 2, (height - inner[1]) // 2
    canvas[top : top + inner[1], left : left + inner[0]] = _scaled(pixels, *inner)
    return canvas


def fitting_text(columns: int, rows: int, width: int, height: int, fit: str) -> str:
    """Describe how pictures of one size are fitted, as a clause; "" for equal sizes."""
    if (columns, rows) == (width, height):
        return ""
    sizes = {"source": f"{columns}x{rows}", "camera": f"{width}x{height}"}
    inner = _inside(columns, rows, width, height)
    if inner == (width, height):
        return tr("{source} is scaled to {camera}", **sizes)
    sides = inner[0] < width  # whether the picture is narrower than the camera
    if fit == "fill":
        if sides:
            return tr("{source} is scaled to {camera}, cut off above and below", **sizes)
        return tr("{source} is scaled to {camera}, cut off at the sides", **sizes)
    if sides:
        return tr("{source} is scaled to {camera}, with black bars at the sides", **sizes)
    return tr("{source} is scaled to {camera}, with black bars above and below", **sizes)


def _inside(width: int, height: int, within_width: int, within_height: int) -> tuple[int, int]:
    """Return the largest size of a shape within another size."""
    if width * within_height >= height * within_width:
        return within_width, max(1, round(height * within_width / width))
    return max(1, round(width * within_height / height)), within_height


def _scaled(pixels: Pixels, width: int, height: int) -> Pixels:
    rows, columns = pixels.shape[:2]
    whole = min(columns // width, rows // height)
    if whole > 1:
        rows, columns = rows // whole, columns // whole
        even = pixels[: rows * whole, : columns * whole]
        pixels = _resized(even, columns, rows, cv2.INTER_AREA)
    # Averaging parts of pixels takes many times as long, and is needed only if pixels are skipped.
    method = cv2.INTER_AREA if columns > MOST_LINEAR * width else cv2.INTER_LINEAR
    return _resized(pixels, width, height, method)


def _resized(pixels: Pixels, width: int, height: int, method: int) -> Pixels:
    return np.asarray(cv2.resize(pixels, (width, height), interpolation=method), np.uint8)
