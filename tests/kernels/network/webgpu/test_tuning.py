"""A tuner takes faster tiles that paint the same picture, and may stop at any step."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from kernels.network.webgpu import steps as steps_of_a_plan
from kernels.network.webgpu import tuning
from kernels.network.webgpu.device import Device
from kernels.network.webgpu.layers import Layer, Network
from kernels.network.webgpu.library import WebGpuError
from kernels.network.webgpu.plan import WebGpuPlan
from kernels.network.webgpu.tiles import DEFAULT, Tile
from kernels.network.webgpu.tuning import ROUNDS, Tuner, tuned
from kernels.network.webgpu.weights import Weights
from tests.helpers.daily import some_daily
from tests.kernels.network.webgpu.test_plan import SMALL, Painter, picture, state_of

SIZE = 20, 16
FIRST = DEFAULT.first, Tile(16, 8, 32, 4), Tile(16, 16, 32, 4, channels=4)
WIDE = DEFAULT.wide, Tile(16, 8, 32, 16)
PHASES = DEFAULT.phases, Tile(64, 1, 64, 16)


@pytest.fixture(autouse=True)
def candidates(monkeypatch):
    """Few candidates, which compile fast."""
    few = {
        "first": FIRST, "wide": WIDE, "plain": (DEFAULT.plain,), "product": (DEFAULT.product,),
        "phases": PHASES,
    }  # fmt: skip
    monkeypatch.setattr(tuning, "CANDIDATES", few)


@pytest.fixture
def times(monkeypatch):
    """Times by tile and sums that take the place of the GPU's; 5 ms for other tiles."""
    claimed: dict[Tile | str, float] = {}

    def milliseconds(plan: WebGpuPlan, *_: object) -> float:
        tiles = plan._network.tiles
        others = claimed.get(plan._network.sums, 0.0)
        return others + sum(claimed.get(tile, 5.0) for tile in (tiles.first, tiles.wide))

    monkeypatch.setattr(WebGpuPlan, "milliseconds", milliseconds)
    return claimed


def tuner_of(device: Device, *, winograd: bool = True, half: bool = False) -> Tuner:
    network = Network.of(SMALL, winograd=winograd, half=half)
    return Tuner(device, network, state_of(SMALL), SIZE)


def has_second_tile(layer: Layer) -> bool:
    return layer.name == "encoder/conv1" and layer.tile.height == FIRST[1].height


@pytest.mark.parametrize("winograd", [False, True])
def test_the_fastest_tiles_are_taken(device, times, winograd):
    times |= {FIRST[1]: 4.0, FIRST[2]: 2.0, WIDE[1]: 9.0}
    tuner = tuner_of(device, winograd=winograd)
    assert tuned(tuner).tiles == replace(DEFAULT, first=FIRST[2])
    first = tuner.trials["first"]
    assert [trial.tile for trial in first] == [*FIRST[1:]]
    assert [trial.best for trial in first] == [10.0, 9.0], "each is held against the best one"
    assert [trial.milliseconds for trial in tuner.trials["wide"]] == [11.0]


def test_only_tiles_that_the_network_uses_are_tried(device, times):
    network = Network.of(SMALL, enlarging_winograd=True)
    tuner = Tuner(device, network, state_of(SMALL), SIZE)
    assert tuned(tuner).enlarging_winograd
    assert [*tuner.trials] == ["first", "phases"]
    assert [trial.refused for trial in tuner.trials["phases"]] == [""]


def test_a_tile_that_is_hardly_faster_is_not_taken(device, times):
    times |= {FIRST[1]: 4.9}
    assert tuned(tuner_of(device)).tiles == DEFAULT


def test_a_caller_may_stop_at_any_step(device, times):
    times |= {FIRST[1]: 2.0, FIRST[2]: 1.0}
    tuner = tuner_of(device)
    shares = []
    for share in tuner.steps():
        shares.append(share)
        if tuner.network.tiles != DEFAULT:
            break
    assert tuner.network.tiles == replace(DEFAULT, first=FIRST[1]), "the best ones so far"
    assert shares == sorted(shares)
    assert len(shares) > 2 * ROUNDS, "small steps"
    assert max(shares) < 1
    assert [*tuner_of(device).steps()][-1] <= 1
    tuner = tuner_of(device)
    assert len([*islice(tuner.steps(), 2)]) == 2
    assert tuner.network.tiles == DEFAULT


