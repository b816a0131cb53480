"""Puts a picture and its painting together in one: side by side, or divided by a line."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB

ARRANGEMENTS = {
    "side": "the picture, a thin line, and the painting beside it",
    "split": "one picture: the original left of a line in the middle, painted right of it",
}
LINE = np.array([255, 255, 255], np.uint8)  # its color
_LINE_SHARE = 1 / 400  # of the width of a picture
_THINNEST = 2  # px


def line_width(width: int) -> int:
    """Return how wide the line is in a picture of `width` pixels, in pixels; even."""
    return max(_THINNEST, 2 * round(width * _LINE_SHARE / 2))


def side_by_side(before: Pixels, after: Pixels) -> Pixels:
    """Put two pictures of one size beside each other.

    Args:
        before: [H, W, 3] uint8.
        after: The same.

    Returns:
        [H, 2 * W + line_width(W), 3] uint8.
    """
    height, width = before.shape[:2]
    made = np.empty((height, 2 * width + line_width(width), 3), np.uint8)
    made[:, :width] = before
    made[:, width:-width] = LINE
    made[:, -width:] = after
    return made


def split(before: Pixels, after: Pixels, at: float = 0.5) -> Pixels:
    """Show one picture left of a line and the other one right of it.

    Args:
        before: [H, W, 3] uint8.
        after: The same.
        at: Where the line is, 0 (all of it is `after`, and there is no line) to 1 (`before`).

    Returns:
        [H, W, 3] uint8.
    """
    width = before.shape[1]
    middle = round(at * width)
    made = after.copy()
    made[:, :middle] = before[:, :middle]
    if 0 < middle < width:
        half = line_width(width) // 2
        made[:, max(0, middle - half) : middle + half] = LINE
    return made


def composed(before: Pixels, after: Pixels, arrangement: str, at: float = 0.5) -> Pixels:
    """Put two pictures of one size together.

    Args:
        before: [H, W, 3] uint8.
        after: The same.
        arrangement: One of ARRANGEMENTS.
        at: Where the line of "split" is, 0 to 1.
    """
    if arrangement == "side":
        return side_by_side(before, after)
    return split(before, after, at)
