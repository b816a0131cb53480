"""Smaller copies of large frames, for a window to draw: made where nobody waits for them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from app.frames import Frame
from app.styled import Styled
from utils.opencv import cv2

MANY_PIXELS = 4_000_000  # no more than a large window shows; fewer are scaled as they are drawn


def with_small(frame: Frame) -> Frame:
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


def for_window(styled: Styled) -> Styled:
    """`styled` with small copies of every large frame in it; what was one frame stays one."""
    made: dict[int, Frame] = {}

    def small(frame: Frame) -> Frame:
        if id(frame) not in made:
            made[id(frame)] = with_small(frame)
        return made[id(frame)]

    compared = styled.comparison
    if compared is not None:
        compared = replace(compared, baseline=small(compared.baseline), fused=small(compared.fused))
    return replace(
        styled, frame=small(styled.frame), source=small(styled.source), comparison=compared
    )
