"""The kernels' results for a frame match OpenCV's within 1 of 255."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from app.engine.post.blending import Pixels, blend, fit_to
from app.engine.post.guided_upsampling import GuidedUpsampler
from kernels.frames.native_smoothing import NativeStream
from kernels.self_test.compile_worker import MOST_APART
from kernels.self_test.frames import self_test
from tests.helpers.daily import matrix
from utils.opencv import cv2

FRAME = 180, 322  # height, width
SMALL = {"half": (90, 161), "a third": (60, 107), "two thirds": (121, 200)}
ROUNDING = 2  # for the detail, whose luma is rounded before the multiplication


def noise(height: int, width: int, seed: int = 0) -> Pixels:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def smooth(height: int, width: int, seed: int = 0) -> Pixels:
    size = width, height
    enlarged = cv2.resize(noise(12, 20, seed), size, interpolation=cv2.INTER_CUBIC)
    return np.asarray(enlarged, np.uint8)


def scaled(pixels: Pixels, size: tuple[int, int]) -> Pixels:
    return fit_to(pixels, (size[1], size[0]), np.empty((0, 0, 3), np.uint8))


def on(device: torch.device, pixels: Pixels) -> torch.Tensor:
    return torch.from_numpy(pixels.copy()).to(device)


def apart(got: torch.Tensor, expected: Pixels) -> np.ndarray:
    return np.abs(got.cpu().numpy().astype(int) - expected)


@pytest.mark.parametrize("make", [noise, smooth])
@pytest.mark.parametrize(
    "size", [*SMALL.values(), (360, 644), (200, 358), (45, 80), FRAME, (16, 16)], ids=str
)
def test_a_frame_is_scaled_as_opencv_scales_it(make, size, kernels, device):
    frame = make(*FRAME)
    small = torch.zeros(*size, 3, dtype=torch.uint8, device=device)
    kernels.resize(on(device, frame), small)
    difference = apart(small, scaled(frame, size))
    assert difference.max() <= 1
    assert (difference > 0).mean() < 0.01


@pytest.mark.parametrize("size", [(90, 161), (61, 107), FRAME, (360, 644)], ids=str)
def test_a_window_paints_the_scaled_frame_in_32_bits(size, kernels, device):
    frame = on(device, noise(*FRAME))
    small = torch.zeros(*size, 3, dtype=torch.uint8, device=device)
    screen = torch.zeros(*size, 4, dtype=torch.uint8, device=device)
    kernels.resize(frame, small)
    kernels.screen(frame, screen)
    assert (screen[..., :3].flip(-1) == small).all()
    assert (screen[..., 3] == 255).all()


@matrix(
    {
        "make": [noise, smooth],
        "size": [*SMALL.values(), FRAME],
        "strength": [1.0, 0.6, 0.0],
        "keep_colors": [False, True],
        "guided": [False, True],
    }
)
def test_a_result_is_enlarged_and_mixed_as_opencv_does(
    make, size, strength, keep_colors, guided, kernels, device
):
    frame, result = make(*FRAME), smooth(*size, seed=1)
    small = scaled(frame, size)
    large = GuidedUpsampler().enlarge(result, small, frame, guided=guided)
    expected = blend(large, frame, strength, keep_colors)
    there, styled = on(device, frame), on(device, result)
    slopes = None
    if guided and result.size < frame.size:
        slopes = kernels.new_slopes(*size, device)
        kernels.slopes(styled, on(device, small), slopes)
    picture = torch.zeros_like(there)
    kernels.finish(there, styled, slopes, picture, strength=strength, keep_colors=keep_colors)
    difference = apart(picture, expected)
    assert difference.max() <= (ROUNDING if slopes is not None and make is noise else 1)
    assert (difference > 1).sum() <= 40
    assert (difference > 0).mean() < 0.01


def stream(size: tuple[int, int], length: int = 30):
    """Yield sources and results: noise, a moving patch, and a cut."""
    rng = np.random.default_rng(3)
    scene = smooth(*size)
    for number in range(length):
        if number == length * 2 // 3:
            scene = 255 - scene
        source = scene.astype(int) + rng.integers(-3, 4, scene.shape)
        across = max(size[1] // 4, 1)
        at = number * 3 % max(size[1] - across, 1)
        if 8 < number < 16:
            source[: size[0] // 3 + 1, at : at + across] += 90
        result = 255 - source + rng.integers(-20, 21, scene.shape)
        yield np.clip(source, 0, 255).astype(np.uint8), np.clip(result, 0, 255).astype(np.uint8)


@pytest.mark.parametrize("amount", [pytest.param(0.3, marks=pytest.mark.full), 1.0])
@pytest.mark.parametrize("size", [(90, 161), (61, 107), (7, 9), (3, 2)], ids=str)
def test_a_stream_is_smoothed_as_on_the_cpu(size, amount, kernels, device, native_smoothing):
    history, smoother = kernels.new_history(*size, device), NativeStream(*size)
    changed = 0
    for source, result in stream(size):
        kernels.smooth(history, on(device, source), on(device, result), amount)
        expected = smoother.smooth(result, source, amount)
        assert apart(history.smoothed, expected).max() == 0
        changed += int((expected != result).any())
    assert changed > 10


def moving_stream(size: tuple[int, int], length: int = 24):
    """Yield sources and results: a panned scene with a moving thing, a flash, a fade, a cut."""
    height, width = size
    rng = np.random.default_rng(5)
    wide = cv2.GaussianBlur(noise(2 * height + 80, 2 * width + 80, seed=6), (0, 0), 1.5)
    for number in range(length):
        down, right = (2 * number, number) if number < 18 else (height, width - number)
        source = wide[down : down + height, right : right + width].astype(int)
        source = 2 * (source - 128) + 128
        at = 4 * number % max(width - width // 5, 1)
        source[height // 3 : height // 2, at : at + width // 5] = 220
        if number in (6, 7, 12):
            source = np.full_like(source, 250)
        if number > 20:
            source = source * (30 - number) // 10
        source += rng.integers(-2, 3, source.shape)
        result = 255 - source + rng.integers(-20, 21, source.shape)
        yield np.clip(source, 0, 255).astype(np.uint8), np.clip(result, 0, 255).astype(np.uint8)


@pytest.mark.parametrize(
    "amount", [0.1, *(pytest.param(amount, marks=pytest.mark.full) for amount in (0.5, 1.0))]
)
@pytest.mark.parametrize("size", [(90, 161), (120, 160), (33, 50), (48, 300)], ids=str)
def test_a_moving_scene_is_smoothed_as_on_the_cpu(size, amount, kernels, device, native_smoothing):
    history, smoother = kernels.new_history(*size, device), NativeStream(*size)
    changed = 0
    for source, result in moving_stream(size):
        kernels.smooth(history, on(device, source), on(device, result), amount)
        expected = smoother.smooth(result, source, amount)
        assert apart(history.smoothed, expected).max() == 0
        changed += int((expected != result).any())
    assert changed > 10


@pytest.mark.parametrize("size", [(45, 80), (60, 81), (16, 16), (9, 70), (2, 3)], ids=str)
def test_the_motion_is_that_of_the_cpu(size, kernels, device, native_smoothing):
    height, width = size
    history = kernels.new_history(2 * height, 2 * width, device)
    stream = NativeStream(2 * height, 2 * width)
    wide = np.asarray(
        cv2.GaussianBlur(noise(2 * height + 6, 2 * width + 6, 7), (0, 0), 3), np.uint8
    )
    views = [wide[6 - by : 2 * height + 6 - by, by : 2 * width + by] for by in (0, 4)]
    for view in views:
        kernels.smooth(history, on(device, view), on(device, view), 1.0)
        stream.smooth(view, view, 1.0)
    assert (history.flow.cpu().numpy() == stream.motion()).all()
    assert stream.motion().any()


@pytest.mark.parametrize("amount", [0.5, pytest.param(1.0, marks=pytest.mark.full)])
def test_all_controls_together_make_the_picture_of_the_cpu(
    amount, kernels, device, native_smoothing
):
    small, strength = (90, 161), 0.7
    history, smoother = kernels.new_history(*small, device), NativeStream(*small)
    slopes, upsampler = kernels.new_slopes(*small, device), GuidedUpsampler()
    most = []
    for source, result in moving_stream(small):
        frame = np.asarray(cv2.resize(source, FRAME[::-1], interpolation=cv2.INTER_CUBIC), np.uint8)
        there = on(device, frame)
        kernels.smooth(history, on(device, source), on(device, result), amount)
        kernels.slopes(history.smoothed, on(device, source), slopes)
        picture = torch.zeros_like(there)
        kernels.finish(
            there, history.smoothed, slopes, picture, strength=strength, keep_colors=True
        )
        smoothed = smoother.smooth(result, source, amount)
        large = upsampler.enlarge(smoothed, source, frame, guided=True)
        most.append(apart(picture, blend(large, frame, strength, True)).max())
    assert max(most) <= 1


def test_a_stream_that_is_forgotten_begins_anew(kernels, device):
    history = kernels.new_history(40, 60, device)
    frames = list(stream((40, 60), 4))
    for source, result in frames:
        history.forget()
        kernels.smooth(history, on(device, source), on(device, result), 1.0)
        assert apart(history.smoothed, result).max() == 0


def test_the_self_test_accepts_these_kernels_and_no_others(kernels, device, monkeypatch):
    assert self_test(kernels, device) <= MOST_APART
    for name in (
        "resize",
        "slopes",
        "finish",
        "smooth",
        "texture",
        "enlarge_texture",
        "move",
        "rough_matte",
        "guide_matte",
        "mix",
    ):
        with monkeypatch.context() as patched:
            patched.setattr(kernels, name, lambda *_, **__: None)
            assert self_test(kernels, device) > MOST_APART, name


def test_two_runs_are_bit_equal(kernels, device):
    runs = []
    for _ in range(2):
        history = kernels.new_history(61, 107, device)
        for source, result in moving_stream((61, 107), 12):
            kernels.smooth(history, on(device, source), on(device, result), 0.7)
        runs.append(history.smoothed.cpu())
    assert torch.equal(runs[0], runs[1])
