"""A depthwise 3x3 convolution with reflection padding, in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.table.calls import TYPES
from kernels.table.launcher import CudaLauncher
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda

__all__ = ["fused_depthwise_conv"]

LIBRARY, ON_CPU = "depthwise_cuda", "PyTorch's convolution"
THREADS, ROWS, VECTOR = 256, 4, 16  # threads per block, rows per thread, bytes per load


def _reference(x: Tensor, weight: Tensor) -> Tensor:
    _check(x, weight)
    padded = _channels_last(F.pad(x, (1, 1, 1, 1), mode="reflect"))
    return _channels_last(F.conv2d(padded, weight, groups=weight.shape[0]))


def _channels_last(x: Tensor) -> Tensor:
    """Return x in channels last, through steps that vmap supports."""
    return x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)


def _check(x: Tensor, weight: Tensor) -> None:
    if x.dim() != 4 or not x.is_floating_point() or min(x.shape[2:]) < 2:
        raise ValueError(f"depthwise: x must be [N, C, H, W] of 2x2 or more, got {list(x.shape)}")
    wanted = x.shape[1], 1, 3, 3
    if weight.shape != wanted or weight.dtype != x.dtype:
        raise ValueError(
            f"depthwise: the weight must be {x.dtype} {list(wanted)}, got {weight.dtype} "
            f"{list(weight.shape)}"
        )


def _launch(launch: CudaLauncher, x: Tensor, weight: Tensor) -> Tensor:
    _check(x, weight)
    if x.dtype not in TYPES or not x.numel():
        return _reference(x, weight)
    x, weight = x.contiguous(memory_format=torch.channels_last), weight.contiguous()
    y = torch.empty_like(x, memory_format=torch.channels_last)
    n, channels, height, width = x.shape
    each = VECTOR // x.element_size()
    aligned = not any(tensor.data_ptr() % VECTOR for tensor in (x, weight, y))
    vectors = aligned and channels % each == 0
    groups = channels // each if vectors else channels
    grid = -(-width * groups // THREADS), -(-height // ROWS), n
    numbers = TYPES[x.dtype], vectors, height, width, channels
    launch("styleforge_depthwise", grid, THREADS, x, weight, y, *numbers)
    return y


def _samples() -> Iterator[tuple[Any, ...]]:
    """Yield 16-byte and single-element loads; sizes of 2, and more rows than a thread computes."""
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for n, channels, height, width in ((1, 3, 2, 2), (2, 16, 5, 7), (1, 40, 12, 2)):
            x = torch.randn(n, channels, height, width, generator=generator).to(dtype)
            yield x, torch.randn(channels, 1, 3, 3, generator=generator).to(dtype)


@Operation(
    reference=_reference,
    samples=_samples,
    cpu=Cpu(named=ON_CPU),
    cuda=Cuda(LIBRARY, _launch),
)
def fused_depthwise_conv(x: Tensor, weight: Tensor) -> Tensor:
    """Convolve each channel of reflection-padded images with its own 3x3 kernel.

    Returns [N, C, H, W] of x's dtype, channels last.

    Args:
        x: [N, C, H, W] of any strides and floating dtype, H and W at least 2.
        weight: [C, 1, 3, 3] of x's dtype.
    """
    ...
