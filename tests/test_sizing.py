"""The automatic size keeps the budget and does not flutter."""

from __future__ import annotations

import pytest

from app.sizing import STILL_BUDGET_MS, AutoSize, fit


def run(auto, width, height, ms_per_pixel, frames=40):
    sizes = []
    for _ in range(frames):
        size = auto.live(width, height)
        auto.measured(size, ms_per_pixel * size[0] * size[1])
        sizes.append(size)
    return sizes


@pytest.mark.parametrize("cost", [1e-4, 5e-4, 2e-3])
def test_a_slow_network_is_given_as_many_pixels_as_the_budget_buys(cost):
    width, height = run(AutoSize(150), 640, 480, cost)[-1]
    assert cost * width * height <= 150
    bigger = fit(640, 480, max(width, height) + 96)
    assert max(width, height) == 640 or cost * bigger[0] * bigger[1] > 0.8 * 150


def test_a_fast_network_works_at_the_frames_own_size():
    assert run(AutoSize(150), 640, 480, 1e-6)[-1] == (640, 480)


def test_it_never_works_above_the_frame():
    assert run(AutoSize(150), 100, 80, 1e-9)[-1] == (100, 80)


def test_a_steady_cost_gives_a_steady_size():
    assert len(set(run(AutoSize(150), 1280, 720, 7e-4)[10:])) == 1


def test_overhead_elsewhere_shrinks_the_network():
    auto = AutoSize(150)
    before = run(auto, 1280, 720, 7e-4)[-1]
    auto.overhead_ms = 80
    assert run(auto, 1280, 720, 7e-4)[-1] < before


def test_a_still_picture_may_take_seconds():
    auto = AutoSize(150)
    live = run(auto, 1920, 1080, 7e-4)[-1]
    width, height = auto.still(1920, 1080)
    assert (width, height) > live
    assert 7e-4 * width * height <= STILL_BUDGET_MS


def test_the_long_side_leads_and_no_side_gets_too_small():
    assert fit(640, 480, 320) == (320, 240)
    assert fit(480, 640, 320) == (240, 320)
    assert fit(4000, 20, 256) == (256, 16)


def test_a_stream_that_should_be_fluent_gets_fewer_pixels_than_one_that_may_be_late():
    late, fluent = AutoSize(150), AutoSize(150, interval_ms=1000 / 15)
    assert run(fluent, 1280, 720, 7e-4)[-1] < run(late, 1280, 720, 7e-4)[-1]
    width, height = run(fluent, 1280, 720, 7e-4)[-1]
    assert 7e-4 * width * height <= 1000 / 15


def test_what_is_done_after_the_network_shrinks_it():
    auto = AutoSize(150, interval_ms=1000 / 15)
    before = run(auto, 1280, 720, 7e-4)[-1]
    auto.blend_ms = 30
    assert run(auto, 1280, 720, 7e-4)[-1] < before
