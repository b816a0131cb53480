"""The steps of the bar derive from measured times, keep stroke widths, and center on Automatic."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.engine.config import EngineConfig
from app.engine.resolution import Sizes, kept_strokes, requested_sizes
from app.ui.speed.bar import rate_text
from app.ui.speed.steps import AUTOMATIC, Machine, Step, steps_for
from app.ui.speed.timing import COUNTED, LITE_GAIN, FrameTime, FrameTimes, Kind
from models.precision import Precision

FRAME = (1280, 720)
LITE, FULL = Kind(True, Precision.fp32), Kind(False, Precision.fp32)


def times(kind: Kind, pixels: int, ms: float, device: str = "cpu") -> FrameTimes:
    made = FrameTimes()
    for _ in range(COUNTED + 1):
        made.add(device, kind, pixels, ms)
    return made


def machine(kind: Kind, size: int, ms: float, **others) -> Machine:
    """Return a machine on which Automatic takes `ms` with a kind of network at a size."""
    sizes = kept_strokes(*FRAME, size, 384)
    device = others.pop("device", "cpu")
    return Machine(times(kind, sizes.pixels, ms, device), FRAME, now=(kind, sizes), **others)


SLOW = machine(LITE, 384, 50.0)  # with two cores
MIDDLING = machine(LITE, 768, 60.0)
FAST = machine(FULL, 1280, 20.0, device="gpu", fast=Precision.fp16)


@pytest.mark.parametrize("known", [SLOW, MIDDLING, FAST, Machine(FrameTimes(), FRAME)])
def test_automatic_is_in_the_middle_of_few_steps(known):
    steps = steps_for(known)
    assert len(steps) in (3, 5)
    assert steps[len(steps) // 2] == AUTOMATIC
    assert len(set(steps)) == len(steps)


@pytest.mark.parametrize("known", [SLOW, MIDDLING, FAST])
def test_each_step_is_slower_than_the_one_left_of_it(known):
    spent = [known.time(step).ms for step in steps_for(known)]
    assert spent == sorted(spent)
    assert spent[0] < spent[len(spent) // 2] <= spent[-1], "equal where it has all pixels already"


def test_the_ends_are_the_fast_version_and_the_fine_one_of_all_pixels():
    first, *_, last = steps_for(FAST)
    assert first == Step("lite", 384, Precision.fp16)
    assert last == Step("full", 1280, Precision.fp32)


@pytest.mark.parametrize("strokes", ["fine", "medium", "bold"])
@pytest.mark.parametrize("known", [MIDDLING, FAST])
def test_strokes_keep_their_width_when_the_bar_moves(known, strokes):
    config = EngineConfig(strokes=strokes)
    known = replace(known, strokes=strokes)
    wide = known.stroke_size
    for step in steps_for(known):
        applied = step.applied(config)
        assert applied.strokes == strokes
        if applied.size is not None:
            assert max(requested_sizes(applied, *FRAME).strokes) == wide


def test_a_machine_that_is_at_the_width_of_strokes_already_goes_below_for_smoothness():
    first = steps_for(SLOW)[0]
    assert first == Step("lite", 256)
    assert max(requested_sizes(first.applied(EngineConfig()), *FRAME).detail) == 256


def test_a_style_without_a_fast_version_has_steps_of_the_fine_one():
    steps = steps_for(replace(machine(FULL, 384, 150.0), has_lite=False))
    assert {step.network for step in steps} == {"auto", "full"}


def test_the_chosen_step_stays_on_the_bar_when_others_are_derived():
    chosen = Step("lite", 256)
    assert chosen in steps_for(MIDDLING, chosen)
    assert chosen in steps_for(Machine(FrameTimes(), FRAME), chosen)
    sharp = Step("full", 1024)
    assert sharp in steps_for(SLOW, sharp)


def test_automatic_leaves_the_config_as_it_is_by_default():
    assert AUTOMATIC.applied(EngineConfig()) == EngineConfig()
    by_hand = EngineConfig(size=512, kernels="baseline", network="full")
    assert AUTOMATIC.applied(by_hand) == EngineConfig()


def test_a_size_keeps_the_width_of_strokes_only_where_it_is_asked_to():
    kept = EngineConfig(size=1024, keep_strokes=True)
    assert requested_sizes(kept, *FRAME) == Sizes((384, 216), (1024, 576))
    by_size = EngineConfig(size=1024)
    assert requested_sizes(by_size, *FRAME) == Sizes((1024, 576), (1024, 576))


# Times


def test_a_time_is_measured_only_after_some_frames_at_one_size():
    known = FrameTimes()
    fresh = [known.add("cpu", LITE, 1000, ms) for ms in (900.0, 30.0, 31.0, 29.0, 30.0)]
    assert fresh == [False, False, False, True, False]
    assert known.of(LITE, 1000) == FrameTime(30.0, measured=True)


def test_what_was_not_measured_is_computed_from_the_nearest():
    known = times(LITE, 1000, 10.0)
    larger = known.of(LITE, 2000)
    assert larger is not None
    assert not larger.measured
    assert 10.0 < larger.ms <= 20.0
    full = known.of(FULL, 1000)
    assert full is not None
    assert not full.measured
    assert full.ms == pytest.approx(10.0 * LITE_GAIN["cpu"])


def test_nothing_is_known_before_it_was_measured_nor_of_another_device():
    assert FrameTimes().of(LITE, 1000) is None
    known = times(LITE, 1000, 10.0)
    known.add("gpu", LITE, 1000, 1.0)
    assert known.of(LITE, 1000) is None


def test_a_rate_that_was_not_measured_says_about():
    assert rate_text(FrameTime(50.0, measured=True)) == "20 fps"
    assert rate_text(FrameTime(50.0, measured=False)) == "about 20 fps"
    assert rate_text(None) == ""
