"""Flicker measures how much more a stream changes than its source."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from app.engine.config import EngineConfig
from app.engine.result import RunInfo, StyledFrame, Timings
from app.frame import Frame
from app.live.flicker import FRAMES, Flicker, FlickerMeter
from models.precision import Precision

NUMBERS = count()


def styled(source: int, result: int, *, at: float | None = None, **changes: object) -> StyledFrame:
    """Return a result for the next frame of a stream at 30 fps, or for one captured at `at`."""
    captured = next(NUMBERS) / 30 if at is None else at
    made = StyledFrame(
        Frame(np.full((48, 64, 3), result, np.uint8), captured_at=captured),
        Frame(np.full((48, 64, 3), source, np.uint8), captured_at=captured),
        EngineConfig(),
        Timings(),
        (64, 48),
        RunInfo("Fused", Precision.fp32, "CPU"),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def test_it_is_the_change_of_the_output_over_that_of_the_source():
    meter = FlickerMeter()
    for n in range(10):
        meter.add(styled(100 + 2 * (n % 2), 50 + 5 * (n % 2)))
    assert meter.flicker == Flicker(5.0, 2.0)
    assert meter.flicker is not None
    assert meter.flicker.ratio == 2.5


@pytest.mark.parametrize("output", [0, 3])
def test_a_source_that_stands_still_has_no_ratio(output):
    meter = FlickerMeter()
    for n in range(4):
        meter.add(styled(100, 50 + output * (n % 2)))
    assert meter.flicker is not None
    assert meter.flicker.ratio is None
    assert meter.flicker.output == output


@pytest.mark.parametrize(
    "changes",
    [
        {"config": EngineConfig(style="mosaic")},
        {"config": EngineConfig(smoothing=0.5)},
        {"size": (32, 24)},
        {"running": RunInfo("Fused", Precision.bf16, "CPU")},
    ],
    ids=["style", "smoothing", "size", "precision"],
)
def test_what_does_not_continue_the_stream_begins_anew(changes):
    meter = FlickerMeter()
    meter.add(styled(100, 50))
    meter.add(styled(102, 54))
    meter.add(styled(0, 255, **changes))
    assert meter.flicker is None


def test_only_the_last_frames_count():
    meter = FlickerMeter()
    for n in range(FRAMES):
        meter.add(styled(100 + n % 2, 50 + 9 * (n % 2)))
    for n in range(FRAMES + 1):
        meter.add(styled(100 + n % 2, 50 + n % 2))
    assert meter.flicker == Flicker(1.0, 1.0)


def test_one_frame_says_nothing():
    meter = FlickerMeter()
    meter.add(styled(1, 1))
    assert meter.flicker is None


def test_of_a_fast_stream_it_is_measured_between_neighbors_a_hundred_times_a_second():
    meter = FlickerMeter()
    for n in range(100):  # 1,000 frames per second that each change by 1
        meter.add(styled(100, 50 + n, at=n / 1000))
    assert len(meter._changes) == 10
    assert {output for output, _ in meter._changes} == {1.0}
