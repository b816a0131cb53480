"""Clipping, borders and PSNR match known values."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.evaluation.image_metrics import beyond, border, clipped, psnr, to_pixels, to_tensor
from tests.conftest import picture
from tests.models.evaluation.conftest import CPU

pytestmark = pytest.mark.usefixtures("one_thread")


def test_clipped_pixels_are_those_at_the_ends_of_the_range_as_seen() -> None:
    gray = torch.full((1, 3, 2, 5), 128.0)
    gray[0, 0, 0, 0] = 255.4  # displayed as 255, and above it
    gray[0, 1, 0, 1] = 0.3  # displayed as 0, but within the range
    gray[0, 2, 1, 2] = -40
    assert clipped(gray) == pytest.approx(0.3)
    assert beyond(gray) == pytest.approx(0.2)


def test_a_dark_frame_shows_in_the_border_and_texture_does_not() -> None:
    generator = torch.Generator().manual_seed(0)
    plain = 128 + 10 * torch.randn(1, 3, 96, 96, generator=generator)
    framed = plain.clone()
    framed[..., :4, :] -= 30
    framed[..., -4:, :] -= 30
    framed[..., :, :4] -= 30
    framed[..., :, -4:] -= 30
    unframed, dark = border(plain), border(framed)
    assert abs(unframed.step) < 1
    assert unframed.edge == pytest.approx(unframed.within, rel=0.3)
    assert dark.step == pytest.approx(unframed.step - 30, abs=0.5)
    assert dark.edge > 5 * unframed.edge
    assert dark.within == unframed.within
    with pytest.raises(ValueError, match="not 40x96"):
        border(plain[..., :40])


def test_psnr_is_that_of_pictures_within_range() -> None:
    gray = torch.full((1, 3, 4, 4), 100.0)
    assert psnr(gray + 1, gray) == pytest.approx(48.13, abs=0.01)
    assert psnr(gray + 200, gray + 400) == float("inf"), "both are white"


def test_pixels_survive_the_way_to_a_tensor_and_back() -> None:
    pixels = picture(20, 16)
    assert np.array_equal(to_pixels(to_tensor(pixels, CPU)), pixels)
