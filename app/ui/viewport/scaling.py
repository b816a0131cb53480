"""Scales frames for the screen: a whole frame, or the visible part of a zoomed one."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRect, QSize

from app.frame import Frame
from utils.opencv import cv2

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB, or [H, W, 4] as in Frame.screen
MAX_AREA_FACTOR = 4  # largest factor of area averaging; larger pictures are subsampled first
CRISP = 2.0  # screen pixels per picture pixel from which picture pixels appear as squares


def scale_frame(frame: Frame, width: int, height: int) -> Frame:
    """Scale `frame` to width x height pixels; return `frame` itself if it has that size."""
    if (frame.width, frame.height) == (width, height):
        return frame
    small = frame.preview
    if small is not None and (small.width, small.height) == (width, height):
        return small
    if small is not None and small.width >= width and small.height >= height:
        frame = small
    pixels = frame.pixels
    # Each step uses the fastest sufficient method, since this runs on the GUI thread.
    thin = min(frame.width // (MAX_AREA_FACTOR * width), frame.height // (MAX_AREA_FACTOR * height))
    if thin > 1:
        pixels = _resized(pixels, frame.width // thin, frame.height // thin, cv2.INTER_NEAREST)
    rows, columns = pixels.shape[:2]
    whole = min(columns // width, rows // height)
    if whole > 1:
        columns, rows = columns // whole, rows // whole
        even = pixels[: rows * whole, : columns * whole]
        pixels = _resized(even, columns, rows, cv2.INTER_AREA)
    # Fractional area averaging is slower, and needed only if pixels would be skipped.
    method = cv2.INTER_AREA if columns > 1.5 * width else cv2.INTER_LINEAR
    return Frame(_resized(pixels, width, height, method), frame.index, frame.captured_at)


def scale_part(frame: Frame, size: QSize, part: QRect) -> Pixels:
    """Scale only the visible part of a frame, so that the result is never larger than the screen.

    Args:
        size: Size of the whole frame on screen, in screen pixels.
        part: The visible part, relative to the whole frame at that size.

    Returns:
        [H, W, 4] uint8 in the size of the part, as in `Frame.screen`: OpenCV interpolates four
        channels in a third of the time of three. From a scale of CRISP on, each pixel of the frame
        is a square; below, pixels are interpolated; below 1, whole blocks are averaged first.
    """
    small = frame.preview
    if small is not None and small.width >= size.width() and small.height >= size.height():
        frame = small
    # Picture pixels per screen pixel.
    across, down = frame.width / size.width(), frame.height / size.height()
    # Averaged blocks begin at multiples of their size, so that moving the picture does not shimmer.
    block = max(1, math.floor(min(across, down)))
    left, right = _span(part.x() * across, part.width() * across, frame.width, block)
    top, bottom = _span(part.y() * down, part.height() * down, frame.height, block)
    pixels = frame.pixels[top:bottom, left:right]
    if block > 1:
        columns, rows = (right - left) // block, (bottom - top) // block
        even = pixels[: rows * block, : columns * block]
        pixels = _resized(even, columns, rows, cv2.INTER_AREA)
    # Maps the centers of screen pixels to coordinates of `pixels`.
    matrix = np.array(
        [
            [across / block, 0, ((part.x() + 0.5) * across - left) / block - 0.5],
            [0, down / block, ((part.y() + 0.5) * down - top) / block - 0.5],
        ]
    )
    crisp = max(across, down) <= 1 / CRISP
    method = cv2.INTER_NEAREST if crisp else cv2.INTER_LINEAR
    return np.asarray(
        cv2.warpAffine(
            cv2.cvtColor(pixels, cv2.COLOR_RGB2BGRA),
            matrix,
            (part.width(), part.height()),
            flags=method | cv2.WARP_INVERSE_MAP,
            borderMode=cv2.BORDER_REPLICATE,
        ),
        np.uint8,
    )


def _span(begin: float, length: float, limit: int, block: int) -> tuple[int, int]:
    """Return the pixels an interval needs, plus neighbors, in whole blocks if possible."""
    first = max(0, (math.floor(begin) // block - 1) * block)
    last = min(limit, (math.ceil((begin + length) / block) + 1) * block)
    return min(first, max(0, (limit // block - 1) * block)), max(last, first + block)


def _resized(pixels: Pixels, width: int, height: int, method: int) -> Pixels:
    return np.asarray(cv2.resize(pixels, (width, height), interpolation=method), np.uint8)
