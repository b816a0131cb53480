"""Pixel arithmetic around the network: scaling, blending with the source, comparing."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from utils.opencv import cv2

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB


def fit_to(pixels: Pixels, size: tuple[int, int], buffer: Pixels) -> Pixels:
    """`pixels` scaled to `size` (width, height), in `buffer` where that has the right shape."""
    width, height = size
    if buffer.shape != (height, width, 3):
        buffer = np.empty((height, width, 3), np.uint8)
    if pixels.shape == buffer.shape:
        np.copyto(buffer, pixels)
    else:
        shrinking = width * height < pixels.shape[0] * pixels.shape[1]
        how = cv2.INTER_AREA if shrinking else cv2.INTER_CUBIC
        cv2.resize(pixels, size, dst=buffer, interpolation=how)
    return buffer


def join_bands(strokes: Pixels, detail: Pixels) -> Pixels:
    """`detail` with all that `strokes`, a smaller picture of the same, can hold taken from there.

    Strokes have a fixed width in the network's own picture. So two sizes of it are joined as two
    levels of a Laplacian pyramid (Burt & Adelson 1983): the smaller one decides what is painted,
    the larger one how sharp.
    """
    size = strokes.shape[1], strokes.shape[0]
    known = cv2.resize(detail, size, interpolation=cv2.INTER_AREA)
    missing = cv2.subtract(strokes, known, dtype=cv2.CV_16S)
    larger = (detail.shape[1], detail.shape[0])
    missing = cv2.resize(missing, larger, interpolation=cv2.INTER_CUBIC)
    return np.asarray(cv2.add(detail, missing, dtype=cv2.CV_8U), np.uint8)


def blend(result: Pixels, source: Pixels, strength: float, keep_colors: bool) -> Pixels:
    """`result` mixed with `source`, both of one size: `strength` 0 is the source, 1 the result;
    `keep_colors` takes only the luma of the result and the chroma (YCrCb) of the source."""
    out = result
    if keep_colors:
        mixed = cv2.cvtColor(source, cv2.COLOR_RGB2YCrCb)
        mixed[..., 0] = cv2.cvtColor(out, cv2.COLOR_RGB2YCrCb)[..., 0]
        out = cv2.cvtColor(mixed, cv2.COLOR_YCrCb2RGB)
    if strength < 1:
        out = cv2.addWeighted(out, strength, source, 1 - strength, 0)
    return np.ascontiguousarray(out, np.uint8)


def peak_difference(a: Tensor, b: Tensor) -> tuple[float, float]:
    """Largest absolute difference (0-255) and PSNR in dB, infinite for equal pictures."""
    difference = (a - b).abs()
    error = float(difference.square().mean())
    psnr = 10 * math.log10(255**2 / error) if error else math.inf
    return float(difference.max()), psnr
