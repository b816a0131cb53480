"""Measures the flicker of a styled film, compensated for the motion of its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.engine.post.optical_flow import displaced
from utils.opencv import cv2

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB
_Floats = NDArray[np.float32]

# pixels, and share of the squared motion: a larger round trip is an occlusion
CONSISTENT = 0.5, 0.01
BOUNDARY = 0.3  # pixels per pixel: a motion that changes this much has an edge there
REACH = 2  # pixels around a boundary that are also excluded
CUT_FRACTION = 0.3  # of the pixels: frames are not compared if both show fewer
_CUBIC = cv2.INTER_CUBIC


@dataclass(frozen=True, slots=True)
class FilmFlicker:
    """Mean absolute differences, in levels (0-255), of successive frames along the source's motion.

    Attributes:
        outputs: The difference of each styled film.
        seen: The share of the pixels that were compared: pixels visible in both frames.
        compared: Number of pairs of frames compared.
        cuts: Number of pairs of frames not compared, since they show different scenes.
    """

    source: float
    outputs: tuple[float, ...]
    seen: float
    compared: int
    cuts: int

    @property
    def ratios(self) -> tuple[float, ...]:
        """Each styled film's change per change of the source; 1 passes it on unchanged."""
        return tuple(output / self.source for output in self.outputs)


class FilmFlickerMeter:
    """A comparison of each frame with the one before it, where both show the same.

    Motion is the optical flow of the source by the method of Kroeger et al. (2016,
    arXiv:1603.03590) in OpenCV, between consecutive frames in both directions. A pixel is occluded
    if the way there and back does not end where it began (Sundaram et al. 2010). Pixels are also
    excluded at edges of the motion, which a flow does not locate exactly, and where it leads out of
    the picture.
    """

    def __init__(self) -> None:
        self._flow = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
        self._before: tuple[Pixels, list[Pixels]] | None = None
        self._sums: NDArray[np.float64] = np.zeros(0)  # of the means of pairs, the source first
        self._seen = 0.0
        self._compared = self._cuts = 0

    def add(self, source: Pixels, outputs: Sequence[Pixels]) -> None:
        """Add the next frame of the source, and the same frame of each styled film.

        Raises:
            ValueError: If sizes or their number differ.
        """
        films = [source, *outputs]
        before, self._before = self._before, (source, list(outputs))
        if before is None:
            self._sums = np.zeros(len(films))
        earlier = films if before is None else [before[0], *before[1]]
        if len(films) != len(earlier) or {each.shape for each in (*films, *earlier)} != {
            source.shape
        }:
            raise ValueError("the films to compare must have frames of one size")
        if before is None:
            return
        motion, seen = backward_motion(earlier[0], source, self._flow)
        share = float(seen.mean())
        if share < CUT_FRACTION:
            self._cuts += 1
            return
        self._compared += 1
        self._seen += share
        self._sums += [
            difference_along(motion, seen, old, new)
            for old, new in zip(earlier, films, strict=True)
        ]

    @property
    def flicker(self) -> FilmFlicker:
        """Return the means over all compared frames.

        Raises:
            ValueError: If no frames were compared, or the source does not change.
        """
        if not self._compared:
            raise ValueError("the film has no two frames of the same scene, so it has no flicker")
        source, *outputs = (float(each) for each in self._sums / self._compared)
        if source == 0:
            raise ValueError(
                "all frames of the film are equal, so there is no change to compare with"
            )
        seen = self._seen / self._compared
        return FilmFlicker(source, tuple(outputs), seen, self._compared, self._cuts)


def backward_motion(
    before: Pixels, now: Pixels, flow: cv2.DISOpticalFlow
) -> tuple[_Floats, NDArray[np.bool_]]:
    """Find the position of each pixel in the frame before, by a flow of gray pictures.

    Return the motion to it, [H, W, 2], in pixels right and down, and the pixels seen in both,
    [H, W].
    """
    old, new = (cv2.cvtColor(each, cv2.COLOR_RGB2GRAY) for each in (before, now))
    backward = np.asarray(flow.calc(new, old, np.empty(0)), np.float32)
    forward = np.asarray(flow.calc(old, new, np.empty(0)), np.float32)
    height, width = old.shape
    x, y = displaced(backward)
    inside = (x >= 0) & (y >= 0) & (x <= width - 1) & (y <= height - 1)
    back = np.asarray(cv2.remap(forward, x, y, cv2.INTER_LINEAR), np.float32)
    apart = np.square(backward + back).sum(2)
    length = np.square(backward).sum(2) + np.square(back).sum(2)
    consistent = apart <= CONSISTENT[0] ** 2 + CONSISTENT[1] * length
    slopes = [np.gradient(backward[..., k], axis=axis) for k in (0, 1) for axis in (0, 1)]
    edge = (np.square(slopes).sum(0) > BOUNDARY**2).astype(np.uint8)
    side = 2 * REACH + 1
    near_edge = cv2.dilate(edge, np.ones((side, side), np.uint8)) > 0
    return backward, inside & consistent & ~near_edge


def difference_along(
    motion: _Floats, seen: NDArray[np.bool_], before: Pixels, now: Pixels
) -> float:
    """Compute the mean absolute difference of two frames along the motion, in levels, 0-255.

    `motion` is [H, W, 2], from `now` to `before` in pixels right and down; `seen` is [H, W], the
    pixels to compare, at least one.
    """
    moved = cv2.remap(before, *displaced(motion), _CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return float(np.asarray(cv2.absdiff(moved, now))[seen].mean(dtype=np.float64))
