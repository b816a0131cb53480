"""The CPU makes displayed pictures as the portable code of a GPU does, bit for bit."""

from __future__ import annotations

import pytest
import torch

from app.engine.post.blending import Pixels
from kernels.frames.native_finishing import NativeFinisher
from tests.helpers.daily import matrix
from tests.kernels.frames.emulated import EmulatedFrameKernels
from tests.kernels.frames.test_frames import noise, scaled, smooth

FRAME = 180, 322
SIZES = [(90, 161), (60, 107), (121, 200), (7, 300), (1, 1), (2, 3), (200, 350)]
CPU = torch.device("cpu")


def finish(
    result: Pixels,
    source: Pixels | None,
    frame: Pixels,
    strength: float = 1.0,
    keep_colors: bool = False,
) -> Pixels:
    finisher = NativeFinisher(*result.shape[:2])
    return finisher.finish(result, source, frame, strength, keep_colors)


@matrix(
    {
        "make": [noise, smooth],
        "size": SIZES,
        "strength": [1.0, 0.6, 0.0],
        "keep_colors": [False, True],
        "detailed": [False, True],
    }
)
def test_a_displayed_picture_is_that_of_the_portable_code(
    make, size, strength, keep_colors, detailed, host, native_smoothing
):
    kernels = EmulatedFrameKernels(host)
    frame, result = make(*FRAME), make(*size, seed=1)
    source = scaled(frame, size)
    given, slopes = torch.from_numpy(result), None
    if detailed:
        slopes = kernels.new_slopes(size[0], size[1], CPU)
        kernels.slopes(given, torch.from_numpy(source), slopes)
    expected = torch.zeros(*FRAME, 3, dtype=torch.uint8)
    there = torch.from_numpy(frame)
    kernels.finish(there, given, slopes, expected, strength=strength, keep_colors=keep_colors)
    got = finish(result, source if detailed else None, frame, strength, keep_colors)
    assert (got == expected.numpy()).all()


def test_any_number_of_threads_makes_the_same_bits(native_smoothing):
    frame, result = noise(301, 517), smooth(77, 130)
    source, before = scaled(frame, (77, 130)), torch.get_num_threads()
    pictures = []
    try:
        for number in (1, 2, 3, 8):
            torch.set_num_threads(number)
            pictures.append(finish(result, source, frame, 0.7, True))
    finally:
        torch.set_num_threads(before)
    assert all((each == pictures[0]).all() for each in pictures[1:])


def test_a_picture_of_another_size_is_refused(native_smoothing):
    finisher = NativeFinisher(8, 9)
    frame, fits, other = noise(20, 20), noise(8, 9), noise(9, 8)
    with pytest.raises(ValueError, match="is not of"):
        finisher.finish(other, None, frame)
    with pytest.raises(ValueError, match="is not of"):
        finisher.finish(fits, other, frame)
    with pytest.raises(ValueError, match="is not RGB"):
        finisher.finish(fits, None, frame[..., 0])
