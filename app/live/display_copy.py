"""Smaller copies of large frames for a window to draw, and the way back to the full size."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from app.engine.guided_upsampling import GuidedUpsampler, Pixels
from app.engine.result import StyledFrame
from app.frame import Frame
from utils.opencv import cv2

MANY_PIXELS = 4_000_000  # no more than a large window shows; fewer are scaled as they are drawn


def with_preview(frame: Frame) -> Frame:
    """`frame` with `small`, by a whole factor, where it has many pixels."""
    pixels = frame.width * frame.height
    if frame.small is not None or pixels <= MANY_PIXELS:
        return frame
    factor = math.ceil(math.sqrt(pixels / MANY_PIXELS))
    width, height = frame.width // factor, frame.height // factor
    if min(width, height) < 1:
        return frame
    even = frame.pixels[: height * factor, : width * factor]
    small = np.asarray(cv2.resize(even, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
    return replace(frame, small=Frame(small, frame.index, frame.captured_at))


def for_display(frame: Frame, display: tuple[int, int]) -> Frame:
    """`frame` with as many pixels as a `display` of (width, height) pixels can show, or up to
    four times as many: the copy is smaller by a whole factor. The frame itself where that factor
    is 1 and where there is no display, (0, 0)."""
    if min(display) < 1:
        return frame
    factor = int(max(frame.width / display[0], frame.height / display[1]))
    width, height = round(frame.width / max(1, factor)), round(frame.height / max(1, factor))
    if factor < 2 or min(width, height) < 1:
        return frame
    copy = cv2.resize(frame.pixels, (width, height), interpolation=cv2.INTER_AREA)
    return frame.with_pixels(np.asarray(copy, np.uint8))


def full_size(styled: StyledFrame) -> Pixels:
    """The pixels (H, W, 3, uint8) of `styled` in the size that was captured, for a file: those
    it has, or, where it was made for a display, enlarged with the detail of the frame."""
    if styled.captured is None:
        return styled.frame.pixels
    guided = styled.config.upsampling == "guided"
    small, whole = styled.source.pixels, styled.captured.pixels
    return GuidedUpsampler().enlarge(styled.frame.pixels, small, whole, guided=guided)


def with_previews(styled: StyledFrame) -> StyledFrame:
    """`styled` with small copies of every large frame in it; what was one frame stays one."""
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
