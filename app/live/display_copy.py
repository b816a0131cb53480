"""Smaller copies of large frames for display, and full-size results for files."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from app.engine.post.guided_upsampling import GuidedUpsampler, Pixels
from app.engine.result import StyledFrame
from app.frame import Frame
from app.frame_memory import new_pixels
from utils.opencv import cv2

MANY_PIXELS = 4_000_000  # about the pixels of a large window; smaller frames are scaled when drawn


def with_preview(frame: Frame) -> Frame:
    """Add a smaller copy (`Frame.preview`) to a frame of more than MANY_PIXELS.

    The factor is an integer. Return other frames, and frames with a `screen`, unchanged.
    """
    pixels = frame.width * frame.height
    if frame.preview is not None or frame.screen is not None or pixels <= MANY_PIXELS:
        return frame
    factor = math.ceil(math.sqrt(pixels / MANY_PIXELS))
    width, height = frame.width // factor, frame.height // factor
    if min(width, height) < 1:
        return frame
    even = frame.pixels[: height * factor, : width * factor]
    small = np.asarray(cv2.resize(even, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
    return replace(frame, preview=Frame(small, frame.index, frame.captured_at))


def for_display(frame: Frame, display: tuple[int, int], size: int | None = None) -> Frame:
    """Scale a frame down by an integer factor to about the size of the display.

    The copy has at most four times the pixels of the display. Return `frame` itself if the factor
    is 1 or there is no display.

    Args:
        display: (width, height) in pixels; (0, 0) if there is none.
        size: The network's long side, a lower limit for the copy; None follows the frame's.
    """
    if min(display) < 1:
        return frame
    factor = int(max(frame.width / display[0], frame.height / display[1]))
    if size is not None:
        factor = min(factor, max(frame.width, frame.height) // size)
    width, height = round(frame.width / max(1, factor)), round(frame.height / max(1, factor))
    if factor < 2 or min(width, height) < 1:
        return frame
    copy = new_pixels(height, width)
    cv2.resize(frame.pixels, (width, height), dst=copy, interpolation=cv2.INTER_AREA)
    return frame.with_pixels(copy)


def screen_size(frame: Frame, display: tuple[int, int]) -> tuple[int, int] | None:
    """Return the size in which a display shows a whole frame, rounded down as in Qt.

    `display` is (width, height) in pixels, (0, 0) for none. Return None if it enlarges the frame.
    """
    if min(display) < 1 or (display[0] > frame.width and display[1] > frame.height):
        return None
    across = display[1] * frame.width // frame.height
    if across <= display[0]:
        return across, display[1]
    return display[0], max(1, display[0] * frame.height // frame.width)


def full_size(styled: StyledFrame) -> Pixels:
    """Return a result as [H, W, 3] uint8 RGB in the size of the captured frame, for a file.

    A result made from a smaller copy for display is enlarged with the detail of the captured frame.
    """
    if styled.captured is None:
        return styled.frame.pixels
    guided = styled.config.upsampling == "guided"
    small, whole = styled.source.pixels, styled.captured.pixels
    return GuidedUpsampler().enlarge(styled.frame.pixels, small, whole, guided=guided)


def with_previews(styled: StyledFrame) -> StyledFrame:
    """Apply `with_preview` to every frame of a result; identical frames stay identical."""
    if styled.comparison is None and styled.frame.screen is not None:
        source = with_preview(styled.source)
        return styled if source is styled.source else replace(styled, source=source)
    made: dict[int, Frame] = {}

    def small(frame: Frame) -> Frame:
        if id(frame) not in made:
            made[id(frame)] = with_preview(frame)
        return made[id(frame)]

    compared = styled.comparison
    if compared is not None:
        compared = replace(compared, baseline=small(compared.baseline), fused=small(compared.fused))
    return replace(
        styled, frame=small(styled.frame), source=small(styled.source), comparison=compared
    )
