"""Paintings move with the scene as in their reference, with the same bits in every run."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from app.engine.post import moving_reference
from app.engine.post.moving_reference import ReferenceMover
from kernels.frames import moving
from kernels.frames.native_moving import NativeMover
from kernels.frames.smoothing import CELL
from kernels.frames.structs import MOST_PAINTINGS
from kernels.jit.libraries import FOLDER
from tests.kernels.frames.test_frames import moving_stream, stream
from tests.kernels.frames.test_native_smoothing import SIZES, constants

EVERY = 5  # frames from one painting to the next
STREAMS = [
    *((stream, size) for size in ((16, 16), (7, 9), (3, 2), (1, 1))),
    *((moving_stream, size) for size in SIZES),
]


def shown(mover, frames) -> list[np.ndarray]:
    pictures = []
    for number, (source, painting) in enumerate(frames):
        if number % EVERY == 0:
            mover.painted(painting, source)
        pictures.append(mover.shown(source))
    return pictures


@pytest.mark.parametrize(("make", "size"), STREAMS)
def test_paintings_move_as_in_the_reference(make, size, native_smoothing):
    frames = list(make(size))
    pairs = zip(
        shown(NativeMover(*size), frames), shown(ReferenceMover(*size), frames), strict=True
    )
    for got, expected in pairs:
        apart = np.abs(got.astype(int) - expected)
        if make is stream:
            assert apart.max() <= 2
        # A motion rounded the other way moves its surroundings by 1/32 of a pixel.
        assert (apart > 1).mean() < 0.02
        assert (apart > 4).mean() < 0.001


@pytest.mark.parametrize("size", [(90, 161), (256, 200)], ids=str)
def test_every_run_and_any_number_of_threads_move_to_the_same_bits(size, native_smoothing):
    frames, before = list(moving_stream(size, 12)), torch.get_num_threads()
    runs = []
    try:
        for number in (1, 2, 2, 3):
            torch.set_num_threads(number)
            runs.append(shown(NativeMover(*size), frames))
    finally:
        torch.set_num_threads(before)
    for other in runs[1:]:
        assert all((a == b).all() for a, b in zip(runs[0], other, strict=True))


def test_strided_pictures_are_read_and_left_as_they_are(native_smoothing):
    dense, strided = NativeMover(48, 64), NativeMover(48, 64)
    for source, painting in moving_stream((48, 64), 6):
        given = [np.repeat(each, 2, axis=1)[:, ::2] for each in (painting, source)]
        copies = [each.copy() for each in given]
        dense.painted(painting, source)
        strided.painted(*given)
        assert (strided.shown(given[1]) == dense.shown(source)).all()
        assert all((a == b).all() for a, b in zip(given, copies, strict=True))


@pytest.mark.parametrize("kind", [NativeMover, ReferenceMover])
def test_without_a_painting_there_is_nothing_to_show(kind, native_smoothing):
    with pytest.raises(ValueError, match="no painting"):
        kind(8, 12).shown(np.zeros((8, 12, 3), np.uint8))


def test_paintings_and_frames_of_another_size_are_refused(native_smoothing):
    one, right = NativeMover(8, 12), np.zeros((8, 12, 3), np.uint8)
    wrong = np.zeros((12, 8, 3), np.uint8)
    for pictures in ((right, wrong), (wrong, right)):
        with pytest.raises(ValueError, match="a stream of"):
            one.painted(*pictures)
    one.painted(right, right)
    with pytest.raises(ValueError, match="a stream of"):
        one.shown(wrong)


def test_the_reference_and_the_header_have_the_same_constants():
    assert constants("moving.h") | constants("window.h") == {
        "FadeFrames": moving.FADE,
        "Certain": moving.CERTAIN,
        "Unknown": moving.UNKNOWN,
        "Whole": moving.WHOLE,
        "Torn": moving.TORN,
        "LeastGain": moving.LEAST_GAIN,
        "FullGain": moving.FULL_GAIN,
        "SameTrust": moving.SAME_SCENE,
        "TrustReach": moving_reference.TRUST_WINDOW // 2,
        "MostPaintings": MOST_PAINTINGS,
    }
    motion = (FOLDER / "frames" / "native" / "smoothing" / "motion.h").read_text("utf-8")
    assert f"kCell = {CELL};" in motion
