"""The automatic size keeps to the budget, preserves stroke widths, and does not flutter."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from app.engine.config import EngineConfig
from app.engine.resolution import (
    AUTO_SIZES,
    HOLD_S,
    LEAST_FULL,
    LEAST_LITE,
    AdaptiveResolution,
    Sizes,
    fit,
    still_sizes,
    stroke_size,
)
from app.options import STROKE_SIZE
from tests.helpers.daily import some_daily

Cost = float | Callable[[float, Sizes], float]


class Machine:
    """A stream on a simulated clock: the time of a frame depends on its pixels."""

    def __init__(
        self, budget_ms=150.0, interval_ms=float("inf"), frame=(1280, 720), least=LEAST_LITE
    ):
        self.now = 0.0
        self.auto = AdaptiveResolution(budget_ms, interval_ms, least=least, clock=lambda: self.now)
        self.frame = frame

    def run(self, ms_per_pixel: Cost, seconds=20.0, *, hold=False):
        """Run for `seconds` and return [(second, sizes)] of the frames.

        `ms_per_pixel` may be a function of the second and the sizes.
        """
        end, seen = self.now + seconds, []
        while self.now < end:
            sizes = self.auto.live(*self.frame, hold=hold)
            cost = ms_per_pixel(self.now, sizes) if callable(ms_per_pixel) else ms_per_pixel
            ms = cost * sizes.pixels
            self.auto.measured(sizes, ms)
            seen.append((self.now, sizes))
            self.now += max(ms, 16) / 1e3  # the camera's interval
        return seen

    def settled(self, ms_per_pixel, seconds=60.0):
        return self.run(ms_per_pixel, seconds)[-1][1]


def changes(sizes, since=0.0, until=float("inf")):
    return sum(a[1] != b[1] and since <= b[0] < until for a, b in pairwise(sizes))


@pytest.mark.parametrize("cost", [1e-5, 1e-4, 2e-4, 5e-4, 2e-3])
def test_a_network_gets_the_largest_sizes_that_the_budget_buys(cost):
    sizes = Machine(frame=(1920, 1080)).settled(cost)
    assert cost * sizes.pixels <= 1.15 * 150
    larger = [s for s in AUTO_SIZES if s > sizes.detail[0] and (s >= 1.4 * STROKE_SIZE or s <= 384)]
    for long_side in larger[:1]:
        more = fit(1920, 1080, long_side)
        strokes = fit(1920, 1080, min(long_side, STROKE_SIZE))
        pixels = Sizes(strokes, more).pixels
        assert cost * pixels > 0.8 * 150


def test_strokes_are_as_wide_on_every_machine_that_can_afford_them():
    assert {Machine().settled(cost).strokes for cost in (1e-6, 1e-5, 1e-4, 5e-4, 1e-3)} == {
        (384, 216)
    }


def test_a_faster_machine_gets_a_sharper_picture():
    sides = [Machine().settled(cost).detail[0] for cost in (1e-3, 3e-4, 1e-4, 1e-5)]
    assert sides == sorted(sides)
    assert sides[0] == 384
    assert sides[-1] == 1280, "the frame's own"


def test_only_a_machine_too_slow_for_that_gets_wider_strokes():
    sizes = Machine().settled(2.5e-3)
    assert sizes.strokes == sizes.detail < (384, 216)
    assert 2.5e-3 * sizes.pixels <= 150


@pytest.mark.parametrize("least", [LEAST_LITE, LEAST_FULL])
def test_a_slow_machine_paints_fewer_frames_rather_than_fog(least):
    machine = Machine(least=least, interval_ms=1000 / 15)
    for _, sizes in machine.run(2e-2, 60):
        assert max(sizes.detail) >= least
    assert machine.run(2e-2, 1)[-1][1] == Sizes(fit(1280, 720, least), fit(1280, 720, least))


def test_the_least_size_is_never_above_the_frame():
    assert Machine(frame=(160, 120)).settled(2e-2) == Sizes((160, 120), (160, 120))


def test_a_second_size_is_only_computed_where_it_is_much_larger():
    sizes = AdaptiveResolution(150)._sizes(480, 360, 480)
    assert sizes.strokes == sizes.detail
    assert sizes.pixels == 384 * 288


def test_it_never_works_above_the_frame():
    sizes = Machine(frame=(100, 80)).settled(1e-7)
    assert sizes == Sizes((100, 80), (100, 80))


def test_the_first_decision_goes_straight_to_the_size_that_fits():
    seen = Machine().run(1e-5, 20)
    assert changes(seen) == 1
    assert [sizes for _, sizes in seen].index(seen[-1][1]) <= 4


@pytest.mark.parametrize("seed", range(8))
def test_a_steady_machine_changes_at_most_three_times_in_20_s_and_then_never(seed):
    rng = np.random.default_rng(seed)
    base = 10 ** rng.uniform(-4, -2.7)

    def cost(*_):
        spike = rng.uniform(2, 5) if rng.random() < 0.03 else 1.0
        return base * spike * rng.lognormal(0, 0.15)

    sizes = Machine().run(cost, 80)
    assert changes(sizes, 0, 20) <= 3
    assert changes(sizes, 20, 80) == 0


@pytest.mark.parametrize("seed", some_daily(range(8), 0, 2))
def test_beside_a_compiler_it_changes_at_most_six_times_a_minute(seed):
    """A compiler loads the processors in bursts of seconds."""
    rng = np.random.default_rng(seed)
    base = 10 ** rng.uniform(-4, -2.7)
    load = rng.choice([1.0, 1.4, 2.0, 2.6], size=400)  # one value per half second

    def cost(second, _):
        return base * load[int(2 * second)] * rng.lognormal(0, 0.15)

    sizes = Machine().run(cost, 180)
    for start in range(0, 121, 10):
        assert changes(sizes, start, start + 60) <= 6


def test_a_size_is_held_for_seconds():
    machine = Machine()
    sizes = machine.run(1e-4, 10) + machine.run(6e-4, 10) + machine.run(1e-4, 60)
    moments = [b[0] for a, b in pairwise(sizes) if a[1] != b[1]]
    assert len(moments) >= 2
    assert all(later - now >= HOLD_S for now, later in pairwise(moments))


def test_a_machine_that_becomes_slower_for_good_gets_a_smaller_size():
    machine = Machine()
    before = machine.settled(2e-4)
    after = machine.settled(1e-3, 30)
    assert after.pixels < before.pixels
    assert 1e-3 * after.pixels <= 150


def test_a_few_slow_frames_change_nothing():
    machine = Machine()
    machine.settled(2e-4)
    slow = iter([2e-3] * 5)
    assert changes(machine.run(lambda *_: next(slow, 2e-4), 20)) == 0


@pytest.mark.full
def test_a_size_that_was_too_much_is_tried_again_later_each_time():
    """Larger pictures cost far more per pixel on this machine."""
    seen = Machine().run(lambda _, sizes: 1e-3 if sizes.detail[0] > 512 else 2e-4, 900)
    ups = [b[0] for a, b in pairwise(seen) if a[1].pixels < b[1].pixels]
    waits = [later - now for now, later in pairwise(ups[1:])]
    assert len(waits) >= 2
    assert all(later > 1.5 * now for now, later in pairwise(waits))


def test_while_it_is_held_the_size_stays_whatever_happens():
    machine = Machine()
    before = machine.settled(2e-4)
    seen = machine.run(2e-3, 60, hold=True)
    assert {sizes for _, sizes in seen} == {before}
    assert machine.settled(2e-3).pixels < before.pixels


def test_measuring_anew_keeps_the_size_until_there_is_something_to_decide_by():
    machine = Machine()
    before = machine.settled(8e-4)
    machine.auto.reset_measurements()
    seen = machine.run(1e-5, 20)
    assert seen[0][1] == before
    assert changes(seen) == 1
    assert seen[-1][1].pixels > before.pixels


def test_overhead_elsewhere_shrinks_the_network():
    machine = Machine()
    before = machine.settled(2e-4)
    machine.auto.overhead_ms = 100
    assert machine.settled(2e-4).pixels < before.pixels


@pytest.mark.parametrize("strokes", ["fine", "medium", "bold"])
def test_a_still_picture_gets_its_full_size_with_strokes_as_chosen(strokes):
    still = still_sizes(EngineConfig(strokes=strokes), 1600, 900)
    assert still.detail == (1600, 900)
    assert max(still.strokes) == stroke_size(strokes)


def test_the_first_result_of_a_still_picture_has_the_strokes_of_the_refined_one():
    for ms_per_pixel in (1e-5, 7e-4, 3e-3, 1e-1):
        machine = Machine(frame=(1920, 1080))
        live = machine.settled(ms_per_pixel)
        still = still_sizes(EngineConfig(), 1920, 1080)
        first = machine.auto.first(1920, 1080, still)
        assert first.strokes == still.strokes, "or it would be another painting"
        assert first.pixels <= still.pixels
        if live.strokes == still.strokes:
            assert first == live


def test_the_long_side_leads_and_no_side_gets_too_small():
    assert fit(640, 480, 320) == (320, 240)
    assert fit(480, 640, 320) == (240, 320)
    assert fit(4000, 20, 256) == (256, 16)


def test_a_stream_that_should_be_fluent_gets_fewer_pixels_than_one_that_may_be_late():
    late, fluent = Machine().settled(2e-4), Machine(interval_ms=1000 / 15).settled(2e-4)
    assert fluent.pixels < late.pixels
    assert 2e-4 * fluent.pixels <= 1000 / 15


def test_what_is_done_after_the_network_shrinks_it():
    machine = Machine(interval_ms=1000 / 15)
    before = machine.settled(8e-5)
    machine.auto.blend_ms = 50
    assert machine.settled(8e-5).pixels < before.pixels
