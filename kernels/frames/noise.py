"""The noise that frames are given as texture, and the blurs by which flat parts of them are found.

The CPU and the kernels of frame.cu use the same.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

# In pixels of the network's input, in which its strokes have a fixed width: the blur of each band
# and the side of its tile, whose common multiple is too far away for a repetition to be seen.
BANDS = ((1.5, 509), (4.0, 661))
# Pixels: the blurs over which a deviation is taken. A forehead is flat over the first, and not over
# the second, which reaches eyes and hair; a sky is over both.
WINDOWS = (5.0, 14.0)
CELL = 4  # pixels: the resolution of what is flat
TRACKED = 128  # pixels: the long side of the copies on which motion is measured


@lru_cache(maxsize=len(BANDS))
def tile(number: int) -> NDArray[np.float32]:
    """[side, side]: Gaussian noise of one of BANDS, periodic, of unit deviation."""
    blur, side = BANDS[number]
    spectrum = np.fft.rfft2(np.random.default_rng(number).standard_normal((side, side)))
    rows, columns = np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side)[None]
    spectrum *= np.exp(-2 * (np.pi * blur) ** 2 * (rows**2 + columns**2))
    spectrum[0, 0] = 0  # the mean
    noise = np.fft.irfft2(spectrum, (side, side))
    return np.asarray(noise / noise.std(), np.float32)


def tracked_size(height: int, width: int) -> tuple[int, int]:
    """(height, width) of the copies of a picture on which motion is measured."""
    scale = max(1.0, max(height, width) / TRACKED)
    return max(1, round(height / scale)), max(1, round(width / scale))


def taps(window: float, reach: int) -> NDArray[np.float32]:
    """[reach + 1]: weights of the blur of one of WINDOWS over cells, from the middle on; with those
    of the other side they sum to 1."""
    weights = np.exp(-((np.arange(reach + 1) / (window / CELL)) ** 2) / 2)
    return np.asarray(weights / (2 * weights.sum() - weights[0]), np.float32)
