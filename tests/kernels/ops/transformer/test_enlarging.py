"""A convolution before the enlargement equals one after it, at the border too."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.transformer.enlarging.api import (
    fused_enlarging_interleave_out,
    fused_enlarging_pad_out,
)
from kernels.ops.transformer.enlarging.reference import padded_size
from kernels.weight_transforms import bilinear_phase_weight
from models.vit_convolutions import EnlargingConv


def empty(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return (
        torch.empty(shape, dtype=dtype)
        .contiguous(memory_format=torch.channels_last)
        .fill_(9e4 if dtype.itemsize > 2 else 6e4)
    )


def without_bias(layer: EnlargingConv, x: Tensor) -> Tensor:
    bias = layer.conv2d.bias
    assert bias is not None
    return layer(x) - bias[:, None, None]


def enlarged(layer: EnlargingConv, x: Tensor, skip: Tensor | None = None) -> Tensor:
    """Compute the layer without its bias, as one convolution at the size of `x`."""
    n, channels, height, width = x.shape
    padded = empty(n, channels, *padded_size(height, width), dtype=x.dtype)
    fused_enlarging_pad_out(x, padded)
    weight = bilinear_phase_weight(layer.conv2d.weight)
    z = F.conv2d(padded, weight).contiguous(memory_format=torch.channels_last)
    out = empty(n, weight.shape[0] // 4, 2 * height, 2 * width, dtype=x.dtype)
    fused_enlarging_interleave_out(z, skip, out)
    return out


@pytest.mark.parametrize("height", [2, 3, 4, 9])
@pytest.mark.parametrize("width", [2, 3, 5, 12])
@torch.no_grad()
def test_it_equals_the_convolution_of_the_enlarged_picture_to_the_last_row(height, width):
    torch.manual_seed(0)
    layer = EnlargingConv(5, 4, 3).double()
    x = torch.randn(2, 5, height, width, dtype=torch.float64)
    wanted = without_bias(layer, x)
    torch.testing.assert_close(enlarged(layer, x), wanted, atol=1e-12, rtol=0)


@torch.no_grad()
def test_another_picture_is_added():
    torch.manual_seed(1)
    layer = EnlargingConv(3, 2, 3).double()
    x, skip = torch.randn(1, 3, 4, 6).double(), torch.randn(1, 2, 8, 12).double()
    torch.testing.assert_close(
        enlarged(layer, x, skip), enlarged(layer, x) + skip, atol=1e-12, rtol=0
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@torch.no_grad()
def test_in_half_precision_the_border_is_as_exact_as_the_rest(dtype):
    torch.manual_seed(2)
    layer = EnlargingConv(16, 8, 3)
    x = torch.randn(1, 16, 8, 8).to(dtype)
    wanted = without_bias(layer, x.float())
    layer.to(dtype)
    error = (enlarged(layer, x).float() - wanted).square()
    inside = float(error[..., 1:-1, 1:-1].mean())
    assert float(error[..., 0, :].mean()) < 4 * inside
    assert float(error[..., -1].mean()) < 4 * inside
    assert inside < 2e-3 * float(wanted.square().mean())
