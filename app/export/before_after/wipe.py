"""Short films and animations in which a line wipes a picture into its painting."""

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
SECONDS = 6.0
_BEFORE_S, _AFTER_S = 1.0, 2.0  # how long the first and the last frame stand still
_FILM_FPS, _ANIMATION_FPS = 30, 20
_FILM_SIDE, _ANIMATION_SIDE = 1920, 640  # longest side in px
_SQUARE_SIDE = 1080  # px, of a square film
_COLORS = 255  # colors of an animation, besides the line's color


class WipeError(StyleForgeError):
    """Raised if a wipe cannot be written; the message gives the reason."""


def places(fps: int) -> list[float]:
    """Return the line's place per frame, from 1 (all picture) to 0, with a gentle start and end."""
    made: list[float] = []
    for number in range(round(SECONDS * fps)):
        passed = (number / fps - _BEFORE_S) / (SECONDS - _BEFORE_S - _AFTER_S)
        passed = min(1.0, max(0.0, passed))
        made.append(1.0 - passed * passed * (3 - 2 * passed))
    return made


def write_wipe(path: Path, before: Pixels, after: Pixels, *, square: bool = False) -> None:
    """Write a wipe atomically, from pictures [H, W, 3] uint8 RGB.

    Args:
        path: The file to write or replace. FILM: H.264, longest side at most 1920 px. ANIMATION: an
            endless GIF with 256 colors, longest side at most 640 px.
        square: Whether only the middle square is shown, of at most 1080 px in a film.

    Raises:
        WipeError: If the ending is neither of these, or no encoder is available.
        OSError: If the file cannot be written.
    """
    write = {FILM: _write_film, ANIMATION: _write_animation}.get(path.suffix.lower())
    if write is None:
        raise WipeError(
            tr(
                "a wipe must be a film ({film}) or an animation ({animation})",
                film=FILM,
                animation=ANIMATION,
            )
        )
    if square:
        before, after = _middle(before), _middle(after)
    with replacing(path) as temporary:
        write(temporary, before, after)


def _middle(pixels: Pixels) -> Pixels:
    """Return the square in the middle of a picture."""
    height, width = pixels.shape[:2]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    return pixels[top : top + side, left : left + side]


def _write_film(path: Path, before: Pixels, after: Pixels) -> None:
    height, width = before.shape[:2]
    longest = _SQUARE_SIDE if height == width else _FILM_SIDE
    before, after = _fitted(before, longest), _fitted(after, longest)
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
    # With one palette for all frames, only the strip that the line crosses changes between frames.
    # The file is little larger than both pictures.
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
    """Yield the frames, from the indexes [H, W] of both pictures and a palette of 256 colors."""
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
    """Shrink a picture until no side exceeds `longest`; encoders need even sides."""
    height, width = pixels.shape[:2]
    scale = min(1.0, longest / max(height, width))
    size = tuple(max(2, 2 * int(side * scale / 2)) for side in (width, height))
    if size == (width, height):
        return pixels
    small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.uint8)
