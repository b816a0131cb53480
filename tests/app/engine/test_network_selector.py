"""The lite network replaces a full one that is too slow, and the choice does not flap."""

from __future__ import annotations

import pytest

from app.engine.network_selector import FLUID_FPS, LEAST_FPS, NetworkSelector
from app.engine.resolution import Sizes
from tests.helpers.errors import mentions

AT_320 = Sizes((320, 240), (320, 240))
BUSY = 1000 / LEAST_FPS / (480 * 360)  # ms per pixel that just reach 15 fps at 480


def run(
    choice,
    cost,
    *,
    frames=20,
    size=(320, 240),
    lite_share=0.2,
    chosen=480,
    frame=(640, 480),
    fluid=False,
):
    """Run `frames` frames with a full network that takes `cost` ms per pixel."""
    decided = []
    for _ in range(frames):
        lite = choice.decide(*frame, chosen, fluid=fluid)
        decided.append(lite)
        pixels = size[0] * size[1]
        choice.measured(lite, Sizes(size, size), cost * pixels * (lite_share if lite else 1), 0.0)
    return decided


def test_a_slow_full_network_gives_way_and_the_reason_is_said():
    choice = NetworkSelector()
    assert run(choice, 2 * BUSY)[-1]
    assert mentions(choice.remark, "7 fps", "480")


def test_fewer_paintings_suffice_where_the_last_one_moves_with_the_scene():
    enough = LEAST_FPS / FLUID_FPS * BUSY
    assert not any(run(NetworkSelector(), 0.95 * enough, fluid=True))
    assert run(NetworkSelector(), 1.05 * enough, fluid=True)[-1]
    assert run(NetworkSelector(), 0.95 * enough)[-1]


def test_a_fast_full_network_stays():
    choice = NetworkSelector()
    assert not any(run(choice, 0.9 * BUSY))
    assert choice.remark == ""


def test_nothing_is_decided_before_it_was_measured():
    assert not NetworkSelector().decide(640, 480, 480)


def test_a_hopeless_network_is_not_waited_for():
    assert run(NetworkSelector(), 40 * BUSY, frames=4)[-1]


def test_a_start_that_is_slow_decides_nothing():
    choice = NetworkSelector()
    for network_ms in (900.0, 400.0, 300.0, 60.0, 8.0, 8.0, 8.0):
        choice.measured(False, AT_320, network_ms, 0.0)
        assert not choice.decide(640, 480, 480)


def test_one_slow_frame_decides_nothing():
    choice = NetworkSelector()
    run(choice, 0.5 * BUSY)
    choice.measured(False, AT_320, 900.0, 0.0)
    assert not choice.decide(640, 480, 480)


@pytest.mark.parametrize("load", [1.0, 0.9, 0.8])
def test_a_machine_at_the_edge_does_not_flap(load):
    decided = run(NetworkSelector(), 1.05 * BUSY, frames=30)
    assert decided == sorted(decided)
    choice = NetworkSelector()
    run(choice, 1.05 * BUSY)
    assert all(run(choice, 1.05 * BUSY * load))


def test_the_full_network_comes_back_once_the_machine_is_fast_enough():
    choice = NetworkSelector()
    run(choice, 1.5 * BUSY)
    assert not run(choice, 0.5 * BUSY)[-1]
    assert choice.remark == ""


def test_whoever_came_back_in_vain_waits_for_more():
    """The lite network speeds up; the full one does not."""
    choice, changes, before = NetworkSelector(), 0, False
    for frame in range(400):
        lite = choice.decide(640, 480, 480)
        changes += lite != before
        before = lite
        faster = 0.6 if frame % 100 > 50 else 1.0
        cost = 1.2 * BUSY * (0.2 * faster if lite else 1)
        choice.measured(lite, AT_320, cost * 320 * 240, 0.0)
    assert changes <= 5


def test_a_size_chosen_by_hand_is_the_one_that_counts():
    choice = NetworkSelector()
    run(choice, 2 * BUSY, chosen=256)
    assert not choice.decide(640, 480, 256)
    assert choice.decide(640, 480, 640)
    assert choice.remark.endswith("at 640")


def test_a_network_is_judged_at_the_size_it_works_at():
    assert not any(run(NetworkSelector(), 2 * BUSY, chosen=240))


def test_what_is_done_after_the_network_counts_too():
    choice = NetworkSelector()
    for _ in range(10):
        choice.decide(640, 480, 480)
        choice.measured(False, AT_320, 0.9 * BUSY * 320 * 240, 30.0)
    assert choice.decide(640, 480, 480)
