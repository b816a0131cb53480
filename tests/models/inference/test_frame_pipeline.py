"""Reports based on a picture's range of values, and the ownership of a result's memory.

test_gpu.py checks the frames that went through a GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from models.inference import frame_pipeline
from models.inference.frame_pipeline import SingleFrameRunner, is_broken
from tests.conftest import picture


def ranges(low: float, high: float, *, finite: bool = True) -> torch.Tensor:
    """Return ranges as the kernels store them: integers in the order of the floats."""
    bits = np.array([low, high], np.float32).view(np.int32)
    orders = np.where(bits >= 0, bits, bits ^ np.int32(0x7FFFFFFF)).tolist()
    return torch.tensor([[*orders, int(not finite)]], dtype=torch.int32)


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 255.0), (-103.5, -2.25), (-1e-30, 1e-30), (-300.0, 400.0)]
)
def test_a_picture_of_several_finite_values_is_good(low, high):
    assert not is_broken(ranges(low, high))


@pytest.mark.parametrize(
    "broken",
    [
        ranges(7.5, 7.5),
        ranges(-3.0, -3.0),
        ranges(0.0, 255.0, finite=False),
        ranges(-np.inf, 255.0),
        ranges(0.0, np.inf),
        ranges(np.inf, -np.inf),  # only NaN
    ],
    ids=["constant", "negative constant", "not finite", "below all", "above all", "no value"],
)
def test_a_picture_of_one_value_or_of_none_is_broken(broken):
    assert is_broken(broken)


class Negative:
    """A plan for single pictures on the CPU whose picture is the negative of its frame."""

    def __init__(self, height: int, width: int) -> None:
        self.device = torch.device("cpu")
        self.frames = torch.zeros(1, height, width, 3, dtype=torch.uint8)
        self.pictures = torch.zeros_like(self.frames)
        self.ranges = torch.zeros(1, 3, dtype=torch.int32)

    def replay(self, mark: Any = None) -> None:
        self.pictures.copy_(255 - self.frames)
        self.ranges.copy_(ranges(0.0, float(self.frames.max())))
        if mark is not None:
            mark("network")


@pytest.fixture
def path(monkeypatch):
    """Return a path through `Negative`; `path.pinned` records its requests for pinned memory."""
    pinned = []

    def ordinary(like: torch.Tensor) -> torch.Tensor:
        pinned.append(torch.empty_like(like))
        return pinned[-1]

    class Stream:
        def synchronize(self) -> None:
            pass

    monkeypatch.setattr(frame_pipeline, "_pinned", ordinary)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: Stream())
    plan: Any = Negative(24, 32)
    path: Any = SingleFrameRunner(plan)
    path.pinned = pinned
    return path


def test_a_result_stays_what_it_was_when_other_frames_follow(path):
    frames = [picture(32, 24, seed) for seed in range(4)]
    results = [path.style(frame) for frame in frames]
    for frame, result in zip(frames, results, strict=True):
        assert np.array_equal(result.pixels, 255 - frame)
        assert not result.broken
    assert path.style(np.zeros_like(frames[0])).broken, "one constant"


def test_a_frame_asks_for_no_memory_but_that_of_its_result(path):
    before = len(path.pinned)
    path.style(picture(32, 24))
    (asked,) = path.pinned[before:]
    assert asked.shape == path.plan.pictures.shape


def test_the_stretches_of_a_frame_are_marked_in_order(path):
    marks: list[str] = []
    path.style(picture(32, 24), marks.append)
    assert marks == ["upload", "network", "download"]
