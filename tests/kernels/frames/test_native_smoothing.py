"""Smoothing on the CPU matches its reference, with the same bits in every run."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from app.engine.post import optical_flow, smoothing_reference
from app.engine.post.smoothing_reference import ReferenceStream
from kernels.driver import compiling
from kernels.driver.compiling import Job, Source
from kernels.frames import dense_motion, smoothing
from kernels.frames.native_smoothing import NativeStream
from kernels.jit import build
from kernels.jit.libraries import FOLDER, is_exact
from kernels.jit.nvrtc import Toolkit
from kernels.self_test.compile_worker import MOST_APART
from kernels.self_test.frames import self_test_smoothing
from kernels.table.registry import SMOOTHING, STYLE, statuses
from tests.helpers import native
from tests.kernels.frames.test_frames import moving_stream, stream

SIZES = [(90, 161), (120, 160), (61, 107), (33, 50)]
STREAMS = [
    *((stream, size) for size in (*SIZES, (7, 9), (3, 2), (1, 1))),
    *((moving_stream, size) for size in SIZES),
]


@pytest.mark.parametrize("amount", [0.3, pytest.param(0.5, marks=pytest.mark.full), 1.0])
@pytest.mark.parametrize(("make", "size"), STREAMS)
def test_a_stream_is_smoothed_as_by_the_reference(make, size, amount, native_smoothing):
    native, reference = NativeStream(*size), ReferenceStream(*size)
    for source, result in make(size):
        got = native.smooth(result, source, amount)
        apart = np.abs(got.astype(int) - reference.smooth(result, source, amount))
        if make is stream:
            assert apart.max() <= 1
        # A motion rounded the other way moves its surroundings by 1/32 of a cell.
        assert (apart > 1).mean() < 0.01
        assert (apart > 4).mean() < 0.001


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("size", [(90, 161), (256, 200)], ids=str)
def test_every_run_and_any_number_of_threads_give_the_same_bits(size, threads, native_smoothing):
    runs = []
    for number in (1, 2, 2, 3):
        threads(number)
        one = NativeStream(*size)
        runs.append([one.smooth(result, source, 0.7) for source, result in moving_stream(size, 12)])
    for other in runs[1:]:
        assert all((a == b).all() for a, b in zip(runs[0], other, strict=True))


def test_pictures_of_any_strides_are_read_and_left_as_they_are(native_smoothing):
    dense, strided = NativeStream(48, 64), NativeStream(48, 64)
    for source, result in moving_stream((48, 64), 6):
        given = [np.repeat(each, 2, axis=1)[:, ::2] for each in (result, source)]
        copies = [each.copy() for each in given]
        expected = dense.smooth(result, source, 0.5)
        assert (strided.smooth(given[0], given[1], 0.5) == expected).all()
        assert all((a == b).all() for a, b in zip(given, copies, strict=True))


def test_a_picture_of_another_size_is_refused(native_smoothing):
    one, picture = NativeStream(8, 12), np.zeros((12, 8, 3), np.uint8)
    with pytest.raises(ValueError, match="a stream of"):
        one.smooth(picture, picture, 1.0)


def test_the_self_test_accepts_this_and_no_other(native_smoothing):
    class Unmoved(NativeStream):
        def motion(self):
            return np.zeros_like(super().motion())

    class Unsmoothed(NativeStream):
        def smooth(self, result, source, amount):
            super().smooth(result, source, amount)
            return result

    assert self_test_smoothing(NativeStream) <= MOST_APART
    for other in (Unmoved, Unsmoothed):
        assert self_test_smoothing(other) > MOST_APART


def test_the_status_of_the_cpu_says_what_smooths(monkeypatch):
    for reason in ("", "no compiler"):
        monkeypatch.setitem(build._reasons, SMOOTHING, reason)
        (status,) = (each for each in statuses("cpu", STYLE) if each.name == SMOOTHING)
        assert (status.ready, status.reason) == (not reason, reason)
        assert ("OpenCV" in status.runs) is bool(reason)


def constants(header: str) -> dict[str, float]:
    """Return the numbers that a header of the frame kernels defines."""
    text = (FOLDER / "frames" / "native" / header).read_text("utf-8")
    found = re.findall(r"constexpr \w+ k(\w+) = ([\d.]+)f?[;,]", text)
    return {name: float(value) for name, value in found}


def test_the_reference_and_the_headers_have_the_same_constants():
    smooth, flow = constants("smooth.h"), constants("flow.h")
    assert {
        "MaxHistoryWeight": smoothing.MAX_HISTORY_WEIGHT,
        "Easing": smoothing.EASING,
        "MaxMovingWeight": smoothing_reference.MAX_MOVING_WEIGHT,
        "SlopeTolerance": smoothing_reference.SLOPE_TOLERANCE,
        "MinChange": smoothing_reference.MIN_CHANGE,
        "MaxNoise": smoothing_reference.MAX_NOISE,
        "SceneCutFraction": smoothing_reference.SCENE_CUT_FRACTION,
        "SameScene": smoothing_reference.ALIKE,
    }.items() <= smooth.items()
    assert {
        "StillCells": smoothing_reference.STILL_CELLS,
        "MotionSteps": smoothing_reference.STEPS_OF_MOTION,
        "FlowDamping": optical_flow.DAMPING,
        "FlowReach": optical_flow.WINDOW // 2,
        "MedianReach": optical_flow.MEDIAN // 2,
    }.items() <= flow.items()
    motion = (FOLDER / "frames" / "native" / "smoothing" / "motion.h").read_text("utf-8")
    assert f"kCell = {smoothing.CELL};" in motion
    assert f"kSmallestSide = {dense_motion.SMALLEST};" in motion


def test_both_devices_compile_it_without_contraction():
    toolkit = Toolkit(Path(), Path(), ())
    exact = dict.fromkeys(("smooth.cu", "moving.cu", "matting.cu"), True)
    compiled = {
        name: compiling._arguments(Job(Source(native.source(name), "75", ()), "sm_90", toolkit))[-1]
        for name in (*exact, "frame.cu", "conv2d.cu")
    }
    assert compiled == {**exact, "frame.cu": False, "conv2d.cu": False}
    assert is_exact(native.source("smoothing.cpp"))
