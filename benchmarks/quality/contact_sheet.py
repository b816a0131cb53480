"""Labeled contact sheets of pictures, one row per photograph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from models.training.run import fit
from utils.images.writing import write_pixels

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB

GAP = 8  # pixels between cells
FONT_SIZE = 18  # pixels high
PAPER, INK = (250, 250, 250), (30, 30, 30)


def make_sheet(
    columns: Sequence[str], rows: Sequence[tuple[str, Sequence[Pixels]]], cell: int
) -> Pixels:
    """Draw a contact sheet, [H, W, 3] uint8 RGB, with rows and columns as large as their pictures.

    Args:
        cell: Maximum long side of a picture, in pixels; larger pictures are scaled down.
    """
    font = ImageFont.load_default(FONT_SIZE)
    shrunk = [(label, [fit(picture, cell) for picture in pictures]) for label, pictures in rows]
    heights = [max(picture.shape[0] for picture in pictures) for _, pictures in shrunk]
    widths = [round(font.getlength(column)) for column in columns]
    for _, pictures in shrunk:
        wide = [picture.shape[1] for picture in pictures]
        widths[: len(wide)] = map(max, wide, widths)
    margin = round(max((font.getlength(label) for label, _ in rows), default=0)) + 2 * GAP
    lefts = [margin + sum(widths[:n]) + n * GAP for n in range(len(widths) + 1)]
    head = FONT_SIZE + 2 * GAP
    page = Image.new("RGB", (lefts[-1], head + sum(heights) + GAP * len(heights)), PAPER)
    draw = ImageDraw.Draw(page)
    for column, left, width in zip(columns, lefts, widths, strict=False):
        draw.text((left + width // 2, head // 2), column, INK, font, anchor="mm")
    top = head
    for (label, pictures), height in zip(shrunk, heights, strict=True):
        draw.text((GAP, top + height // 2), label, INK, font, anchor="lm")
        for picture, left, width in zip(pictures, lefts, widths, strict=False):
            high, wide = picture.shape[:2]
            place = left + (width - wide) // 2, top + (height - high) // 2
            page.paste(Image.fromarray(picture), place)
        top += height + GAP
    return np.asarray(page)


def save_sheet(
    path: Path,
    columns: Sequence[str],
    rows: Sequence[tuple[str, Sequence[Pixels]]],
    cell: int,
    quality: int = 95,
) -> None:
    """Write the sheet as PNG, JPEG or WebP; `quality` is for the last two, 0 to 100.

    Raises:
        ImageError: If the file cannot be written.
    """
    write_pixels(path, make_sheet(columns, rows, cell), quality=quality)
