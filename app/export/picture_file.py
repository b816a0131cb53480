"""Saving a result as a picture file with its source's profile, EXIF data and transparency."""

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
    """Write a result atomically, with its source's profile, EXIF data and transparency.

    The file has 16 bits per channel if the result does and the format supports it.

    Args:
        pixels: In the captured frame's size, see app.live.display_copy; None uses the result's own.

    Returns:
        The properties of the source that the file lacks, as clauses.

    Raises:
        ImageError: If the file cannot be written.
    """
    frame, source, ending = styled.frame, styled.source, path.suffix.lower()
    origin, alpha = frame.origin or NO_ORIGIN, frame.alpha
    deep = frame.deep if ending in DEEP else None
    # The source's share of the colors: all if they are kept, else its share of the blend.
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
