"""Measures how the strokes of a painting lie, for a style that is made from the painting.

The structure tensor (Bigun and Granlund, 1987) gives the direction of the lines around a pixel, and
their coherence: 1 if all lines in a window are parallel, 0 if no direction prevails. Strokes that
are shorter than a window share it with others, which lie differently, so long strokes stay coherent
in larger windows.

Contours are coherent as well, but around a contour most of the window is empty. Windows count only
if slopes fill them, which separates brushwork from flat areas of color with contours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.options import AS_THEY_ARE, DEFAULT_LENGTH, FOLLOW, HALF_TURN
from utils.opencv import cv2

_Floats = NDArray[Any]  # [H, W]
_TINY = 1e-6

SIDE = 256  # long side in pixels at which paintings are measured
SOFTENED = 1.0  # pixels, sigma of the blur before slopes are taken
WINDOW = 6.0  # pixels, sigma of the windows that slopes must fill
WINDOWS = (4.0, 8.0, 16.0)  # pixels, sigma of the windows of the structure tensor
SLOPE = 2.5  # levels per pixel, root mean square; a window with less is empty
# Squared mean of the slopes by their mean square, in windows filled with noise in all directions,
# and in one.
FULL = math.pi / 4, 2 / math.pi
FILLED = 0.8  # of FULL; around a contour it is less

BRUSHED = 0.62  # share of windows with strokes; a painting with fewer is flat
DIRECTED = 0.33  # mean coherence; strokes with less have no direction
ALIGNED = 0.8  # of the mean coherence that one direction keeps across the whole painting
LENGTHS = 0.25, 0.6  # mean coherence of the shortest and of the longest strokes


@dataclass(frozen=True, slots=True)
class Strokes:
    """How strokes lie: values of the parameters `strokes_direction` and `strokes_length`.

    Attributes:
        direction: AS_THEY_ARE, FOLLOW, or an angle in degrees, counterclockwise from the
            horizontal, from 0 to less than HALF_TURN.
        length: 0 for the shortest strokes, 1 for the longest.
    """

    direction: float | str
    length: float


@dataclass(frozen=True, slots=True)
class Brushwork:
    """The figures that decide how strokes lie.

    Attributes:
        share: The share of the painting with strokes, 0 to 1.
        coherence: The mean coherence there in each of WINDOWS, 0 to 1; zeros without strokes.
        alignment: 1 if all strokes of the painting are parallel, 0 if no direction prevails.
        angle: The prevailing direction, in degrees counterclockwise from the horizontal.
    """

    share: float
    coherence: tuple[float, ...]
    alignment: float
    angle: float


def strokes_of(painting: NDArray[np.uint8]) -> Strokes:
    """Choose how strokes lie in the style of a painting, [H, W, 3] uint8 RGB."""
    found = measure_brushwork(painting)
    coherence = sum(found.coherence) / len(found.coherence)
    shortest, longest = LENGTHS
    length = min(1.0, max(0.0, (coherence - shortest) / (longest - shortest)))
    direction: float | str = FOLLOW
    if found.share < BRUSHED:
        return Strokes(AS_THEY_ARE, DEFAULT_LENGTH)  # contours tell no length
    if coherence < DIRECTED:
        direction = AS_THEY_ARE
    elif found.alignment >= ALIGNED:
        direction = float(round(found.angle) % HALF_TURN)
    return Strokes(direction, round(length, 2))


def measure_brushwork(painting: NDArray[np.uint8]) -> Brushwork:
    """Measure a painting, [H, W, 3] uint8 RGB, after scaling its long side to SIDE pixels."""
    right, down = _slopes(_gray(painting))
    squared = right * right + down * down
    energy = _blurred(squared, WINDOW)
    # Each area counts alike, however strong its contrast. The axes are vectors of twice the angle,
    # along the lines, in pixels to the right and down.
    even = 1 / np.maximum(energy, SLOPE**2)
    weight = squared * even
    axes = np.stack((down * down - right * right, -2 * right * down), -1) * even[..., None]
    across, along = FULL
    full = across - (across - along) * np.linalg.norm(_mean_axes(axes, weight, WINDOW), axis=-1)
    fill = _blurred(np.sqrt(squared), WINDOW) ** 2 / np.maximum(energy, _TINY)
    brushed = (energy >= SLOPE**2) & (fill >= FILLED * full)
    if not brushed.any():
        return Brushwork(0.0, (0.0,) * len(WINDOWS), 0.0, 0.0)
    means = [_mean_axes(axes, weight, window)[brushed] for window in WINDOWS]
    coherence = tuple(float(np.linalg.norm(mean, axis=-1).mean()) for mean in means)
    prevailing = means[0].mean(0)
    alignment = float(np.linalg.norm(prevailing)) / max(coherence[0], _TINY)
    angle = -math.degrees(math.atan2(prevailing[1], prevailing[0])) / 2 % HALF_TURN
    return Brushwork(float(brushed.mean()), coherence, alignment, angle)


def _mean_axes(axes: NDArray[Any], weight: _Floats, window: float) -> NDArray[Any]:
    """Return the mean axis around each pixel, whose length is the coherence, 0 to 1."""
    return _blurred(axes, window) / np.maximum(_blurred(weight, window), _TINY)[..., None]


def _gray(painting: NDArray[np.uint8]) -> _Floats:
    height, width = painting.shape[:2]
    scale = SIDE / max(height, width)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    way = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    scaled = cv2.resize(np.ascontiguousarray(painting), size, interpolation=way)
    return cv2.cvtColor(scaled, cv2.COLOR_RGB2GRAY).astype(np.float32)


def _slopes(gray: _Floats) -> tuple[_Floats, _Floats]:
    """Return the slopes to the right and down, in levels per pixel."""
    soft = np.pad(_blurred(gray, SOFTENED), 1, mode="edge")
    right = (soft[1:-1, 2:] - soft[1:-1, :-2]) / 2
    down = (soft[2:, 1:-1] - soft[:-2, 1:-1]) / 2
    return right, down


def _blurred(values: _Floats, sigma: float) -> _Floats:
    return np.asarray(cv2.GaussianBlur(values, (0, 0), sigma, borderType=cv2.BORDER_REFLECT))
