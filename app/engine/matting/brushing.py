"""A soft round brush that paints into a mask, or erases from it."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

LONG_SIDE = 1024  # of a mask in pixels, at most
HARD = 0.5  # share of the radius in which the brush paints fully
SPACING = 0.25  # of the radius, between two dabs of a stroke

Mask = NDArray[np.uint8]  # [h, w], 255 where the brush painted
Place = tuple[float, float]  # x and y in shares of the picture


def mask_of(width: int, height: int, *, full: bool) -> Mask:
    """Return a mask for a picture of width x height pixels, at most LONG_SIDE on the long side."""
    scale = min(1.0, LONG_SIDE / max(width, height))
    size = max(1, round(height * scale)), max(1, round(width * scale))
    return np.full(size, 255 if full else 0, np.uint8)


def brush(mask: Mask, places: Iterable[Place], radius: float, *, erases: bool) -> None:
    """Paint a stroke along places into a mask, or erase it; changes the mask.

    A stroke that crosses itself has the same soft edge everywhere: dabs do not add up.

    Args:
        radius: Share of the mask's long side.
    """
    height, width = mask.shape
    pixels = max(0.5, radius * max(height, width))
    before: Place | None = None
    for x, y in places:
        at = x * width, y * height
        for dab in [at] if before is None else _between(before, at, SPACING * pixels):
            _dab(mask, dab, pixels, erases=erases)
        before = at


def _between(start: Place, end: Place, apart: float) -> Iterable[Place]:
    """Return places on the way to `end`, at most `apart` pixels apart, without the start."""
    steps = max(1, math.ceil(math.dist(start, end) / apart))
    for step in range(1, steps + 1):
        share = step / steps
        yield start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])


def _dab(mask: Mask, at: Place, radius: float, *, erases: bool) -> None:
    height, width = mask.shape
    left, right = max(0, math.floor(at[0] - radius)), min(width, math.ceil(at[0] + radius) + 1)
    top, bottom = max(0, math.floor(at[1] - radius)), min(height, math.ceil(at[1] + radius) + 1)
    if left >= right or top >= bottom:
        return
    across = np.arange(left, right, dtype=np.float32) + 0.5 - at[0]
    down = np.arange(top, bottom, dtype=np.float32) + 0.5 - at[1]
    far = np.sqrt(across[None] ** 2 + down[:, None] ** 2) / radius
    share = np.clip((1 - far) / (1 - HARD), 0, 1)
    share = share * share * (3 - 2 * share)  # no kink at either end of the soft edge
    made = np.rint(255 * share).astype(np.uint8)
    part = mask[top:bottom, left:right]
    if erases:
        np.minimum(part, 255 - made, out=part)
    else:
        np.maximum(part, made, out=part)
