"""Strength, colors and comparison are arithmetic that one can check by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from app.engine.post.blending import blend, fit_to, join_bands, peak_difference
from models.inference import two_resolution
from tests.conftest import picture
from utils.opencv import cv2

rng = np.random.default_rng(1)
source = rng.integers(0, 256, (48, 64, 3), np.uint8)
result = rng.integers(0, 256, (48, 64, 3), np.uint8)


def test_full_strength_is_the_result_and_none_is_the_source():
    np.testing.assert_array_equal(blend(result, source, 1.0, False), result)
    np.testing.assert_array_equal(blend(result, source, 0.0, False), source)


def test_half_strength_is_half_way():
    expected = (result.astype(float) + source) / 2
    assert np.abs(blend(result, source, 0.5, False) - expected).max() <= 0.5


def test_keeping_colors_keeps_the_luma_of_the_result_and_the_chroma_of_the_source():
    gray = np.full_like(source, 128)
    calm = np.full_like(source, (140, 110, 120))  # far from the limits, so nothing clips
    mixed = cv2.cvtColor(blend(gray, calm, 1.0, True), cv2.COLOR_RGB2YCrCb).astype(int)
    assert np.abs(mixed[..., 0] - 128).max() <= 1
    assert np.abs(mixed[..., 1:] - cv2.cvtColor(calm, cv2.COLOR_RGB2YCrCb)[..., 1:]).max() <= 1


def test_keeping_colors_weighs_red_green_and_blue_as_bt_601_does():
    colored = np.full_like(source, (150, 120, 100))  # red and blue swapped: a luma of 117
    calm = np.full_like(source, 128)
    kept = blend(colored, calm, 1.0, True)
    assert np.abs(kept.astype(float) - (0.299 * 150 + 0.587 * 120 + 0.114 * 100)).max() <= 1


def test_scaling_reuses_the_buffer_it_is_given():
    buffer = fit_to(source, (32, 24), np.empty((0, 0, 3), np.uint8))
    assert fit_to(source, (32, 24), buffer) is buffer
    assert fit_to(source, (16, 16), buffer).shape == (16, 16, 3)


def test_the_difference_is_the_largest_and_the_psnr_is_of_255():
    a, b = torch.zeros(4, 4, 3), torch.zeros(4, 4, 3)
    assert peak_difference(a, b) == (0.0, math.inf)
    b[0, 0, 0] = 48.0
    difference, psnr = peak_difference(a, b)
    assert difference == 48.0
    assert psnr == pytest.approx(10 * math.log10(255**2 / (48**2 / 48)))


def test_joined_bands_have_the_strokes_of_one_and_the_sharpness_of_the_other():
    strokes = picture(96, 64, seed=1)
    detail = picture(288, 192, seed=2)
    joined = join_bands(strokes, detail)
    assert joined.shape == detail.shape
    coarse = fit_to(joined, (96, 64), np.empty((0, 0, 3), np.uint8)).astype(int)
    assert np.abs(coarse - strokes).mean() < 6
    fine = np.abs(np.diff(joined.astype(int), axis=1)).mean()
    soft = fit_to(strokes, (288, 192), np.empty((0, 0, 3), np.uint8)).astype(int)
    assert fine > 1.2 * np.abs(np.diff(soft, axis=1)).mean()


def test_the_gpus_arithmetic_is_the_cpus():
    """PyTorch does the arithmetic, so any device shows it."""
    strokes, detail = picture(96, 64, seed=1), picture(331, 187, seed=2)
    on_gpu = two_resolution.join(torch.from_numpy(strokes)[None], torch.from_numpy(detail)[None])
    apart = np.abs(on_gpu[0].numpy().astype(int) - join_bands(strokes, detail))
    assert apart.max() <= 2
    assert apart.mean() < 0.2
    small = two_resolution.shrink(torch.from_numpy(detail)[None], 64, 96)[0].numpy().astype(int)
    assert np.abs(small - fit_to(detail, (96, 64), np.empty((0, 0, 3), np.uint8))).max() <= 1


def test_joining_two_sizes_of_one_picture_gives_the_larger_one():
    detail = fit_to(picture(96, 64), (288, 192), np.empty((0, 0, 3), np.uint8)).copy()
    strokes = fit_to(detail, (96, 64), np.empty((0, 0, 3), np.uint8))
    assert np.array_equal(join_bands(strokes, detail), detail)
