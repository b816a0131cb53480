"""Saving a picture and its painting as one picture file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from app.engine.result import StyledFrame
from app.export.before_after.composing import Pixels, composed
from app.export.image_metadata import image_metadata
from utils.images.profiles import srgb_profile
from utils.images.reading import BITS_LOST
from utils.images.writing import write_pixels
from utils.translation.texts import tr


def before_and_after(styled: StyledFrame, pixels: Pixels | None = None) -> tuple[Pixels, Pixels]:
    """Return the picture and its painting in the same size, [H, W, 3] uint8 RGB each.

    `pixels` is the result in the captured frame's size, see app.live.display_copy.full_size.
    """
    after = styled.frame.pixels if pixels is None else pixels
    wanted = after.shape
    frames = [each for each in (styled.captured, styled.source) if each is not None]
    before = next(each.pixels for each in frames if each.pixels.shape == wanted)
    return before, after


def write_before_after(
    path: Path, styled: StyledFrame, arrangement: str, at: float = 0.5, pixels: Pixels | None = None
) -> list[str]:
    """Write a result with its source, atomically, in sRGB, 8 bits; the ending selects the format.

    Returns:
        The properties of the source that the file lacks, as clauses.

    Raises:
        ImageError: If the file cannot be written.
    """
    before, after = before_and_after(styled, pixels)
    made = composed(before, after, arrangement, at)
    write_pixels(path, np.ascontiguousarray(made), image_metadata(styled), profile=srgb_profile())
    return [tr(BITS_LOST, bits=16)] if styled.source.deep is not None else []
