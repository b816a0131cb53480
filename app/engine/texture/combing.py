"""The noise of strokes with a direction in NumPy and OpenCV, the reference for the native library.

A line integral convolution (Cabral and Leedom, 1993) of the texture's noise along the lines of the
picture, which its structure tensor tells (Bigun and Granlund, 1987). Directions are vectors of
twice the angle, so that opposite ones are equal and can be averaged.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.frames.combing import BLURS, LEAN, MARGIN, Comb
from kernels.frames.noise import BANDS, tile
from utils.opencv import cv2
from utils.stroke_directions import FOLLOW, HAND, SWIRL

_Floats = NDArray[Any]  # [H, W]
Axes = NDArray[Any]  # [H, W, 2]: twice the angle, in pixels to the right and down

CARRIED = 0.05  # share of the wide blur, which matters in flat parts only
LEAST_SLOPE = 0.02  # levels^2: lines of smaller slopes have the axis LEAN
NEAR = 0.08  # of the long side: a handle rules the picture closer to it
TURN = 0.5  # share of the axis between handles that cancel each other out
AVERAGED = 0.85  # share of the last frame's axes in a stream
_BACK = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP


def axes_of(
    comb: Comb, small: NDArray[np.uint8], size: tuple[int, int], offset: tuple[float, float]
) -> Axes:
    """Return the axes of a frame's strokes at the pixels of its small gray copy."""
    if comb.direction == FOLLOW:
        return _lines(small.astype(np.float32))
    rows, columns = small.shape
    if comb.direction == SWIRL:
        return _swirl(rows, columns, *size, *offset)
    if comb.direction == HAND:
        return _handled(comb, rows, columns, *size)
    return np.broadcast_to(np.array(comb.axis, np.float32), (rows, columns, 2))


