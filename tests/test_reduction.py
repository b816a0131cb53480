"""Large frames bring a small copy along, so that drawing them never holds the window up."""

from __future__ import annotations

import time

import numpy as np
import pytest

from app.frames import Frame
from app.reduction import MANY_PIXELS, with_small
from app.ui.viewport import fitted


def shaded(width: int, height: int) -> Frame:
    pixels = np.empty((height, width, 3), np.uint8)
    pixels[...] = np.linspace(0, 255, width)[None, :, None]
    pixels[..., 1] = np.linspace(255, 0, height)[:, None]
    return Frame(pixels, index=7)


def test_a_frame_of_few_pixels_is_left_as_it_is():
    frame = shaded(2000, 2000)
    assert with_small(frame) is frame


def test_a_small_copy_is_the_same_picture_with_few_pixels():
    frame = with_small(shaded(3001, 2003))
    assert frame.small is not None
    assert frame.small.width * frame.small.height <= MANY_PIXELS
    assert frame.small.index == 7
    assert with_small(frame) is frame, "made once"
    near = fitted(shaded(3001, 2003), 600, 400).pixels.astype(int)
    assert abs(fitted(frame, 600, 400).pixels.astype(int) - near).max() <= 3


def test_where_more_pixels_are_shown_than_the_copy_has_they_come_from_the_frame():
    frame = with_small(shaded(4000, 2000))
    sharp = fitted(frame, 3900, 1950)
    assert np.array_equal(sharp.pixels, fitted(shaded(4000, 2000), 3900, 1950).pixels)


def test_a_strip_without_height_is_left_as_it_is():
    frame = shaded(MANY_PIXELS + 1, 1)
    assert with_small(frame) is frame


@pytest.mark.parametrize("size", [(1280, 720), (1900, 1000)])
def test_drawing_24_megapixels_takes_the_copy(size):
    frame = with_small(shaded(6000, 4000))
    assert frame.small is not None
    started = time.perf_counter()
    assert (fitted(frame, *size).width, fitted(frame, *size).height) == size
    assert time.perf_counter() - started < 1, "generous: the copy has a sixth of the pixels"
