"""Helpers that write and read animations with Pillow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

DELAYS = (40, 50, 60, 170, 80, 90)  # milliseconds
COLORS = ((200, 30, 30), (30, 200, 30), (30, 30, 200), (200, 200, 30), (30, 200, 200), (90, 90, 90))


def flat(number: int, *, clear: bool = False, soft: bool = False) -> np.ndarray:
    """Return a frame of one color, [48, 64, 4] uint8 RGBA, with a white corner.

    `clear` cuts a moving hole, `soft` adds a half transparent stripe.
    """
    pixels = np.zeros((48, 64, 4), np.uint8)
    pixels[..., :3], pixels[..., 3] = COLORS[number], 255
    pixels[:12, :12] = 255
    if clear:
        pixels[20:30, 20 + 4 * number : 30 + 4 * number, 3] = 0
    if soft:
        pixels[34:40, :, 3] = 100
    return pixels


def write_animation(
    path: Path,
    delays: Sequence[int] = DELAYS,
    loop: int | None = 0,
    *,
    clear: bool = False,
    soft: bool = False,
) -> Path:
    """Write a GIF, WebP, PNG or AVIF; an AVIF always loops forever.

    Args:
        path: The file.
        delays: The duration of each frame in milliseconds.
        loop: Pillow's `loop`: 0 forever, None for none.
        clear: Make a part transparent.
        soft: Make a part half transparent.
    """
    made = [flat(number, clear=clear, soft=soft) for number in range(len(delays))]
    first, *others = [
        Image.fromarray(pixels if clear or soft else pixels[..., :3]) for pixels in made
    ]
    formats: dict[str, dict[str, Any]] = {
        ".webp": {"lossless": True},
        ".avif": {"quality": 100, "subsampling": "4:4:4"},
    }
    how = formats.get(path.suffix, {"disposal": 1 if path.suffix == ".png" else 2})
    if loop is not None:
        how["loop"] = loop
    first.save(path, save_all=True, append_images=others, duration=list(delays), **how)
    return path


def frames_of(path: Path) -> list[np.ndarray]:
    """Return the frames of an animation, each [H, W, 4] uint8 RGBA."""
    with Image.open(path) as image:
        made = []
        for number in range(getattr(image, "n_frames", 1)):
            image.seek(number)
            made.append(np.asarray(image.convert("RGBA")))
        return made
