"""Smoothing steadies what stands still and leaves what moves alone."""

from __future__ import annotations

import numpy as np
import pytest

from app.engine.post.temporal_smoothing import TemporalSmoother
from tests.conftest import picture

rng = np.random.default_rng(7)
SCENE = picture(160, 120, seed=2)


def noisy(pixels: np.ndarray, sigma: float) -> np.ndarray:
    return np.clip(pixels + rng.normal(0, sigma, pixels.shape), 0, 255).astype(np.uint8)


def change(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a.astype(int) - b).mean())


def flicker(amount: float, sensor: float) -> float:
    """Of a still scene with sensor noise, whose result flickers three times as much."""
    smoother, results = TemporalSmoother(), []
    for _ in range(25):
        results.append(smoother.smooth(noisy(SCENE, 6), noisy(SCENE, sensor), amount))
    return change(results[-1], results[-2])


@pytest.mark.parametrize("sensor", [0.0, 2.0, 6.0])
def test_a_still_scene_flickers_less_the_more_it_is_smoothed(sensor):
    none, half, full = flicker(0.0, sensor), flicker(0.5, sensor), flicker(1.0, sensor)
    assert half < 0.75 * none
    assert full < 0.15 * none


def square_at(x: int, background: np.ndarray) -> np.ndarray:
    moved = background.copy()
    moved[40:70, x : x + 30] = (240, 30, 30)
    return moved


def test_what_moves_leaves_no_trail():
    smoother = TemporalSmoother()
    result = styled = 255 - SCENE
    for x in range(10, 90, 4):
        result = smoother.smooth(square_at(x, styled), square_at(x, SCENE), 1.0)
    assert np.abs(result.astype(int) - square_at(86, styled)).max() <= 6


def test_a_thin_thing_that_moves_leaves_no_trail():
    smoother = TemporalSmoother()
    result = line = SCENE
    for x in range(10, 90, 3):
        line = SCENE.copy()
        line[20:100, x : x + 2] = 255 - line[20:100, x : x + 2]
        result = smoother.smooth(line, line, 1.0)
    assert np.abs(result.astype(int) - line).max() <= 12


def test_a_slow_change_of_light_is_followed():
    smoother = TemporalSmoother()
    result = light = SCENE
    for step in range(120):
        light = np.full_like(SCENE, 60 + step)
        result = smoother.smooth(light, light, 1.0)
    assert np.abs(result.astype(int) - light).max() <= 16


def test_a_still_scene_comes_to_rest_at_the_newest_result():
    smoother = TemporalSmoother()
    result = smoother.smooth(SCENE, SCENE, 1.0)
    for _ in range(150):
        result = smoother.smooth(255 - SCENE, SCENE, 1.0)
    assert np.abs(result.astype(int) - (255 - SCENE)).max() <= 1


def test_a_cut_shows_the_new_picture_at_once():
    smoother = TemporalSmoother()
    smoother.smooth(SCENE, SCENE, 1.0)
    other = picture(160, 120, seed=9)[::-1].copy()
    np.testing.assert_array_equal(smoother.smooth(255 - other, other, 1.0), 255 - other)


@pytest.mark.parametrize("amount", [0.0, 0.3, 1.0])
def test_the_first_frame_is_the_result_itself(amount):
    np.testing.assert_array_equal(
        TemporalSmoother().smooth(255 - SCENE, SCENE, amount), 255 - SCENE
    )


def test_another_size_begins_anew():
    smoother = TemporalSmoother()
    smoother.smooth(SCENE, SCENE, 1.0)
    small = picture(80, 60)
    np.testing.assert_array_equal(smoother.smooth(small, small, 1.0), small)


def test_without_smoothing_the_result_is_unchanged():
    smoother = TemporalSmoother()
    smoother.smooth(SCENE, SCENE, 0.0)
    np.testing.assert_array_equal(smoother.smooth(255 - SCENE, SCENE, 0.0), 255 - SCENE)


def test_results_do_not_share_memory():
    smoother = TemporalSmoother()
    smoother.smooth(SCENE, SCENE, 1.0)
    first = smoother.smooth(noisy(SCENE, 3), SCENE, 1.0)
    kept = first.copy()
    smoother.smooth(255 - SCENE, SCENE, 1.0)
    np.testing.assert_array_equal(first, kept)


@pytest.mark.parametrize("size", [(16, 16), (17, 33), (3, 5)], ids=str)
def test_small_and_odd_sizes_are_smoothed(size):
    small = picture(*size)
    smoother = TemporalSmoother()
    smoother.smooth(small, small, 0.5)
    assert smoother.smooth(small, small, 0.5).shape == small.shape