def averaged(before: Axes, now: Axes, right: float, down: float) -> Axes:
    """Average a frame's axes with the last frame's, moved by pixels of the small copy."""
    height, width = now.shape[:2]
    there = np.array([[1, 0, -right], [0, 1, -down]], np.float64)
    moved = cv2.warpAffine(
        before, there, (width, height), flags=_BACK, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(AVERAGED * moved + (1 - AVERAGED) * now, np.float32)


def combed_noise(
    comb: Comb, axes: Axes, size: tuple[int, int], offset: tuple[float, float]
) -> _Floats:
    """Return [H, W]: noise of unit deviation, combed along the axes at half the size."""
    half = (size[0] + 1) // 2, (size[1] + 1) // 2
    at = [_source(few, many, MARGIN) for few, many in zip(half, size, strict=True)]
    rows, columns = np.meshgrid(*at, indexing="ij")
    noise = _summed_noise(rows, columns, offset)
    rows, columns = np.indices(half, np.float64)
    along = _tangents(axes, rows, columns, half)
    total = noise[MARGIN:-MARGIN, MARGIN:-MARGIN].copy()
    for side in (-1, 1):
        ahead = side * along
        way = ahead * comb.steps / 2
        then = _tangents(axes, rows + way[..., 1], columns + way[..., 0], half)
        then *= np.where((then * ahead).sum(-1, keepdims=True) < 0, -1, 1)
        bend = (then - ahead) / comb.steps
        for step in range(1, comb.steps + 1):
            x, y = np.moveaxis(step * (ahead + step * bend) + MARGIN, -1, 0)
            weight = 1 - (step / (comb.steps + 1)) ** 2
            total += weight * _between(noise, rows + y, columns + x)
    combed = np.asarray(total * comb.gain, np.float32)
    height, width = (_source(many, few) for many, few in zip(size, half, strict=True))
    return np.asarray(_between(combed, *np.meshgrid(height, width, indexing="ij")), np.float32)


def _lines(gray: _Floats) -> Axes:
    edges = np.pad(gray, 1, mode="edge")
    right = (edges[1:-1, 2:] - edges[1:-1, :-2]) / 2
    down = (edges[2:, 1:-1] - edges[:-2, 1:-1]) / 2
    lines = _across(right, down)
    narrow, wide = (_blurred(lines, *each) for each in BLURS)
    return narrow + np.float32(CARRIED) * wide + LEAST_SLOPE * np.array(LEAN, np.float32)


def _across(right: NDArray[Any], down: NDArray[Any]) -> NDArray[Any]:
    return np.stack((down * down - right * right, -2 * right * down), -1)


def _blurred(axes: Axes, blur: float, reach: int) -> Axes:
    weights = np.exp(-((np.arange(-reach, reach + 1) / blur) ** 2) / 2)
    weights /= weights.sum()
    return cv2.sepFilter2D(axes, -1, weights, weights, borderType=cv2.BORDER_REFLECT_101)


def _swirl(rows: int, columns: int, height: int, width: int, x0: float, y0: float) -> Axes:
    unit = 2 * math.pi / max(height, width)
    x = unit * ((np.arange(columns) + 0.5) * width / columns - x0)[None]
    y = unit * ((np.arange(rows) + 0.5) * height / rows - y0)[:, None]
    a, b = np.cos(1.3 * x + 0.9 * y), np.cos(-1.1 * x + 1.7 * y + 1)
    c = np.cos(2.3 * x - 0.4 * y + 2)
    axes = _across(1.3 * a - 1.1 * b + 1.6 * c, 0.9 * a + 1.7 * b - 0.3 * c)
    axes[..., 0] += 0.02
    return np.asarray(axes, np.float32)


def _handled(comb: Comb, rows: int, columns: int, height: int, width: int) -> Axes:
    """Return the mean axes of the handles, of which nearer ones weigh more."""
    side = max(height, width)
    x = ((np.arange(columns) + 0.5) / columns)[None]
    y = ((np.arange(rows) + 0.5) / rows)[:, None]
    away = np.stack(
        [
            ((x - each.x) * width / side) ** 2 + ((y - each.y) * height / side) ** 2
            for each in comb.handles
        ]
    )
    weights = (away + NEAR**2) ** -2.0
    axes = np.einsum("nij,nk->ijk", weights / weights.sum(0), np.array(comb.handle_axes))
    turn = TURN * (1 - (axes**2).sum(-1, keepdims=True))
    return np.asarray(axes + turn * np.array(comb.axis), np.float32)


def _source(many: int, few: int, margin: int = 0) -> NDArray[Any]:
    """Return the positions of `many` pixels, and of a margin around them, among `few`."""
    return (np.arange(-margin, many + margin) + 0.5) * (few / many) - 0.5


def _tangents(
    axes: Axes, rows: NDArray[Any], columns: NDArray[Any], size: tuple[int, int]
) -> NDArray[Any]:
    """Return [..., 2] unit vectors along the axes at positions in a picture of a size."""
    small = axes.shape[:2]
    y, x = ((at + 0.5) * few / many - 0.5
            for at, few, many in zip((rows, columns), small, size, strict=True))  # fmt: skip
    axis = np.stack([_between(axes[..., part], y, x) for part in (0, 1)], -1)
    length = np.linalg.norm(axis, axis=-1, keepdims=True)
    x, y = np.moveaxis(axis / np.maximum(length, 1e-12), -1, 0)
    along = np.where((x > -0.5)[..., None], np.stack((1 + x, y), -1), np.stack((y, 1 - x), -1))
    along /= np.linalg.norm(along, axis=-1, keepdims=True)
    return np.where(length > 1e-12, along, (1.0, 0.0))


def _summed_noise(
    rows: NDArray[Any], columns: NDArray[Any], offset: tuple[float, float]
) -> NDArray[Any]:
    """Return the sum of both bands at positions that may lie outside the picture."""
    total = np.zeros_like(rows)
    for number, (_, side) in enumerate(BANDS):
        periodic = np.pad(tile(number), ((0, 1), (0, 1)), mode="wrap")
        total += _between(periodic, (rows - offset[1]) % side, (columns - offset[0]) % side)
    return total


def _between(
    values: NDArray[np.floating], rows: NDArray[Any], columns: NDArray[Any]
) -> NDArray[Any]:
    """Interpolate between pixels; positions beyond the edge repeat it."""
    height, width = values.shape
    top, left = np.floor(rows).astype(int), np.floor(columns).astype(int)
    y0, y1 = (np.clip(at, 0, height - 1) for at in (top, top + 1))
    x0, x1 = (np.clip(at, 0, width - 1) for at in (left, left + 1))
    down, right = rows - top, columns - left
    above = values[y0, x0] + (values[y0, x1] - values[y0, x0]) * right
    below = values[y1, x0] + (values[y1, x1] - values[y1, x0]) * right
    return above + (below - above) * down
