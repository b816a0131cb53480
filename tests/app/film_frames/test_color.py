"""The colors of a film are those that it names, or the player's defaults."""

from __future__ import annotations

import pytest

from app.film_frames.color import BT601, BT709, MATRICES, ColorError, colors_of
from tests.helpers.errors import refused
from utils.pyav import av

UNSUPPORTED = 11  # SMPTE ST 2085


def frame(width: int, height: int, matrix: int) -> av.VideoFrame:
    made = av.VideoFrame(width, height, "yuv420p")
    made.colorspace = matrix
    return made


@pytest.mark.parametrize("matrix", MATRICES)
def test_a_film_has_the_matrix_that_it_names(matrix):
    assert colors_of(frame(64, 48, matrix)).matrix == matrix


def test_a_film_that_names_none_has_that_of_its_size():
    assert colors_of(frame(64, 48, 2)).matrix == BT601
    assert colors_of(frame(1280, 48, 2)).matrix == BT709


def test_a_matrix_that_is_not_supported_is_named():
    with refused(ColorError, number=str(UNSUPPORTED)):
        colors_of(frame(64, 48, UNSUPPORTED))
