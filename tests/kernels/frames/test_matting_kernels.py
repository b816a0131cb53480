"""The kernels that make mattes, and mix by them, give the bits of the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kernels.frames import matting
from kernels.frames.native_matting import NativeMatting, native_mixed
from tests.conftest import picture
from tests.kernels.frames.test_frames import apart, on
from tests.kernels.frames.test_native_matting import SIZES, frames_of, scene_of
from tests.kernels.frames.test_native_smoothing import constants

LIGHT = np.array((1.06, 1.07, 1.08), np.float32)


def same_bits(there: torch.Tensor, here: np.ndarray) -> bool:
    return bool((there.cpu().numpy() == here).all())


def begun(kernels, device, size):
    """Return the mattes of a stream on the device and on the CPU, of one scene."""
    history, native = kernels.new_matting(*size, device), NativeMatting(*size)
    colors, noise = scene_of(*size)
    history.colors.copy_(torch.from_numpy(colors))
    history.noise.copy_(torch.from_numpy(noise))
    native.take_scene(colors, noise)
    return history, native


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_mattes_by_difference_have_the_bits_of_the_cpu(size, kernels, device, native_smoothing):
    history, native = begun(kernels, device, size)
    for number, frame in enumerate(frames_of(*size)):
        there = on(device, frame)
        kernels.rough_matte(history, there, LIGHT, first=number == 0)
        rough = native.rough(frame, LIGHT, None, first=number == 0)
        assert same_bits(history.rough, rough)
        kernels.guide_matte(history, there)
        assert same_bits(history.slopes, np.stack(native.guided(rough), axis=-1))
        assert 0.05 < rough.mean() < 0.95


def test_mattes_from_elsewhere_have_the_bits_of_the_cpu(kernels, device, native_smoothing):
    size = SIZES[1]
    history, native = begun(kernels, device, size)
    rng = np.random.default_rng(2)
    for number, frame in enumerate(frames_of(*size)):
        given = rng.uniform(0, 1, size).astype(np.float32)
        history.rough.copy_(torch.from_numpy(given))
        kernels.rough_matte(history, on(device, frame), None, first=number == 0)
        assert same_bits(history.rough, native.rough(frame, None, given, first=number == 0))


@pytest.mark.parametrize("swapped", [False, True], ids=str)
@pytest.mark.parametrize("factor", [1, 3], ids=str)
def test_pictures_are_mixed_as_on_the_cpu(swapped, factor, kernels, device, native_smoothing):
    height, width = SIZES[1]
    frame = picture(width * factor, height * factor)
    painted = frame[::-1].copy()
    rng = np.random.default_rng(3)
    slope = rng.uniform(-0.01, 0.01, (height, width)).astype(np.float32)
    base = rng.uniform(-0.5, 1.5, (height, width)).astype(np.float32)
    expected = native_mixed(painted, frame, slope, base, swapped=swapped)
    slopes = torch.from_numpy(np.stack([slope, base], axis=-1)).to(device)
    mixed = torch.zeros(*frame.shape, dtype=torch.uint8, device=device)
    kernels.mix(on(device, painted), on(device, frame), slopes, mixed, swapped=swapped)
    assert apart(mixed, expected).max() == 0
    over = on(device, painted)
    kernels.mix(over, on(device, frame), slopes, over, swapped=swapped)
    assert torch.equal(over, mixed)


def test_the_reference_and_the_header_have_the_same_constants():
    found = constants("matting.h")
    assert found == {
        "".join(word.capitalize() for word in name.split("_")): getattr(matting, name)
        for name in vars(matting)
        if name.isupper()
    }
