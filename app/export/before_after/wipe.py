"""A short film or animation in which a line wipes a picture into its painting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from app.errors import StyleForgeError
from app.export.before_after.composing import LINE, Pixels, line_width, split
from app.export.recording_file import RecordingFile
from utils.files.atomic import replacing
from utils.opencv import cv2
from utils.pyav import av
from utils.translation.texts import tr

FILM, ANIMATION = ".mp4", ".gif"
SECONDS = 4.0
_BEFORE_S, _AFTER_S = 0.7, 1.3  # how long each stands still
_FILM_FPS, _ANIMATION_FPS = 30, 20
_FILM_SIDE, _ANIMATION_SIDE = 1920, 640  # px, the longest side
_COLORS = 255  # of an animation, beside the line's


class WipeError(StyleForgeError):
    """A wipe cannot be written; the message says why."""


def places(fps: int) -> list[float]:
    """Where the line is in each frame: from 1, all of it the picture, to 0, all of it painted. It
    starts and ends gently.

    Args:
        fps: Frames a second.
    """
    made: list[float] = []
    for number in range(round(SECONDS * fps)):
        passed = (number / fps - _BEFORE_S) / (SECONDS - _BEFORE_S - _AFTER_S)
        passed = min(1.0, max(0.0, passed))
        made.append(1.0 - passed * passed * (3 - 2 * passed))
    return made


def write_wipe(path: Path, before: Pixels, after: Pixels) -> None:
    """Write a wipe, completely or not at all.

    Args:
        path: The file to write or replace: FILM, H.264 with its longest side at most 1920 px, or
            ANIMATION, a GIF of 256 colors with at most 640 px that is played for ever.
        before: [H, W, 3] uint8 RGB.
        after: The same.

    Raises:
        WipeError: The ending is another one, or there is no encoder.
        OSError: The file cannot be written.
    """
    write = {FILM: _write_film, ANIMATION: _write_animation}.get(path.suffix.lower())
    if write is None:
        raise WipeError(
            tr(
                "a wipe is a film ({film}) or an animation ({animation})",
                film=FILM,
                animation=ANIMATION,
            )
        )
    with replacing(path) as temporary:
        write(temporary, before, after)


def _write_film(path: Path, before: Pixels, after: Pixels) -> None:
    before, after = _fitted(before, _FILM_SIDE), _fitted(after, _FILM_SIDE)
    height, width = before.shape[:2]
    try:
        file = RecordingFile(path, (width, height), sound=False)
        try:
            for number, place in enumerate(places(_FILM_FPS)):
                file.write_frame(split(before, after, place), number / _FILM_FPS)
        finally:
            file.close()
    except av.error.FFmpegError as exc:
        raise WipeError(tr("the film could not be encoded: {error}", error=exc.strerror)) from exc


def _write_animation(path: Path, before: Pixels, after: Pixels) -> None:
    before, after = _fitted(before, _ANIMATION_SIDE), _fitted(after, _ANIMATION_SIDE)
    # One palette for all frames, so that from frame to frame nothing changes but where the line
    # was and is: a file holds little more than both pictures.
    both = Image.fromarray(np.concatenate([before, after]))
    palette = both.quantize(_COLORS, Image.Quantize.FASTOCTREE)
    indexes = np.asarray(both.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG))
    height = before.shape[0]
    colors = bytes(palette.getpalette() or b"")[: 3 * _COLORS].ljust(3 * _COLORS, b"\0")
    colors += LINE.tobytes()
    frames = _animation_frames(indexes[:height], indexes[height:], colors)
    first = next(frames)
    first.save(
        path,
        "GIF",
        save_all=True,
        append_images=frames,
        duration=1000 // _ANIMATION_FPS,
        loop=0,
        optimize=False,
    )


def _animation_frames(
    before: np.ndarray, after: np.ndarray, colors: bytes
) -> Iterator[Image.Image]:
    """The frames, of indexes [H, W] of both pictures and of a palette of 256 colors."""
    width = before.shape[1]
    half = line_width(width) // 2
    for place in places(_ANIMATION_FPS):
        middle = round(place * width)
        made = after.copy()
        made[:, :middle] = before[:, :middle]
        if 0 < middle < width:
            made[:, max(0, middle - half) : middle + half] = _COLORS
        image = Image.fromarray(made)
        image.putpalette(colors)
        yield image


def _fitted(pixels: Pixels, longest: int) -> Pixels:
    """The picture with no side longer than `longest` and both even, as encoders need them."""
    height, width = pixels.shape[:2]
    scale = min(1.0, longest / max(height, width))
    size = tuple(max(2, 2 * int(side * scale / 2)) for side in (width, height))
    if size == (width, height):
        return pixels
    small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.uint8)
