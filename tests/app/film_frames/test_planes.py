"""Luma and chroma convert to RGB and back as the standards define."""

from __future__ import annotations

import numpy as np
import pytest

from app.film_frames.color import BT601, BT709, BT2020, FCC, MATRICES, SMPTE240M
from app.film_frames.planes import Matrix, plane_pixels

EACH = pytest.mark.parametrize("matrix", [BT601, BT709, BT2020, FCC, SMPTE240M])
RANGES = pytest.mark.parametrize("full", [False, True], ids=["limited", "full"])


def made(matrix: int, full: bool) -> Matrix:
    red, blue, _ = MATRICES[matrix]
    return Matrix(red, blue, full=full)


def coded(matrix: int, full: bool, rgb: np.ndarray) -> np.ndarray:
    """Return luma and chroma of colors [N, 3] by the standards' formulas, not rounded."""
    red, blue, _ = MATRICES[matrix]
    luma = rgb @ np.array([red, 1 - red - blue, blue])
    chroma = [(rgb[:, 2] - luma) / (2 * (1 - blue)), (rgb[:, 0] - luma) / (2 * (1 - red))]
    scale, black = ((1, 1), 0) if full else ((219 / 255, 224 / 255), 16)
    return np.column_stack([luma * scale[0] + black, *(128 + each * scale[1] for each in chroma)])


@EACH
@RANGES
def test_colors_are_read_and_written_by_the_formulas(matrix, full):
    rgb = np.random.default_rng(0).integers(0, 256, (64 * 64, 3)).astype(np.uint8)
    exact = coded(matrix, full, rgb.astype(float))
    planes = [np.zeros((64, 64), np.uint8) for _ in range(3)]
    made(matrix, full).from_rgb(rgb.reshape(64, 64, 3), planes)
    written = np.column_stack([plane.ravel() for plane in planes])
    assert np.abs(written - np.clip(exact, 0, 255)).max() < 0.51
    back = np.zeros((64, 64, 3), np.uint8)
    made(matrix, full).to_rgb(planes, back)
    assert np.abs(back.reshape(-1, 3).astype(int) - rgb).max() <= 2


@pytest.mark.parametrize("bits", [10, 12])
@RANGES
def test_more_bits_are_read_by_the_formulas_too(full, bits):
    rgb = np.random.default_rng(0).integers(0, 256, (4096, 3)).astype(float)
    most, step = (1 << bits) - 1, 1 << (bits - 8)
    exact = coded(BT2020, full, rgb)
    if full:
        middle = np.array([0, 128, 128])
        numbers = (exact - middle) * most / 255 + middle * step
    else:
        numbers = exact * step
    planes = [each.reshape(64, 64) for each in np.round(numbers).clip(0, most).astype(np.uint16).T]
    red, blue, _ = MATRICES[BT2020]
    back = np.zeros((64, 64, 3), np.uint8)
    Matrix(red, blue, full=full, bits=bits).to_rgb(planes, back)
    assert np.abs(back.reshape(-1, 3) - rgb).max() <= 1


@EACH
@RANGES
def test_grays_survive_any_number_of_copies(matrix, full):
    matrix_of = made(matrix, full)
    gray = np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 2, 0).repeat(3, 2)
    planes = [np.zeros((2, 256), np.uint8), *np.zeros((2, 1, 128), np.uint8)]
    rgb, luma = gray, None
    for _ in range(4):
        matrix_of.from_rgb(rgb, planes)
        assert luma is None or np.array_equal(planes[0], luma)
        assert (planes[1] == 128).all()
        assert (planes[2] == 128).all()
        luma, rgb = planes[0].copy(), np.empty_like(gray)
        matrix_of.to_rgb(planes, rgb)
        assert np.abs(rgb.astype(int) - gray).max() <= 1


def test_chroma_of_half_the_size_is_spread_without_steps():
    planes = [np.full((4, 8), 120, np.uint8), np.full((2, 4), 128, np.uint8)]
    slope = np.array([[100, 120, 140, 160]] * 2, np.uint8)
    rgb = np.zeros((4, 8, 3), np.uint8)
    made(BT709, True).to_rgb([*planes, slope], rgb)
    assert (np.diff(rgb[0, 1:7, 0].astype(int)) > 5).all()


def test_a_plane_is_its_pixels_without_what_fills_its_lines():
    memory = bytearray(range(24))
    pixels = plane_pixels(memoryview(memory), 8, 5, 3)
    assert pixels.tolist() == [[0, 1, 2, 3, 4], [8, 9, 10, 11, 12], [16, 17, 18, 19, 20]]
    pixels[1, 1] = 99
    assert memory[9] == 99
