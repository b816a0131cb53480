"""The directions of strokes: how texture's noise is combed, on CPU and GPU."""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.frames.noise import BANDS
from utils.stroke_directions import FOLLOW, HAND, SWIRL, Handles

MODES, ONE_WAY = {FOLLOW: 1, SWIRL: 2, HAND: 4}, 3  # as in frames/native/combing.h

STEP = 2  # pixels of the network's input: the resolution of the combed noise
LONGEST = 14  # samples of the noise on each side of a pixel, STEP apart, for the longest strokes
MARGIN = LONGEST + 2  # pixels around the noise at half size

# Pixels of the copies for measuring motion: the blurs of the structure tensor, and how far they
# reach. The narrow one decides where the picture has lines; the wide one carries lines into flat
# parts.
BLURS = ((2.4, 6), (9.6, 24))

# Twice the angle of strokes where nothing gives them a direction, in pixels to the right and down.
LEAN = 0.36, -0.93


@dataclass(frozen=True, slots=True)
class Comb:
    """How strokes lie in the flat parts of a picture.

    Attributes:
        direction: FOLLOW for the lines of the picture, SWIRL for eddies, HAND for `handles`, or an
            angle in degrees, counterclockwise from the horizontal.
        length: 0 for the shortest strokes, 1 for the longest.
        handles: At least one with HAND; otherwise none.
    """

    direction: float | str
    length: float = 0.5
    handles: Handles = ()

    def __post_init__(self) -> None:
        if (self.direction == HAND) != bool(self.handles):
            raise ValueError("strokes combed by hand have handles, and no other strokes have")

    @property
    def mode(self) -> int:
        return MODES[self.direction] if isinstance(self.direction, str) else ONE_WAY

    @property
    def axis(self) -> tuple[float, float]:
        """The vector of twice the angle, in pixels to the right and down; zeros without one.

        With HAND, the vector of places where the handles cancel each other out.
        """
        if self.direction == HAND:
            return _between(self.handle_axes)
        return (0.0, 0.0) if isinstance(self.direction, str) else axis_of(self.direction)

    @property
    def handle_axes(self) -> tuple[tuple[float, float], ...]:
        return tuple(axis_of(each.angle) for each in self.handles)

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


def axis_of(angle: float) -> tuple[float, float]:
    """Return the vector of twice an angle in degrees, in pixels to the right and down."""
    twice = 2 * math.radians(angle)
    return math.cos(twice), -math.sin(twice)


def _between(axes: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the axis by way of which strokes turn where `axes` cancel each other out.

    Two axes that are opposite, as of a horizontal and a vertical handle, have no mean, so a blend
    would jump from one to the other. This axis is at right angles to the line on which the axes
    lie, on the side of their mean or else of LEAN; axes on no line give LEAN.
    """
    given = [complex(*axis) for axis in axes]
    mean, lean = sum(given) / len(given), complex(*LEAN)
    squares = [(axis - mean) ** 2 for axis in given]
    spread = sum(map(abs, squares))
    if spread < 1e-9:
        return LEAN
    line = sum(squares) / spread  # its size is 1 for axes on one line, 0 for axes on none
    across = 1j * cmath.sqrt(line)
    side = mean + 0.01 * lean
    if (across * side.conjugate()).real < 0:
        across = -across
    turned = across + (1 - abs(across)) * lean
    return turned.real, turned.imag


def tensor_taps() -> NDArray[np.float32]:
    """Return the weights of both BLURS from the middle outwards, one after the other."""
    return np.concatenate([_taps(*each) for each in BLURS])


def _taps(blur: float, reach: int) -> NDArray[np.float32]:
    weights = np.exp(-((np.arange(reach + 1) / blur) ** 2) / 2)
    return np.asarray(weights / (2 * weights.sum() - weights[0]), np.float32)
