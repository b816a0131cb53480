"""The directions of strokes: how texture's noise is combed, on CPU and GPU."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.frames.noise import BANDS, TRACKED

FOLLOW, SWIRL = "follow", "swirl"
MODES, ONE_WAY = {FOLLOW: 1, SWIRL: 2}, 3  # as in frames/native/combing.h

STEP = 2  # pixels of the network's input: the resolution of the combed noise
LONGEST = 14  # samples of the noise on each side of a pixel, STEP apart, for the longest strokes
MARGIN = LONGEST + 2  # pixels around the noise at half size

# Pixels of the copies of TRACKED: the blurs of the structure tensor, and how far they reach. The
# narrow one decides where the picture has lines; the wide one carries lines into flat parts.
BLURS = ((2.4, 6), (9.6, 24))


@dataclass(frozen=True, slots=True)
class Comb:
    """How strokes lie in the flat parts of a picture.

    Attributes:
        direction: FOLLOW for the lines of the picture, SWIRL for eddies, or an angle in degrees,
            counterclockwise from the horizontal.
        length: 0 for the shortest strokes, 1 for the longest.
    """

    direction: float | str
    length: float = 0.5

    @property
    def mode(self) -> int:
        return MODES[self.direction] if isinstance(self.direction, str) else ONE_WAY

    @property
    def axis(self) -> tuple[float, float]:
        """The vector of twice the angle, in pixels to the right and down; zeros without one."""
        if isinstance(self.direction, str):
            return 0.0, 0.0
        twice = 2 * math.radians(self.direction)
        return math.cos(twice), -math.sin(twice)

    @property
    def steps(self) -> int:
        """The number of samples on each side of a pixel."""
        return max(1, round(self.length * LONGEST))

    @property
    def gain(self) -> float:
        """The factor that gives the weighted sum of samples along a line unit deviation.

        A sample's weight is 1 - (k / (steps + 1))^2, k samples from the middle. Noise that a
        Gaussian of deviation b has blurred correlates by exp(-d^2 / 4 b^2) over the distance d.
        """
        at = np.arange(-self.steps, self.steps + 1)
        weights = 1 - (at / (self.steps + 1)) ** 2
        apart = (STEP * (at[:, None] - at[None])) ** 2
        variance = sum(weights @ np.exp(-apart / (4 * blur**2)) @ weights for blur, _ in BANDS)
        return 1 / math.sqrt(float(variance))


def tensor_taps() -> NDArray[np.float32]:
    """Return the weights of both BLURS from the middle outwards, one after the other."""
    return np.concatenate([_taps(*each) for each in BLURS])


def _taps(blur: float, reach: int) -> NDArray[np.float32]:
    weights = np.exp(-((np.arange(reach + 1) / blur) ** 2) / 2)
    return np.asarray(weights / (2 * weights.sum() - weights[0]), np.float32)


assert TRACKED == 128  # BLURS are in pixels of such copies
