"""Input ranges of the layers, measured on the same pictures everywhere."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from kernels.network import calibration
from kernels.network.shapes import FULL, LITE
from kernels.self_test.network import random_weights

CPU = torch.device("cpu")
SHAPE = replace(LITE, num_residual_blocks=2)


@pytest.fixture(scope="module")
def weights() -> dict[str, torch.Tensor]:
    return random_weights(SHAPE, torch.Generator().manual_seed(0))


def test_the_pictures_are_the_same_every_time_and_reach_black_and_white():
    made = calibration.pictures()
    assert torch.equal(made, calibration.pictures.__wrapped__())
    assert made.shape[1:] == (3, calibration.SIDE, calibration.SIDE)
    assert made.amin() == 0
    assert made.amax() == 255
    assert all(25 < picture.std() < 100 for picture in made)


def test_a_range_is_the_largest_value_of_its_channel(weights):
    found = calibration.ranges(weights, SHAPE, CPU)
    blocks = [f"res{number}.conv{part}" for number in (1, 2) for part in (1, 2)]
    assert list(found) == ["conv2", "conv3", *blocks, "deconv1", "deconv2"]
    x = torch.nn.functional.pad(calibration.pictures(), [2] * 4, mode="reflect")
    x = torch.nn.functional.conv2d(x, weights["conv1.conv2d.weight"])
    scale, bias = weights["in1.weight"], weights["in1.bias"]
    largest = torch.nn.functional.instance_norm(x, None, None, scale, bias).relu().amax((0, 2, 3))
    largest = largest.clamp(min=float(largest.max()) * calibration.LEAST)
    assert torch.allclose(found["conv2"], largest, rtol=1e-4)


def test_a_channel_that_nothing_reaches_has_a_range(weights):
    dead = {**weights, "in2.weight": weights["in2.weight"].clone()}
    dead["in2.weight"][3] = dead["in2.bias"][3] = 0
    found = calibration.ranges({**dead, "in2.bias": dead["in2.bias"]}, SHAPE, CPU)["conv3"]
    assert found[3] == pytest.approx(float(found.max()) * calibration.LEAST)


def test_where_values_are_not_finite_every_range_is_nan(weights):
    broken = {**weights, "res2.conv1.conv2d.weight": weights["res2.conv1.conv2d.weight"].clone()}
    broken["res2.conv1.conv2d.weight"][0, 0, 0, 0] = torch.inf
    found = calibration.ranges(broken, SHAPE, CPU)
    assert all(value.isnan().all() for value in found.values())


@pytest.mark.full
def test_the_full_network_has_a_range_for_every_3x3_layer():
    weights = random_weights(FULL, torch.Generator().manual_seed(0))
    found = calibration.ranges(weights, FULL, CPU)
    channels = {
        name.removesuffix(".conv2d.weight"): weight.shape[1]
        for name, weight in weights.items()
        if name.endswith("conv2d.weight") and weight.shape[-1] == 3
    }
    assert {name: len(value) for name, value in found.items()} == channels
