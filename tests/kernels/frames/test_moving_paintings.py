"""The kernels that move paintings give the bits of the CPU, and refuse other constants."""

from __future__ import annotations

import ctypes
import json
from typing import cast

import numpy as np
import pytest
import torch

from kernels.driver.driver import Driver
from kernels.driver.images import ImageList
from kernels.frames.launchers import FrameKernels
from kernels.frames.moving import FADE
from kernels.frames.native_moving import NativeMover
from kernels.jit.errors import BuildError
from tests.kernels.frames.test_frames import apart, moving_stream, on, smooth, stream
from tests.kernels.frames.test_native_moving import EVERY

STREAMS = [
    *((stream, size) for size in ((16, 16), (7, 9), (3, 2), (1, 1), (61, 107))),
    *((moving_stream, size) for size in ((90, 161), (33, 50))),
    *(
        pytest.param(moving_stream, size, marks=pytest.mark.full)
        for size in ((120, 160), (48, 300), (256, 200))
    ),
]


@pytest.mark.parametrize(("make", "size"), STREAMS)
def test_paintings_move_as_on_the_cpu(make, size, kernels, device, native_smoothing):
    paintings, mover = kernels.new_paintings(*size, device), NativeMover(*size)
    moved, newest = 0, np.zeros(0)
    for number, (source, painting) in enumerate(make(size)):
        if number % EVERY == 0:
            kernels.painted(paintings, on(device, painting), on(device, source))
            mover.painted(painting, source)
            newest = painting
        kernels.move(paintings, on(device, source))
        expected = mover.shown(source)
        assert apart(paintings.shown, expected).max() == 0
        moved += int((expected != newest).any())
    assert moved > 3


def test_two_runs_move_to_the_same_bits(kernels, device):
    runs = []
    for _ in range(2):
        paintings = kernels.new_paintings(61, 107, device)
        for number, (source, painting) in enumerate(moving_stream((61, 107), 12)):
            if number % EVERY == 0:
                kernels.painted(paintings, on(device, painting), on(device, source))
            kernels.move(paintings, on(device, source))
        runs.append(paintings.shown.cpu())
    assert torch.equal(runs[0], runs[1])


def test_the_motion_of_a_painting_is_found_only_while_it_is_mixed_in(kernels, device):
    source = on(device, smooth(40, 60))
    paintings = kernels.new_paintings(40, 60, device)
    for _ in range(2):
        kernels.painted(paintings, 255 - source, source)
    counts = []
    for _ in range(FADE + 1):
        kernels.move(paintings, source)
        counts.append(len(paintings.motions))
    assert counts == [2] * (FADE - 1) + [1, 1]


def test_without_a_painting_no_kernel_runs(kernels, device):
    paintings = kernels.new_paintings(8, 12, device)
    with pytest.raises(ValueError, match="no painting"):
        kernels.move(paintings, torch.zeros(8, 12, 3, dtype=torch.uint8, device=device))
    assert not paintings.shown.any()


def test_pixels_of_the_painting_may_change_once_it_is_taken(kernels, device):
    source = on(device, smooth(40, 60))
    painting = 255 - source
    expected = painting.cpu().numpy().copy()
    paintings = kernels.new_paintings(40, 60, device)
    frame = source.clone()
    kernels.painted(paintings, painting, frame)
    painting.zero_()
    frame.zero_()
    kernels.move(paintings, source)
    assert (paintings.shown.cpu().numpy() == expected).all()


@pytest.mark.parametrize(
    ("part", "name"), [("moving", "FADE"), ("moving", "LEAST_GAIN"), ("matting", "SHADE")]
)
def test_a_library_whose_constants_differ_is_refused(part, name, host, tmp_path):
    host.styleforge_frames_abi.restype = ctypes.c_char_p
    told = json.loads(host.styleforge_frames_abi())
    told[part]["constants"][name] += 1
    images = ImageList("frames", "0" * 64, told, {}, ())
    with pytest.raises(BuildError, match=f"{part}.py .* {name}"):
        FrameKernels(images, tmp_path, (9, 0), 0, cast("Driver", None))


def test_a_cut_on_the_gpu_leaves_the_painting_as_it_is(kernels, device):
    before, after = smooth(48, 64, seed=0), smooth(48, 64, seed=1)
    paintings = kernels.new_paintings(48, 64, device)
    kernels.painted(paintings, on(device, np.flip(before, 0)), on(device, before))
    kernels.move(paintings, on(device, after))
    assert apart(paintings.shown, np.flip(before, 0)).max() == 0
