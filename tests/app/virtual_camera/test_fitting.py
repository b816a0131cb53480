"""Pictures of any size fit into the camera's without distortion."""

from __future__ import annotations

import numpy as np
import pytest

from app.virtual_camera.choice import parse_size
from app.virtual_camera.fitting import fitted, fitting_text
from tests.conftest import picture


def ring(width: int, height: int) -> np.ndarray:
    y, x = np.mgrid[:height, :width]
    inside = np.hypot(x - (width - 1) / 2, y - (height - 1) / 2) < min(width, height) / 4
    return np.where(inside[..., None], 200, 255).astype(np.uint8).repeat(3, 2)


def circle(pixels: np.ndarray) -> tuple[int, int]:
    inside = (pixels[..., 0] > 100) & (pixels[..., 0] < 230)
    return int(inside.any(0).sum()), int(inside.any(1).sum())


def test_a_picture_of_the_cameras_size_is_not_touched():
    pixels = picture(64, 48)
    assert fitted(pixels, 64, 48, "whole") is pixels
    assert fitting_text(64, 48, 64, 48, "whole") == ""


@pytest.mark.parametrize("size", [(400, 400), (800, 200), (200, 800), (1600, 1200), (90, 60)])
@pytest.mark.parametrize("fit", ["whole", "fill"])
def test_what_is_round_stays_round(size, fit):
    made = fitted(ring(*size), 640, 360, fit)
    assert made.shape == (360, 640, 3)
    wide, high = circle(made)
    assert wide == pytest.approx(high, abs=4)


def test_the_whole_picture_stands_in_the_middle_of_black_bars():
    made = fitted(np.full((100, 100, 3), 255, np.uint8), 640, 360, "whole")
    white = made[..., 0] == 255
    assert white[:, 140:500].all()
    assert not white[:, :140].any()
    assert not white[:, 500:].any()


def test_a_picture_that_fills_the_camera_loses_both_of_its_ends():
    pixels = np.zeros((100, 100, 3), np.uint8)
    pixels[:, :, 0] = np.arange(100, dtype=np.uint8)[:, None]  # each row contains its number
    made = fitted(pixels, 640, 360, "fill")
    assert made.min(axis=(0, 1))[0] == pytest.approx(22, abs=1)
    assert made.max(axis=(0, 1))[0] == pytest.approx(77, abs=1)


@pytest.mark.parametrize(
    ("size", "fit", "said"),
    [
        ((1920, 1080), "whole", "1920x1080 is scaled to 640x360"),
        ((480, 480), "whole", "480x480 is scaled to 640x360, with black bars at the sides"),
        ((800, 200), "whole", "800x200 is scaled to 640x360, with black bars above and below"),
        ((480, 480), "fill", "480x480 is scaled to 640x360, cut off above and below"),
        ((800, 200), "fill", "800x200 is scaled to 640x360, cut off at the sides"),
    ],
)
def test_it_is_said_how_a_picture_is_fitted(size, fit, said):
    columns, rows = size
    assert fitting_text(columns, rows, 640, 360, fit) == said


def test_a_size_is_read_as_it_is_written():
    assert parse_size("1280x720") == (1280, 720)


@pytest.mark.parametrize(
    "text", ["", "1280", "1280x", "1281x720", "0x0", "-2x4", "99999x2", "1x1x1"]
)
def test_what_no_camera_can_have_is_refused(text):
    with pytest.raises(ValueError, match="such as 1280x720"):
        parse_size(text)
