"""Reading of an animation's frames with their times and transparency."""

from __future__ import annotations

import time
from collections.abc import Generator
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from app.export.film.fault import FilmError, named
from app.export.film.info import MOST_PIXELS, FilmFrame, FilmInfo, FilmReading
from app.film_frames.color import RGB, Colors
from app.film_frames.extent import MOST_RATE
from app.film_frames.orientation import AS_STORED
from app.frame import Frame
from utils.images.animation import Animation, first_frame
from utils.images.conversion import alpha_of, to_rgb
from utils.images.opening import MALFORMED, ImageError, opened
from utils.translation.texts import tr

USUAL_DELAY = Fraction(1, 10)  # seconds; browsers use it for a frame without a delay


def animation_info(path: Path, animation: Animation) -> FilmInfo:
    """Open an animation and decode its first frame.

    Raises:
        FilmError: If the animation cannot be read or its frames are too large.
    """
    try:
        with opened(path, played=True) as image:
            image.load()
            width, height = image.size
    except ImageError as exc:
        raise FilmError(str(exc)) from exc
    if width * height > MOST_PIXELS:
        raise FilmError(
            tr(
                "{file} has frames of {width}x{height} pixels, too large for an animation",
                file=named(path),
                width=width,
                height=height,
            )
        )
    durations = _durations(animation)
    seconds = sum(durations) * animation.unit
    return FilmInfo(
        path,
        width,
        height,
        min(len(durations) / seconds, Fraction(MOST_RATE)),
        animation.unit,
        float(seconds),
        len(durations),
        True,
        Fraction(1),
        Colors(RGB, full=True),
        AS_STORED,
        animation=animation,
    )


def animation_frames(
    info: FilmInfo,
    animation: Animation,
    reading: FilmReading,
    after: int | None,
    until: int | None = None,
) -> Generator[FilmFrame]:
    """Read the frames later than `after` and earlier than `until`, in the film's time base.

    Args:
        reading: Receives the reason if reading ends early.
        after: None reads from the first frame on; `until` likewise up to the last one.

    Raises:
        FilmError: If the file can no longer be opened.
    """
    pts = 0
    try:
        with opened(info.path, played=True) as image:
            for number, duration in enumerate(_durations(animation), first_frame(image)):
                if until is not None and pts >= until:
                    return
                begun = time.perf_counter()
                try:
                    image.seek(number)  # frames build on earlier frames, so none can be skipped
                    image.load()
                    pixels, alpha = to_rgb(image), alpha_of(image)
                except (*MALFORMED, MemoryError):
                    reading.fault = tr("the next frame is damaged")
                    return
                if after is None or pts > after:
                    if info.whole is not None:
                        pixels = _scaled(pixels, info)
                        alpha = None if alpha is None else _scaled(alpha, info)
                    now = time.perf_counter()
                    taken = (now - begun) * 1e3
                    frame = Frame(pixels, captured_at=now, read_ms=taken, alpha=alpha)
                    yield FilmFrame(frame, pts, duration)
                pts += duration
    except ImageError as exc:
        raise FilmError(str(exc)) from exc


def _scaled(pixels: NDArray[np.uint8], info: FilmInfo) -> NDArray[np.uint8]:
    """Scale [H, W, 3] or [H, W] uint8 to the size of `info`."""
    image = Image.fromarray(pixels).resize((info.width, info.height), Image.Resampling.BILINEAR)
    return np.asarray(image)


def _durations(animation: Animation) -> list[int]:
    """Return the duration of each frame, in the animation's unit."""
    usual = int(USUAL_DELAY / animation.unit)
    return [delay or usual for delay in animation.delays]