def test_a_tile_with_wrong_values_is_refused(device, times, monkeypatch):
    times |= {FIRST[1]: 1.0, FIRST[2]: 3.0}
    right = steps_of_a_plan.tiled

    def wrong(layer, half):
        shader = right(layer, half)
        if not has_second_tile(layer):
            return shader
        # The first pixel gets the second one's sums.
        return replace(shader, body=shader.body.replace("sum0_0);", "sum1_0);"))

    monkeypatch.setattr(steps_of_a_plan, "tiled", wrong)
    monkeypatch.setattr(tuning, "tiled", wrong)
    tuner = tuner_of(device)
    assert tuned(tuner).tiles == replace(DEFAULT, first=FIRST[2])
    refused, taken = tuner.trials["first"]
    assert "levels" in refused.refused
    assert np.isnan(refused.milliseconds)
    assert taken.refused == ""


def test_a_tile_that_the_device_refuses_is_left_out(device, times, monkeypatch):
    times |= {FIRST[1]: 1.0, FIRST[2]: 3.0}
    right = tuning.tiled

    def refused(layer, half):
        if has_second_tile(layer):
            raise WebGpuError("no")
        return right(layer, half)

    monkeypatch.setattr(tuning, "tiled", refused)
    tuner = tuner_of(device)
    assert tuned(tuner).tiles == replace(DEFAULT, first=FIRST[2])
    assert tuner.trials["first"][0].refused == "no"


@pytest.mark.full
@pytest.mark.parametrize(
    ("least", "ms", "taken"), [(50, 1.0, "fp16"), (50, 9.0, "fp32"), (200, 1.0, "fp32")]
)
def test_sums_in_fp16_are_taken_if_they_are_faster_and_right(
    device, times, monkeypatch, least, ms, taken
):
    if not device.adapter.half:
        pytest.skip("this GPU has no FP16 in shaders")
    times |= {"fp32": 8.0, "fp16": ms, FIRST[1]: 4.0}
    monkeypatch.setattr(tuning, "DECIBELS", least)
    network = tuned(tuner := tuner_of(device, half=True))
    assert network.sums == taken
    assert network.tiles == replace(DEFAULT, first=FIRST[1])
    (trial,) = tuner.trials["sums"]
    assert bool(trial.refused) == (least > 100)
    assert "sums" not in [*_tried_in_fp32(device)]


def _tried_in_fp32(device: Device) -> dict:
    tuner = tuner_of(device)
    tuned(tuner)
    return tuner.trials


def test_a_lost_device_ends_the_tuning(adapter, caplog):
    lost = Device(adapter)
    steps = tuner_of(lost).steps()
    next(steps)
    lost.close()
    with pytest.raises(WebGpuError):
        for _ in steps:
            pass
    caplog.clear()  # wgpu logs it


@pytest.mark.parametrize("timed", some_daily([False, True], 0))
def test_tuned_tiles_paint_the_same_by_either_clock(adapter, timed):
    if timed and not adapter.timed:
        pytest.skip("this GPU does not measure times")
    device = Device(replace(adapter, timed=timed))
    try:
        tuner = tuner_of(device)
        network = tuned(tuner)
        trials = [trial for rows in tuner.trials.values() for trial in rows]
        assert len(trials) == len(FIRST) + len(WIDE) - 2
        assert all(trial.milliseconds > 0 and trial.best > 0 for trial in trials)
        painter, x = Painter(device, SMALL), picture(*SIZE)
        plain = painter(x).astype(int)
        other = Painter(device, SMALL)
        other.network = network
        other.weights = Weights(device, network, painter.state)
        assert np.abs(other(x) - plain).max() <= 1
    finally:
        device.close()
