"""Norm of images by given moments, with residual, ReLU and margin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.transformer.channel_norm.statistics import LIBRARY, THREADS, cut_of, vector_of
from kernels.table.calls import TYPES
from kernels.table.launcher import CudaLauncher
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda

__all__ = ["fused_channel_norm"]

ON_CPU = "PyTorch's arithmetic"
MOST_GROUPS = 12  # that the kernel merges


def _reference(
    x: Tensor,
    moments: Tensor,
    weight: Tensor,
    bias: Tensor,
    residual: Tensor | None = None,
    eps: float = 1e-5,
    relu: bool = False,
    pad: int = 0,
) -> Tensor:
    _check(x, moments, weight, bias, residual, pad)
    fine = torch.promote_types(x.dtype, torch.float32)
    count, means, squares, _ = moments.to(torch.float64).unbind(-1)
    total = count.sum(1)
    mean = (count * means).sum(1) / total
    off = means - mean[:, None]
    variance = (squares + count * off * off).sum(1) / total
    scale = weight.to(torch.float64) * torch.rsqrt(variance + eps)
    center, scale = (each.to(fine)[:, :, None, None] for each in (mean, scale))
    y = (x.to(fine) - center) * scale + bias.to(fine)[:, None, None]
    if residual is not None:
        y = y + residual
    if relu:
        y = y.relu()
    if pad:
        y = F.pad(y, (pad,) * 4, mode="reflect")
    return y.to(x.dtype).contiguous(memory_format=torch.channels_last)


def _check(
    x: Tensor, moments: Tensor, weight: Tensor, bias: Tensor, residual: Tensor | None, pad: int
) -> None:
    if x.dim() != 4 or not x.is_floating_point():
        raise ValueError(f"channel norm: x must be floating [N, C, H, W], got {list(x.shape)}")
    n, channels, height, width = x.shape
    if moments.dim() != 4 or moments.shape[::2] != (n, channels) or moments.shape[3] != 4:
        raise ValueError(
            f"channel norm: moments must be [{n}, G, {channels}, 4], got {list(moments.shape)}"
        )
    for values in (weight, bias):
        if values.shape != (channels,):
            raise ValueError(f"channel norm: expected {channels} weights and biases")
    if residual is not None and (residual.shape != x.shape or residual.dtype != x.dtype):
        raise ValueError(f"channel norm: the residual must be {x.dtype} {list(x.shape)}")
    if pad < 0 or (pad and pad >= min(height, width)):
        raise ValueError(f"channel norm: cannot pad {height}x{width} by {pad} with reflection")


def _launch(
    launch: CudaLauncher,
    x: Tensor,
    moments: Tensor,
    weight: Tensor,
    bias: Tensor,
    residual: Tensor | None = None,
    eps: float = 1e-5,
    relu: bool = False,
    pad: int = 0,
) -> Tensor:
    _check(x, moments, weight, bias, residual, pad)
    groups = moments.shape[1]
    if x.dtype not in TYPES or not x.numel() or not 0 < groups <= MOST_GROUPS:
        return _reference(x, moments, weight, bias, residual, eps, relu, pad)
    last = torch.channels_last
    x = x.contiguous(memory_format=last)
    residual = None if residual is None else residual.contiguous(memory_format=last)
    parameters = (each.to(torch.float32).contiguous() for each in (moments, weight, bias))
    n, channels, height, width = x.shape
    size = height + 2 * pad, width + 2 * pad
    y = torch.empty((n, channels, *size), dtype=x.dtype, device=x.device, memory_format=last)
    vector = vector_of(x, y, *(() if residual is None else (residual,)))
    cut = cut_of(launch, x.shape, size[0] * size[1], vector)
    numbers = height, width, channels, pad, groups, cut.columns, cut.chunk, float(eps)
    tensors = x, residual, *parameters, y
    kind = TYPES[x.dtype], vector > 1, relu
    launch("styleforge_channel_norm", cut.grid, THREADS, *tensors, *kind, *numbers)
    return y


def _samples() -> Iterator[tuple[Any, ...]]:
    """Yield one group and many, 16-byte and single-element loads, with and without the extras."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for n, channels, height, width, groups in (
            (1, 64, 11, 37, 1),
            (2, 24, 9, 8, 12),
            (1, 3, 6, 5, 2),
            (1, 8, 5, 5, 13),
        ):
            x, residual = (
                normal(n, channels, height, width)
                .to(dtype)
                .contiguous(memory_format=torch.channels_last)
                for _ in range(2)
            )
            counts = torch.arange(1.0, groups + 1)[:, None].expand(n, groups, channels)
            means, squares = normal(n, groups, channels), normal(n, groups, channels).abs() + 0.5
            moments = torch.stack((counts, means, squares * counts, means * 0), -1)
            weight, bias = normal(channels), normal(channels)
            yield x, moments, weight, bias, None, 1e-5, True, 1
            yield x, moments, weight, bias, residual, 1e-3, False, 0


@Operation(
    reference=_reference,
    samples=_samples,
    cpu=Cpu(named=ON_CPU),
    cuda=Cuda(LIBRARY, _launch),
    tolerance_scale=4,
)
def fused_channel_norm(
    x: Tensor,
    moments: Tensor,
    weight: Tensor,
    bias: Tensor,
    residual: Tensor | None = None,
    eps: float = 1e-5,
    relu: bool = False,
    pad: int = 0,
) -> Tensor:
    """Compute pad(relu(norm(x) * weight + bias + residual)) by given moments, padded by reflection.

    It equals `fused_instance_norm` if the moments were measured while x was written, as the
    network's layers do, and reads x once. Moments are merged as by Chan, Golub and LeVeque (1983),
    in a fixed order: two runs on a machine are bit-equal. Returns [N, C, H + 2 pad, W + 2 pad] of
    x's dtype, channels last.

    Args:
        x: [N, C, H, W] of any strides and floating dtype.
        moments: [N, G, C, 4] of any floating dtype: for each of G groups of pixels the count, the
            mean, the sum of squared deviations, and an ignored value.
        weight: [C] of any floating dtype, like `bias`.
        residual: [N, C, H, W] of x's dtype with any strides, or None.
        pad: Pixels on each side, less than H and W.
    """
    ...
