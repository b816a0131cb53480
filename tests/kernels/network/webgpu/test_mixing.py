"""The GPU's mix of packed weights paints as the mixed weights do."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kernels.network.webgpu.layers import Network
from kernels.network.webgpu.mixing import MixedWeights
from kernels.network.webgpu.plan import WebGpuPlan
from kernels.network.webgpu.weights import Weights
from tests.kernels.network.webgpu.test_plan import SMALL, picture, state_of

SIZE = 36, 28


@pytest.fixture(scope="module")
def states():
    return [state_of(SMALL, seed) for seed in range(3)]


def interpolated(states, shares):
    return {
        key: torch.stack(
            [share * state[key] for share, state in zip(shares, states, strict=True)]
        ).sum(0)
        for key in states[0]
    }


@pytest.mark.parametrize(
    ("half", "enlarging"),
    [(False, False), (True, False), (True, True)],
    ids=["fp32", "fp16", "enlarging"],
)
@pytest.mark.parametrize("shares", [(0.25, 0.75), (0.2, 0.3, 0.5), (1.0,), (0.0, 1.0)], ids=str)
def test_a_mix_on_the_gpu_paints_as_mixed_weights(device, states, shares, half, enlarging):
    if half and not device.adapter.half:
        pytest.skip("no FP16")
    network = Network.of(SMALL, half=half, enlarging_winograd=enlarging)
    plan, x = WebGpuPlan(device, network, SIZE), picture(*SIZE, dtype=np.float32)[0]
    styles = [Weights(device, network, state) for state in states[: len(shares)]]
    mixed = MixedWeights(device, styles)
    mixed.mix(shares)
    expected = Weights(device, network, interpolated(states[: len(shares)], shares))
    apart = np.abs(plan(mixed.weights, x[None]) - plan(expected, x[None]))
    assert apart.max() <= (4.0 if half else 0.05)


def test_a_picture_in_flight_keeps_its_shares(device, states):
    network = Network.of(SMALL)
    plan, x = WebGpuPlan(device, network, SIZE), picture(*SIZE)[0]
    mixed = MixedWeights(device, [Weights(device, network, state) for state in states[:2]])
    mixed.mix((1.0, 0.0))
    expected = plan(mixed.weights, x[None])[0]
    started = plan.start(mixed.weights, x)
    mixed.mix((0.0, 1.0))
    assert np.array_equal(started.result(), expected)
    assert not np.array_equal(plan(mixed.weights, x[None])[0], expected)
