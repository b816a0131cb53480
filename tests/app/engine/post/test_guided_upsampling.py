"""A small result is upsampled to the frame's size with the frame's edges and its own strokes."""

from __future__ import annotations

import numpy as np
import pytest

from app.engine.post.guided_upsampling import KEPT, GuidedUpsampler
from tests.conftest import picture
from utils.opencv import cv2


def halves(width: int, height: int, left: tuple[int, ...], right: tuple[int, ...]) -> np.ndarray:
    """Return two plain fields that meet a third of the way across."""
    made = np.empty((height, width, 3), np.uint8)
    made[:, : width // 3], made[:, width // 3 :] = left, right
    return made


@pytest.fixture
def frame():
    return halves(300, 180, (40, 50, 60), (190, 180, 170))


def shrunk(pixels: np.ndarray, factor: int = 5) -> np.ndarray:
    height, width, _ = pixels.shape
    size = width // factor, height // factor
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)


def off_by(a: np.ndarray, b: np.ndarray | int) -> np.ndarray:
    return np.abs(a.astype(int) - b)


def test_an_edge_of_the_frame_is_sharp_in_the_result(frame):
    styled = halves(300, 180, (200, 30, 40), (250, 120, 30))  # the result of a large network
    small = shrunk(styled)
    guided = GuidedUpsampler().enlarge(small, shrunk(frame), frame, guided=True)
    smooth = GuidedUpsampler().enlarge(small, shrunk(frame), frame, guided=False)
    edge = np.s_[:, 94:106]
    assert off_by(guided, styled)[edge].mean() < off_by(smooth, styled)[edge].mean() / 5
    assert off_by(guided, styled).max() <= off_by(smooth, styled).max()


def test_there_are_no_halos_beside_an_edge(frame):
    styled = halves(300, 180, (200, 30, 40), (250, 120, 30))
    guided = GuidedUpsampler().enlarge(shrunk(styled), shrunk(frame), frame, guided=True)
    assert (guided <= styled.max(axis=(0, 1)).astype(int) + 4).all()
    assert (guided.astype(int) >= styled.min(axis=(0, 1)).astype(int) - 4).all()


def test_strokes_that_the_frame_does_not_know_stay(frame):
    rng = np.random.default_rng(3)
    strokes = rng.integers(0, 256, (36, 60, 3), np.uint8)
    plain = np.full_like(frame, 120)
    guided = GuidedUpsampler().enlarge(strokes, shrunk(plain), plain, guided=True)
    smooth = GuidedUpsampler().enlarge(strokes, shrunk(plain), plain, guided=False)
    assert off_by(guided, smooth).max() <= 1


def test_noise_of_the_sensor_is_not_carried_into_the_result():
    rng = np.random.default_rng(4)
    noisy = np.clip(rng.normal(120, 2, (180, 300, 3)), 0, 255).astype(np.uint8)
    styled = np.full((36, 60, 3), 90, np.uint8)
    assert (
        off_by(GuidedUpsampler().enlarge(styled, shrunk(noisy), noisy, guided=True), 90).max() <= 1
    )


def test_the_exact_result_is_reached_where_the_style_is_a_line_of_luma():
    frame = np.repeat(picture(300, 180)[..., :1], 3, axis=2)
    styled = (255 - frame.astype(int) * 3 // 4).astype(np.uint8)
    guided = GuidedUpsampler().enlarge(shrunk(styled, 3), shrunk(frame, 3), frame, guided=True)
    smooth = GuidedUpsampler().enlarge(shrunk(styled, 3), shrunk(frame, 3), frame, guided=False)
    assert off_by(guided, styled).mean() < off_by(smooth, styled).mean() / 2


@pytest.mark.parametrize("guided", [True, False], ids=["guided", "smooth"])
def test_a_result_of_the_frames_size_is_left_alone(frame, guided):
    assert GuidedUpsampler().enlarge(frame, frame, frame, guided=guided) is frame


@pytest.mark.parametrize("guided", [True, False], ids=["guided", "smooth"])
def test_a_result_larger_than_the_frame_is_scaled_down(frame, guided):
    large = picture(450, 270)
    assert GuidedUpsampler().enlarge(large, large, frame, guided=guided).shape == frame.shape


def test_results_do_not_share_memory(frame):
    enlarger = GuidedUpsampler()
    first = enlarger.enlarge(shrunk(frame), shrunk(frame), frame, guided=True)
    kept = first.copy()
    enlarger.enlarge(255 - shrunk(frame), shrunk(frame), frame, guided=True)
    np.testing.assert_array_equal(first, kept)


def test_buffers_for_a_large_picture_are_let_go():
    large = picture(2560, 1600)
    assert large.size > KEPT
    enlarger = GuidedUpsampler()
    enlarger.enlarge(shrunk(large), shrunk(large), large, guided=True)
    assert enlarger._triples.size == 0
