"""Properties of a film, its frames before and after painting, and its reading faults."""

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

MOST_PIXELS = 50_000_000  # per frame, because several are in memory; 8K has 33 million


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a film: frames from `begin` on that come before `end`, in the film's time base."""

    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class FilmInfo:
    """Properties of a film, known before it is read; sizes in pixels, of the upright picture.

    app.export.film.selection chooses a part of a film, a smaller size, or no sound.

    Attributes:
        rate: Average frames per second.
        time_base: The unit of its times, in seconds.
        seconds: Its length; 0 if the file does not state it.
        count: Number of frames to show, or an estimate from the length; 0 if both are unknown.
        aspect: Width of a pixel divided by its height.
        remarks: The losses, one clause each.
        animation: The delays of a GIF or WebP file; None for a film.
        timed: Whether the file itself states the picture's length in `seconds`.
        start: Start of the picture, in its time base. The first frames come later if they precede
            the first key frame and cannot be decoded.
        ticking: Whether each of its frames claims to last one tick, as in AVI files.
        span: The part to make; None for the whole film. `count` and `seconds` are the part's.
        whole: The size of the film's own frames if they are scaled to `width` and `height`; None
            if they are not.
        sound: Whether to copy its sound.
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
    span: Span | None = None
    whole: tuple[int, int] | None = None
    sound: bool = True

    @property
    def whole_size(self) -> tuple[int, int]:
        """Width and height of the film's own frames."""
        return self.whole or (self.width, self.height)

    @property
    def choice(self) -> str:
        """A description of the part, size and sound chosen from the film; "" for all of it."""
        everything = self.span is None and self.whole is None and self.sound
        return "" if everything else f"{self.span}, {self.whole}, {self.sound}"


@dataclass(frozen=True, slots=True, eq=False)
class FilmFrame:
    """A frame of a film, upright in RGB; its times are in the film's time base."""

    frame: Frame
    pts: int
    duration: int


@dataclass(slots=True)
class FilmReading(Damage):
    """Faults met while a film is read; `scaled` frames differed in size from the first."""

    scaled: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class StyledFilmFrame:
    """A frame to be encoded; its times are in the film's time base.

    Attributes:
        pixels: [H, W, 3] uint8 RGB; over white where transparent.
        alpha: [H, W] uint8; None if every pixel is opaque.
    """

    pixels: NDArray[np.uint8]
    pts: int
    duration: int
    alpha: NDArray[np.uint8] | None = None
