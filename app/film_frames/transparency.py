"""The detection of transparent film frames."""

from __future__ import annotations

import numpy as np

from app.film_frames.planes import plane_pixels
from utils.pyav import av

_PALETTE = "pal8"
_COLOR_BYTES = 4  # per palette color; the last byte is alpha


def has_alpha(frame: av.VideoFrame) -> bool:
    """Check whether a frame stores alpha; a palette always does."""
    return frame.format.name == _PALETTE or any(each.is_alpha for each in frame.format.components)


def may_be_transparent(frame: av.VideoFrame) -> bool:
    """Check whether a frame, or another one of its film, may be transparent."""
    if frame.format.name != _PALETTE:
        return has_alpha(frame)
    indices, palette = frame.planes
    used = plane_pixels(memoryview(indices), indices.line_size, frame.width, frame.height)
    alpha = np.frombuffer(memoryview(palette), np.uint8)[_COLOR_BYTES - 1 :: _COLOR_BYTES]
    return bool((alpha[np.unique(used)] < 255).any())
