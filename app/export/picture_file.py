"""Saves a result as a picture file, with what the file of its source said beside the pixels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.engine.result import StyledFrame
from app.export.image_metadata import image_metadata
from utils.images.origin import NO_ORIGIN
from utils.images.profiles import srgb_profile
from utils.images.reading import BITS_LOST
from utils.images.writing import DEEP, KEEPS_ALPHA, write_pixels
from utils.translation.texts import mark, tr

ALPHA_LOST = mark("its transparent parts became white, since JPEG has no transparency")


def write_result(
    path: Path, styled: StyledFrame, pixels: NDArray[np.uint8] | None = None
) -> list[str]:
    """Write a result, completely or not at all: in the colors of its source's profile, with its
    EXIF data and transparency, and with 16 bits per channel where the result has them.

    Args:
        path: The file to write or replace; its ending gives the format.
        styled: The result.
        pixels: Its pixels in the size of a captured frame, see app.live.display_copy.full_size;
            None for those of the result.

    Returns:
        What of the source the file cannot hold, as clauses.

    Raises:
        ImageError: The file cannot be written.
    """
    frame, source, ending = styled.frame, styled.source, path.suffix.lower()
    origin, alpha = frame.origin or NO_ORIGIN, frame.alpha
    deep = frame.deep if ending in DEEP else None
    # With the source's own colors where they are kept, else as much as there is of the source.
    share = 1.0 if styled.config.keep_colors else 1 - styled.config.strength
    if deep is not None and source.deep is not None:
        colors: NDArray[np.uint8 | np.uint16] = origin.in_profile(deep, source.deep, share)
    else:
        shown = frame.pixels if pixels is None else pixels
        colors = origin.in_profile(shown, source.pixels, share)
    profile = origin.profile.data if origin.profile else None
    if profile is None and origin.tagged:
        profile = srgb_profile()
    about = image_metadata(styled)
    write_pixels(path, colors, about, alpha=alpha, exif=origin.exif, profile=profile)
    lost: list[str] = []
    if source.deep is not None and colors.dtype == np.uint8:
        lost.append(tr(BITS_LOST, bits=16))
    if alpha is not None and ending not in KEEPS_ALPHA:
        lost.append(tr(ALPHA_LOST))
    return lost
