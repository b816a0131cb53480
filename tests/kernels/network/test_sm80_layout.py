"""Weights in the order that the mma.sync kernels read them; this needs no GPU."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from kernels.network import sm80
from kernels.network.abi import ProductAxes
from kernels.network.shapes import WITH_KERNELS

PARTS = ["sm75", "sm80"]
SMALL = ["down1_small", "down2_small", "same_small"]
FULL = ["down1", "down2", "same", "same_wide", *SMALL]
NINE_TAPS = [("sm80", "full", name) for name in FULL]
NINE_TAPS += [("sm80", "lite", name) for name in ("down1", "down2", "same", "same_wide")]
NINE_TAPS += [("sm75", network, name) for network in WITH_KERNELS for name in ("down1", "same")]
PHASES = list(itertools.product(PARTS, WITH_KERNELS, ("up1", "up2")))
PHASES += [("sm80", "full", "up2_small")]


@pytest.mark.parametrize(("part", "network", "name"), NINE_TAPS)
def test_a_layer_of_nine_taps_keeps_its_weights(part, network, name, described):
    told = getattr(described, part)
    conv = told.networks[network].convs[name]
    weight = torch.randn(24, 2 * conv.block_k, 3, 3)
    packed = sm80.layer_weight(weight, conv, told, torch.float32)
    # As conv3x3.cuh reads them: channel block, tap, copy, phase, output, channel.
    blocks, taps, copies, phases, outputs, channels = packed.shape
    assert (blocks, taps, copies, phases, outputs, channels) == (2, 9, 1, 1, 24, conv.block_k)
    assert torch.equal(packed[:, :, 0, 0].permute(2, 0, 3, 1).reshape(weight.shape), weight)


@pytest.mark.parametrize(("part", "network", "name"), PHASES)
def test_phases_are_the_enlarged_convolution(part, network, name, described):
    told = getattr(described, part)
    conv = told.networks[network].convs[name]
    weight = torch.randn(8, conv.block_k, 3, 3)
    x = torch.randn(1, conv.block_k, 5, 6, dtype=torch.float64)
    packed = sm80.layer_weight(weight, conv, told, torch.float32).double()
    enlarged = F.pad(F.interpolate(x, scale_factor=2), (1, 1, 1, 1), mode="reflect")
    expected = F.conv2d(enlarged, weight.double())
    actual = torch.empty_like(expected)
    patch = F.pad(x, (1, 1, 1, 1), mode="replicate")
    for phase in range(4):
        a, b = divmod(phase, 2)
        taps = packed[:, :, 0, phase].permute(2, 0, 3, 1).reshape(8, conv.block_k, 2, 2)
        actual[..., a::2, b::2] = F.conv2d(patch, taps)[..., a : a + 5, b : b + 6]
    assert torch.allclose(actual, expected, atol=1e-4)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("network", WITH_KERNELS)
def test_the_first_layer_has_two_taps_in_sixteen_bytes(network, part, described):
    first, shape = getattr(described, part).networks[network].first, WITH_KERNELS[network]
    outer, side = shape.widths[0], shape.end_kernel
    weight = torch.randn(outer, 3, side, side)
    (packed,) = sm80.first_weight(weight, first, getattr(described, part), torch.float32)
    assert packed.shape == (outer, first.depth)
    assert first.depth % 16 == 0
    taps = packed[:, : side * (side + 1) * 4].view(outer, side, side + 1, 4)
    assert torch.equal(taps[:, :, :side, :3].permute(0, 3, 1, 2), weight)
    assert packed.count_nonzero() == weight.count_nonzero()


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("network", WITH_KERNELS)
def test_the_last_layer_has_its_columns_as_outputs(network, part, described):
    last, shape = getattr(described, part).networks[network].last, WITH_KERNELS[network]
    outer, side = shape.widths[0], shape.end_kernel
    weight = torch.randn(3, outer, side, side)
    (packed,) = sm80.last_weight(weight, last, getattr(described, part), torch.float32)
    assert packed.shape == (last.rows, last.depth) == (-(-side * 3 // 16) * 16, side * outer)
    taps = packed[: side * 3].view(side, 3, side, outer)  # column, color, row, channel
    assert torch.equal(taps.permute(1, 3, 2, 0), weight)
    assert packed[side * 3 :].count_nonzero() == 0


def test_the_library_decides_the_order_of_the_first_and_the_last_layers_weights(described):
    last, weight = described.sm80.networks["full"].last, torch.randn(3, 32, 9, 9)
    turned = replace(last, weight_order=ProductAxes.parse("color:3 column:9 | channel:32 row:9"))
    arguments = described.sm80, torch.float32
    rows = sm80.last_weight(weight, turned, *arguments)[0, :27].view(3, 9, 32, 9)
    assert torch.equal(rows.permute(0, 2, 3, 1), weight)
    for order in ("color:3 | channel:32 row:9", "color:3 column:8 | channel:32 row:9"):
        with pytest.raises(ValueError, match=r"cannot be laid out|do not fit"):
            sm80.last_weight(
                weight, replace(last, weight_order=ProductAxes.parse(order)), *arguments
            )


# The order of sixteen channels in FP32: see channel_order in network/cuda/sm80/traits.cuh.
ORDER = [0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15]


@pytest.mark.parametrize("precision", ["tf32", "fp32"])
def test_in_fp32_channels_are_in_the_order_of_the_operands(precision, described):
    told = described.sm80_in(precision)
    conv, last = told.networks["full"].convs["same"], told.networks["full"].last
    weight = torch.randint(-99, 99, (24, 128, 3, 3)).float()  # exact in FP16
    packed = sm80.layer_weight(weight, conv, told, torch.float16)[:, :, 0, 0].float()
    channels = packed.permute(2, 0, 3, 1).reshape(24, 8, 16, 3, 3)
    assert torch.equal(channels, weight.view(24, 8, 16, 3, 3)[:, :, ORDER])
    weight = torch.randint(-99, 99, (3, 32, 9, 9)).float()
    taps = sm80.last_weight(weight, last, told, torch.float16)[0, :27].float().view(9, 3, 9, 2, 16)
    assert torch.equal(taps.permute(1, 3, 4, 2, 0), weight.view(3, 2, 16, 9, 9)[:, :, ORDER])


def test_in_fp32_the_copies_of_a_weight_add_up_to_it(described):
    told, fp16 = described.sm80_fp32, torch.float16
    down1, last = told.networks["full"].convs["down1"], told.networks["full"].last
    one = replace(told, operand_copies=1)
    weight, edge = torch.randn(64, 32, 3, 3), torch.randn(3, 32, 9, 9)
    (exact,) = sm80.layer_weight(weight, down1, one, torch.float32).unbind(2)
    high, low = sm80.layer_weight(weight, down1, told, fp16).float().unbind(2)
    assert torch.equal(high, exact.half().float())
    assert (high + low - exact).abs().max() <= exact.abs().max() * 2**-22
    (exact,) = sm80.last_weight(edge, last, one, torch.float32)
    high, low = sm80.last_weight(edge, last, told, fp16).float()
    assert torch.equal(high, exact.half().float())
    assert (high + low - exact).abs().max() <= exact.abs().max() * 2**-22
