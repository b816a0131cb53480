"""The layers have the published names, arguments and keys, and compute accordingly."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kernels.instance_norm_wrapper import FusedInstanceNorm2d
from models.layers import ConvLayer, ResidualBlock, UpsampleConvLayer


def noise(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("stride", [1, 2])
def test_a_convolution_is_padded_by_reflection(stride: int) -> None:
    layer, x = ConvLayer(3, 8, 9, stride), noise(1, 3, 12, 17)
    conv = layer.conv2d
    expected = F.conv2d(F.pad(x, (4,) * 4, mode="reflect"), conv.weight, conv.bias, stride)
    assert torch.equal(layer(x), expected)
    assert list(layer.state_dict()) == ["conv2d.weight", "conv2d.bias"]


@pytest.mark.parametrize("upsample", [None, 1, 2, 3])
def test_an_upsampling_convolution_enlarges_first(upsample: int | None) -> None:
    layer, x = UpsampleConvLayer(3, 8, 3, stride=1, upsample=upsample), noise(1, 3, 5, 7)
    plain = ConvLayer(3, 8, 3)
    plain.load_state_dict(layer.state_dict())
    factor = upsample or 1
    enlarged = x.repeat_interleave(factor, 2).repeat_interleave(factor, 3)
    assert torch.equal(layer(x), plain(enlarged))


def test_a_residual_block_needs_only_its_channels() -> None:
    block, x = ResidualBlock(128), noise(1, 128, 6, 7)
    assert type(block.in1) is type(block.in2) is nn.InstanceNorm2d
    inner = F.instance_norm(block.conv1(x), weight=block.in1.weight, bias=block.in1.bias).relu()
    outer = F.instance_norm(block.conv2(inner), weight=block.in2.weight, bias=block.in2.bias)
    torch.testing.assert_close(block(x), outer + x)
    assert type(ResidualBlock(8, FusedInstanceNorm2d).in2) is FusedInstanceNorm2d
