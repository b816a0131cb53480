"""Smoothing steadies still and moving scenes, and leaves no trail."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean

import numpy as np
import pytest

from app.engine.post import temporal_smoothing
from app.engine.post.smoothing_reference import ReferenceStream
from app.engine.post.temporal_smoothing import TemporalSmoother
from kernels.frames.native_smoothing import NativeStream
from kernels.frames.stream_state import StateError
from tests.conftest import picture
from tests.helpers.daily import some_daily

rng = np.random.default_rng(7)
SCENE = picture(160, 120, seed=2)


@pytest.fixture(autouse=True, params=["native", "reference"])
def smoothed_by(request, monkeypatch) -> str:
    if request.param == "native":
        request.getfixturevalue("native_smoothing")
    monkeypatch.setattr(temporal_smoothing, "is_ready", lambda: request.param == "native")
    return request.param


def noisy(pixels: np.ndarray, sigma: float) -> np.ndarray:
    return np.clip(pixels + rng.normal(0, sigma, pixels.shape), 0, 255).astype(np.uint8)


def change(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a.astype(int) - b).mean())


def flicker(amount: float, sensor: float) -> float:
    """Return the flicker of a still scene, with noise of 6 in the result, `sensor` in the frame."""
    smoother, results = TemporalSmoother(), []
    for _ in range(25):
        results.append(smoother.smooth(noisy(SCENE, 6), noisy(SCENE, sensor), amount))
    return change(results[-1], results[-2])


@pytest.mark.parametrize("sensor", some_daily([0.0, 2.0, 6.0], 1))
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
    apart = np.abs(result.astype(int) - square_at(86, styled)).max(axis=2)
    assert apart.max() <= 16  # on a pixel between two colors
    assert (apart > 6).sum() <= 4


def test_a_thin_thing_that_moves_leaves_no_trail():
    smoother = TemporalSmoother()
    result = line = SCENE
    for x in range(10, 90, 3):
        line = SCENE.copy()
        line[20:100, x : x + 2] = 255 - line[20:100, x : x + 2]
        result = smoother.smooth(line, line, 1.0)
    assert np.abs(result.astype(int) - line).max() <= 12


def panned(frame: int) -> np.ndarray:
    """Return a scene that moves by 3 pixels to the left and 2 up in each frame."""
    wide = picture(320, 240, seed=5)
    return wide[20 + 2 * frame : 140 + 2 * frame, 20 + 3 * frame : 180 + 3 * frame].copy()


def panned_flicker(amount: float) -> float:
    """Return the flicker of a result along the motion of the scene."""
    smoother, results = TemporalSmoother(), []
    for frame in range(15):
        scene = panned(frame)
        results.append(smoother.smooth(noisy(255 - scene, 6), noisy(scene, 2), amount))
    before, now = (each[8:-8, 8:-8] for each in results[-2:])
    return change(before[2:, 3:], now[:-2, :-3])


def test_a_scene_that_moves_is_steadied_as_well():
    none, half, full = (panned_flicker(amount) for amount in (0.0, 0.5, 1.0))
    assert half < 0.4 * none
    assert full <= half + 0.1


def test_a_scene_that_moves_stays_sharp():
    smoother, result = TemporalSmoother(), SCENE
    for frame in range(20):
        scene = panned(frame)
        result = smoother.smooth(255 - scene, scene, 1.0)
    apart = np.abs(result.astype(int) - (255 - panned(19)))[8:-8, 8:-8]
    assert apart.mean() < 1


def test_what_comes_from_behind_a_thing_that_moves_is_not_covered_by_it():
    smoother, scene, result = TemporalSmoother(), SCENE, SCENE
    for frame in range(14):
        scene = panned(frame)
        scene[30:80, 10 + 6 * frame : 50 + 6 * frame] = (230, 20, 40)
        result = smoother.smooth(255 - scene, scene, 1.0)
    behind = slice(30, 80), slice(50, 86)  # the path of the thing over the last six frames
    apart = np.abs(result.astype(int) - (255 - scene)).max(axis=2)
    assert np.quantile(apart[behind], 0.99) < 16
    assert np.median(apart[behind]) <= 1


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


OTHER = np.ascontiguousarray(255 - SCENE[:, ::-1])  # a different scene


def test_a_cut_is_not_smoothed_across():
    smoother, shown = TemporalSmoother(), SCENE
    for _ in range(5):
        smoother.smooth(noisy(SCENE, 3), SCENE, 1.0)
    for _ in range(2):
        shown = noisy(OTHER, 3)
        np.testing.assert_array_equal(smoother.smooth(shown, OTHER, 1.0), shown)
    later = smoother.smooth(noisy(OTHER, 3), OTHER, 1.0)
    assert change(later, shown) < 0.3


def test_a_flash_is_shown_and_does_not_end_the_stream():
    smoother, before = TemporalSmoother(), SCENE
    for _ in range(10):
        before = smoother.smooth(noisy(SCENE, 6), SCENE, 1.0)
    flash = np.full_like(SCENE, 250)
    np.testing.assert_array_equal(smoother.smooth(flash, flash, 1.0), flash)
    assert change(smoother.smooth(noisy(SCENE, 6), SCENE, 1.0), before) < 0.5


def test_two_flashes_apart_do_not_end_the_stream():
    smoother, before, after = TemporalSmoother(), SCENE, SCENE
    flash = np.full_like(SCENE, 250)
    for _ in range(4):
        before = smoother.smooth(noisy(SCENE, 6), SCENE, 1.0)
    for _ in range(2):
        smoother.smooth(flash, flash, 1.0)
        after = smoother.smooth(noisy(SCENE, 6), SCENE, 1.0)
    assert change(after, before) < 2


def test_a_fade_is_no_cut():
    """Smoothing continues where a fade stays dark."""
    smoother = TemporalSmoother()
    lit = np.full_like(SCENE, 0)
    lit[:, 30:] = 60 + SCENE[:, 30:] // 2
    results = []
    for step in range(8):
        faded = (lit * (1 - 0.12 * step)).astype(np.uint8)
        result = 255 - faded.astype(int) + rng.normal(0, 6, faded.shape)
        shown = np.clip(result, 0, 255).astype(np.uint8)
        shown[:, :16] = noisy(np.full_like(shown[:, :16], 120), 6)
        results.append(smoother.smooth(shown, faded, 1.0))
    pairs = list(pairwise(result[40:80, :12] for result in results[2:]))
    assert fmean(change(*pair) for pair in pairs) < 5  # the noise itself changes by 6.8


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


def test_a_stream_goes_on_by_native_kernels_once_they_are_built(native_smoothing, monkeypatch):
    smoother, ready = TemporalSmoother(), False
    monkeypatch.setattr(temporal_smoothing, "is_ready", lambda: ready)
    smoother.smooth(SCENE, SCENE, 1.0)
    assert isinstance(smoother._stream, ReferenceStream)
    ready = True
    other = 255 - SCENE
    np.testing.assert_array_equal(smoother.smooth(other, SCENE, 1.0), other)
    assert isinstance(smoother._stream, NativeStream)
    assert change(smoother.smooth(SCENE, SCENE, 1.0), other) < 0.1 * change(SCENE, other)


def test_a_stream_goes_on_in_another_smoother_and_not_by_other_kernels(smoothed_by, monkeypatch):
    whole, first, second = TemporalSmoother(), TemporalSmoother(), TemporalSmoother()
    assert first.state() == {}
    given = [(noisy(SCENE, 6), noisy(np.roll(SCENE, 2 * n, 1), 2)) for n in range(8)]
    expected = [whole.smooth(*pair, 0.8) for pair in given]
    for pair in given[:5]:
        first.smooth(*pair, 0.8)
    state = first.state()
    second.restore(state)
    first.smooth(*given[0], 0.8)  # the saved state is a copy
    for pair, wanted in zip(given[5:], expected[5:], strict=True):
        np.testing.assert_array_equal(second.smooth(*pair, 0.8), wanted)
    monkeypatch.setattr(temporal_smoothing, "is_ready", lambda: smoothed_by != "native")
    with pytest.raises(StateError, match="other kernels"):
        second.restore(state)


@pytest.mark.parametrize("size", [(16, 16), (17, 33), (3, 5)], ids=str)
def test_small_and_odd_sizes_are_smoothed(size):
    small = picture(*size)
    smoother = TemporalSmoother()
    smoother.smooth(small, small, 0.5)
    assert smoother.smooth(small, small, 0.5).shape == small.shape
