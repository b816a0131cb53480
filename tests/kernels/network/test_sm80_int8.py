"""Integer weights in the order that the kernels read them; this needs no GPU."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from kernels.network import sm80_int8
from kernels.weight_transforms import phase_weight

# See channel_order in network/cuda/sm80/traits.cuh.
ORDER = [*range(8), *range(16, 24), *range(8, 16), *range(24, 32)]


def unpacked(
    packed: torch.Tensor, conv, outputs: int, inputs: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return integers [blocks, taps, phases, outputs, channels], factors and reciprocal ranges."""
    count = conv.phases * conv.taps * outputs * inputs
    scales = packed[count:].view(torch.float32)
    integers = packed[:count].view(torch.int8)
    shape = inputs // conv.block_k, conv.taps, conv.phases, outputs, conv.block_k
    factors, inverse = scales.split([conv.phases * outputs, inputs])
    return integers.view(shape), factors, inverse


@pytest.mark.parametrize("name", ["down2", "same", "same_wide"])
def test_integers_times_their_factors_are_the_weights(name, described):
    told = described.sm80_int8
    conv = told.convs[name]
    weight, largest = torch.randn(24, 2 * conv.block_k, 3, 3), torch.rand(2 * conv.block_k) + 0.5
    packed = sm80_int8.packed(weight, largest, 255, conv, told)
    integers, factors, inverse = unpacked(packed, conv, 24, 2 * conv.block_k)
    assert integers.abs().max() == 127
    channels = integers[:, :, 0].permute(2, 0, 3, 1).reshape(24, -1, 32, 9).float()
    plain = torch.empty_like(channels)
    plain[:, :, ORDER] = channels
    # An input of 255 represents the range.
    again = (
        plain.reshape(weight.shape) * factors.view(-1, 1, 1, 1) * 255 * inverse.view(1, -1, 1, 1)
    )
    step = (weight * largest.view(1, -1, 1, 1)).abs().amax((1, 2, 3)) / 127
    off = ((again - weight) * largest.view(1, -1, 1, 1)).abs()
    assert (off <= step.view(-1, 1, 1, 1) * 0.501).all()
    assert torch.allclose(inverse, 1 / largest)


@pytest.mark.parametrize("name", ["up1", "up2"])
def test_each_phase_of_an_output_has_a_factor(name, described):
    told = described.sm80_int8
    conv = told.convs[name]
    weight, largest = torch.randn(8, conv.block_k, 3, 3), torch.ones(conv.block_k)
    packed = sm80_int8.packed(weight, largest, 127, conv, told)
    integers, factors, _ = unpacked(packed, conv, 8, conv.block_k)
    expected = phase_weight(weight).abs().amax((1, 2, 3)) / 127 / 127
    assert torch.allclose(factors, expected)
    assert (integers.abs().amax((0, 1, 4)) == 127).all()


def test_an_output_without_weights_is_zero(described):
    weight = torch.zeros(2, 32, 3, 3)
    weight[1] = 1
    integers, factors = sm80_int8.rounded(weight, torch.ones(32), 255)
    assert (integers[0].abs().max(), factors[0]) == (0, 0)
    assert (integers[1] == 127).all()


def test_a_range_that_is_nan_makes_every_factor_nan():
    _, factors = sm80_int8.rounded(torch.ones(2, 32, 3, 3), torch.full((32,), torch.nan), 255)
    assert factors.isnan().all()


def test_what_follows_a_sum_is_signed():
    signed = [f"res{number}.conv1" for number in (2, 3, 10)] + ["deconv1"]
    positive = ["conv3", "res1.conv1", *(f"res{number}.conv2" for number in (1, 2)), "deconv2"]
    assert all(map(sm80_int8.follows_sum, signed))
    assert not any(map(sm80_int8.follows_sum, positive))


def test_a_rounded_convolution_is_near_the_exact_one():
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(1, 32, 12, 12, generator=generator) * 3
    weight = torch.randn(16, 32, 3, 3, generator=generator)
    largest = x.amax((0, 2, 3))
    integers, factors = sm80_int8.rounded(weight, largest, 255)
    inputs = (x / largest.view(1, -1, 1, 1) * 255).round()
    got = F.conv2d(inputs, integers) * factors.view(1, -1, 1, 1)
    expected = F.conv2d(x, weight)
    assert (got - expected).square().mean() < expected.var() * 1e-4
