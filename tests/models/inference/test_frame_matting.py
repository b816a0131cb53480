"""A GPU that paints makes the mattes of the CPU, and mixes by them in the same way."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from app.engine.post.blending import fit_to
from kernels.frames.native_matting import NativeMatting, native_mixed
from models.inference.frame_matting import FrameMatting, PictureThere, Place
from tests.conftest import picture
from tests.kernels.frames.test_native_matting import SIZES, frames_of, scene_of

LIGHT = np.array((1.06, 1.07, 1.08), np.float32)


@pytest.fixture
def place(kernels) -> Place:
    return Place(kernels, torch.device("cpu"))


def test_a_stream_has_the_mattes_of_the_cpu(place, native_smoothing):
    size = SIZES[0]
    there, here = FrameMatting(place, *size), NativeMatting(*size)
    for each in (there, here):
        each.take_scene(*scene_of(*size))
    rng = np.random.default_rng(4)
    for number, frame in enumerate(frames_of(*size)):
        given = rng.uniform(0, 1, size).astype(np.float32)
        how = (LIGHT, None) if number % 2 else (None, given)
        rough = here.rough(frame, *how, first=number == 0)
        assert (there.rough(frame, *how, first=number == 0) == rough).all()
        changed = rough * 0.5
        slopes = there.downloaded(there.guided(changed))
        assert (slopes == np.stack(here.guided(changed), axis=-1)).all()


def test_frames_of_another_size_are_refused(place):
    with pytest.raises(ValueError, match="8, 9"):
        FrameMatting(place, 8, 8).rough(np.zeros((8, 9, 3), np.uint8), LIGHT, None, first=True)


@pytest.mark.parametrize("swapped", [False, True], ids=str)
def test_a_picture_is_mixed_where_it_is(swapped, kernels, place, native_smoothing):
    height, width = SIZES[1]
    frame = picture(2 * width, 2 * height)
    painted = frame[::-1].copy()
    rng = np.random.default_rng(3)
    slope = rng.uniform(-0.01, 0.01, (height, width)).astype(np.float32)
    base = rng.uniform(-0.5, 1.5, (height, width)).astype(np.float32)
    pictures = (torch.from_numpy(np.ascontiguousarray(each)).clone() for each in (frame, painted))
    there = PictureThere(kernels, *pictures)
    slopes = torch.from_numpy(np.stack([slope, base], axis=-1))
    made = there.mix(slopes, swapped=swapped, screen=(height, width))
    assert (made.pixels == native_mixed(painted, frame, slope, base, swapped=swapped)).all()
    window = fit_to(made.pixels, (width, height), np.empty((0, 0, 3), np.uint8)).astype(int)
    assert made.screen is not None
    assert np.abs(made.screen[..., 2::-1] - window).max() <= 1
    again = there.mix(slopes, swapped=swapped)
    assert again.screen is None
    assert (again.pixels == made.pixels).all(), "the picture was not mixed in place"
    assert there.place == place
