"""What is known of a film, its frames before and after painting, and what went wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.film_frames.color import Colors
from app.film_frames.decoding import Damage
from app.film_frames.orientation import Orientation
from app.frame import Frame
from utils.images.animation import Animation

MOST_PIXELS = 50_000_000  # of a frame, of which several are held; 8K has 33 million


@dataclass(frozen=True, slots=True)
class FilmInfo:
    """What is known of a film before it is read.

    Attributes:
        path: Its file.
        width: Of the upright picture, in pixels.
        height: Of the upright picture, in pixels.
        rate: Frames a second, on average.
        time_base: The unit of its times, in seconds.
        seconds: How long it is; 0 where the file does not tell.
        count: How many frames are to be shown, or nearly so by its length; 0 where it says nothing.
        counted: Whether `count` is the file's own.
        aspect: How many times a pixel is wider than high.
        colors: What its numbers mean.
        orientation: How its pixels become upright.
        remarks: What is not kept, one clause each.
        animation: How it moves, of a GIF or WebP file; None of a film.
        timed: Whether `seconds` is the file's own number for the picture.
        start: When the picture begins, in its time base. Its first frames come later where they
            cannot be decoded, since they precede the first key frame.
        ticking: Whether each of its frames claims to last one tick, as frames of an AVI file do.
    """

    path: Path
    width: int
    height: int
    rate: Fraction
    time_base: Fraction
    seconds: float
    count: int
    counted: bool
    aspect: Fraction
    colors: Colors
    orientation: Orientation
    remarks: tuple[str, ...] = ()
    animation: Animation | None = None
    timed: bool = False
    start: int = 0
    ticking: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class FilmFrame:
    """A frame of a film.

    Attributes:
        frame: Upright, in RGB.
        pts: When it is shown, in the film's time base.
        duration: For how long, in the film's time base.
    """

    frame: Frame
    pts: int
    duration: int


@dataclass(slots=True)
class FilmReading(Damage):
    """What went wrong while a film was read.

    Attributes:
        scaled: How many frames had another size than the first.
    """

    scaled: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class StyledFilmFrame:
    """A frame to be encoded; its times are in the film's time base.

    Attributes:
        pixels: [H, W, 3] uint8 RGB; over white where it is transparent.
        pts: When it is shown.
        duration: For how long.
        alpha: [H, W] uint8; None where every pixel is opaque.
    """

    pixels: NDArray[np.uint8]
    pts: int
    duration: int
    alpha: NDArray[np.uint8] | None = None
