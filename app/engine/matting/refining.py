"""Refines rough mattes: closed holes, edges where the picture has them, softened edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.engine.matting.reference import ReferenceMatting, matte_at, mixed
from app.engine.matting.scene import Floats, Pixels
from kernels.frames.native_matting import NativeMatting, native_mixed
from kernels.frames.native_smoothing import is_ready
from utils.opencv import cv2

COARSE = 4  # pixels per pixel of the copy in which holes are closed
LARGEST_HOLE = 0.01  # share of the picture; larger ones show the background, as under an arm
LEAST_PERSON = 0.002  # share of the picture; smaller spots are noise
FEATHER = 0.04  # of the long side: deviation of the widest soft edge


def new_matting(height: int, width: int) -> NativeMatting | ReferenceMatting:
    return (NativeMatting if is_ready() else ReferenceMatting)(height, width)


@dataclass(frozen=True, slots=True, eq=False)
class Matte:
    """A matte as a linear function of the luma, so that it has the edges of the full frame.

    Attributes:
        slope: [h, w] float32, per level of luma (0-255).
        base: [h, w] float32.
    """

    slope: Floats
    base: Floats

    def at(self, frame: Pixels) -> Floats:
        """Return the matte for a frame, [H, W] float32 from 0 to 1."""
        return matte_at(frame, self.slope, self.base)

    def mixed(self, painted: Pixels, frame: Pixels, *, swapped: bool) -> Pixels:
        """Mix a painting with its frame, both [H, W, 3].

        Args:
            swapped: Whether the painting is where the matte is 0, and not where it is 1.
        """
        mix = native_mixed if is_ready() else mixed
        return mix(painted, frame, self.slope, self.base, swapped=swapped)


def refined(
    matting: NativeMatting | ReferenceMatting, rough: Floats, small: Pixels, feather: float
) -> Matte:
    """Refine the rough matte of the newest frame that `matting` has seen.

    Args:
        small: That frame, [h, w, 3].
        feather: 0 for edges as sharp as the picture's, 1 for the softest.
    """
    matte = Matte(*matting.guided(closed(rough)))
    return softened(matte.at(small), feather) if feather > 0 else matte


def closed(rough: Floats) -> Floats:
    """Fill small holes in a person and remove spots that are too small to be one."""
    height, width = rough.shape
    few = max(1, width // COARSE), max(1, height // COARSE)
    coarse = cv2.resize(rough, few, interpolation=cv2.INTER_AREA)
    person = (coarse > 0.5).astype(np.uint8)
    square = np.ones((3, 3), np.uint8)
    person = np.asarray(cv2.morphologyEx(person, cv2.MORPH_CLOSE, square), np.uint8)
    parts = _small_parts(1 - person, LARGEST_HOLE), _small_parts(person, LEAST_PERSON)
    if not any(part.any() for part in parts):
        return rough
    grown = [cv2.dilate(part, square).astype(np.float32) for part in parts]
    filled, cleared = (cv2.resize(each, (width, height)) for each in grown)
    return np.asarray(np.maximum(rough, filled) * (1 - cleared), np.float32)


def softened(matte: Floats, feather: float) -> Matte:
    """Return a matte, [h, w], with edges softened by 0 to 1, which follow no picture."""
    if feather > 0:
        deviation = max(0.3, feather * FEATHER * max(matte.shape))
        matte = np.asarray(cv2.GaussianBlur(matte, (0, 0), deviation), np.float32)
    return Matte(np.zeros_like(matte), matte)


def _small_parts(mask: Pixels, share: float) -> Pixels:
    """Return the parts of a mask, [h, w] of 0 and 1, that are smaller than a share of it."""
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=4)
    small = np.asarray(stats[:, cv2.CC_STAT_AREA] < share * mask.size, np.uint8)
    small[0] = 0  # the rest
    return small[np.asarray(labels, np.int32)] if count > 1 else np.zeros_like(mask)
