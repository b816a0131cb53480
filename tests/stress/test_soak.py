"""A short version of `python -m tests.stress.soak`."""

from __future__ import annotations

import numpy as np
import pytest

from app.engine.engine import Engine
from app.engine.process_mode import ProcessMode
from tests.stress.soak import Fault, soak

SMALL = {"device": "cpu", "sizes": (64, 96), "captured": [(80, 60), (97, 73)]}
LARGE = {"device": "cuda", "sizes": (512, 640), "captured": [(1280, 720), (333, 517)]}


@pytest.mark.full
def test_frames_are_right_while_every_control_changes():
    found = soak(80, 2, **SMALL)
    assert found.configs > 5
    assert found.checked > 1


@pytest.mark.gpu
def test_frames_that_overlap_on_a_gpu_are_right_while_every_control_changes():
    found = soak(1000, 1, **LARGE)
    assert found.checked > 5
    assert found.overlapped > 300


def test_a_soak_names_the_frame_that_differs(monkeypatch):
    process, calls = Engine.process, []

    def later_ones_are_wrong(self, frame, mode=ProcessMode.LIVE):
        styled = process(self, frame, mode)
        calls.append(frame.index)
        if calls.count(frame.index) > 1:  # the second engine's, for comparison
            wrong = (styled.frame.pixels.astype(int) ^ 8).astype(np.uint8)
            object.__setattr__(styled, "frame", styled.frame.with_pixels(wrong))
        return styled

    monkeypatch.setattr(Engine, "process", later_ones_are_wrong)
    with pytest.raises(Fault, match=r"^frame \d+ is 8 of 255 apart: EngineConfig"):
        soak(60, 2, **SMALL)
