"""The noise that texture adds to frames, and the blurs that find flat parts, on CPU and GPU."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

# The blur of each band and the side of its tile, in pixels of the network's input, where strokes
# have a fixed width. The sides' common multiple is too large for a visible repetition.
BANDS = ((1.5, 509), (4.0, 661))
# Pixels: the blurs for measuring deviations. A forehead is flat over the first, but not over the
# second, which reaches eyes and hair; a sky is flat over both.
WINDOWS = (5.0, 14.0)
CELL = 4  # pixels: the resolution of flat parts
TRACKED = 128  # pixels: the long side of the copies for measuring motion


@lru_cache(maxsize=len(BANDS))
def tile(number: int) -> NDArray[np.float32]:
    """Return [side, side]: Gaussian noise of a band, periodic, with unit deviation."""
    blur, side = BANDS[number]
    spectrum = np.fft.rfft2(np.random.default_rng(number).standard_normal((side, side)))
    rows, columns = np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side)[None]
    spectrum *= np.exp(-2 * (np.pi * blur) ** 2 * (rows**2 + columns**2))
    spectrum[0, 0] = 0  # the mean
    noise = np.fft.irfft2(spectrum, (side, side))
    return np.asarray(noise / noise.std(), np.float32)


def tracked_size(height: int, width: int) -> tuple[int, int]:
    """Return (height, width) of the copies of a picture for measuring motion."""
    scale = max(1.0, max(height, width) / TRACKED)
    return max(1, round(height / scale)), max(1, round(width / scale))


def taps(window: float, reach: int) -> NDArray[np.float32]:
    """Return [reach + 1] weights of a blur in WINDOWS over cells, starting at the middle.

    Together with the weights of the other side they sum to 1.
    """
    weights = np.exp(-((np.arange(reach + 1) / (window / CELL)) ** 2) / 2)
    return np.asarray(weights / (2 * weights.sum() - weights[0]), np.float32)
