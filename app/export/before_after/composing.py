"""Functions that combine a picture and its painting: side by side, or divided by a line."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB

ARRANGEMENTS = {
    "side": "the picture, a thin line, and the painting beside it",
    "split": "one picture: the original left of a line in the middle, painted right of it",
}
LINE = np.array([255, 255, 255], np.uint8)
_LINE_SHARE = 1 / 400  # fraction of a picture's width
_THINNEST = 2  # px


def line_width(width: int) -> int:
    """Return the even width of the line, in pixels, for a picture of `width` pixels."""
    return max(_THINNEST, 2 * round(width * _LINE_SHARE / 2))


def side_by_side(before: Pixels, after: Pixels) -> Pixels:
    """Put two pictures [H, W, 3] uint8 side by side: [H, 2 * W + line_width(W), 3] uint8."""
    height, width = before.shape[:2]
    made = np.empty((height, 2 * width + line_width(width), 3), np.uint8)
    made[:, :width] = before
    made[:, width:-width] = LINE
    made[:, -width:] = after
    return made


def split(before: Pixels, after: Pixels, at: float = 0.5) -> Pixels:
    """Show `before`, [H, W, 3] uint8, left of a line at 0 to 1 and `after` right; 0 has no line."""
    width = before.shape[1]
    middle = round(at * width)
    made = after.copy()
    made[:, :middle] = before[:, :middle]
    if 0 < middle < width:
        half = line_width(width) // 2
        made[:, max(0, middle - half) : middle + half] = LINE
    return made


def composed(before: Pixels, after: Pixels, arrangement: str, at: float = 0.5) -> Pixels:
    """Combine two pictures, [H, W, 3] uint8, in one of ARRANGEMENTS; "split" uses `at`, 0 to 1."""
    if arrangement == "side":
        return side_by_side(before, after)
    return split(before, after, at)
