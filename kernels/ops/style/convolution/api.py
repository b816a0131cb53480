"""Convolutions fused with the reflection padding before them and the norm after them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.style.convolution import on_cuda
from kernels.ops.style.convolution.choice import own_kernel_is_faster
from kernels.ops.style.convolution.reference import (
    check,
    check_enlarged,
    convolve,
    convolve_normalize,
    enlarged,
    memory_format,
)
from kernels.ops.style.normalization.api import fused_instance_norm, fused_instance_norm_forward
from kernels.table.names import OPERATIONS
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda
from kernels.weight_transforms import phase_weight
from utils.tf32 import convolutions_use_tf32

__all__ = ["fused_conv_instancenorm_forward", "fused_conv_reflection_pad_forward"]


def unavailable_reason(
    device: torch.device,
    dtype: torch.dtype,
    *,
    kernel_size: int = 3,
    stride: int | tuple[int, int] = 1,
    out_channels: int = 64,
    upsample: bool = False,
    channels_last: bool = False,
) -> str:
    """Return why such a convolution runs on PyTorch's kernels, or "" if ours runs.

    The `own_kernel` argument of the operations overrules the choice of the faster one. `stride` is
    one for both directions, or height and width; `upsample` means an enlargement to twice the size
    before.
    """
    if device.type == "cpu":
        return "convolutions on the CPU run on PyTorch (oneDNN), which is faster"
    if device.type != "cuda":
        return f"no native convolution for the {device.type.upper()}; runs on PyTorch"
    if dtype not in (torch.float32, torch.float16, torch.bfloat16):
        return f"no native convolution in {dtype}; runs on PyTorch"
    if own_kernel_is_faster(
        stride=stride if isinstance(stride, int) else max(stride),
        outputs=out_channels,
        kernel=kernel_size,
        exact=dtype is torch.float32 and not convolutions_use_tf32(),
        channels_last=channels_last,
        upsample=upsample,
    ):
        return ""
    return "convolutions of stride 1 run on cuDNN, which is faster there"


def convolve_normalize_cpu(
    input: Tensor,
    conv_weight: Tensor,
    conv_bias: Tensor | None,
    norm_gamma: Tensor | None,
    norm_beta: Tensor | None,
    eps: float,
    padding: int,
    stride: int,
    relu: bool,
    upsample: bool,
    own_kernel: bool,
) -> Tensor:
    """Compute `fused_conv_instancenorm_forward` on the CPU with oneDNN and the OpenMP norm.

    After an enlargement, the convolution runs as its four phases.
    """
    if not upsample or not input.numel():
        x = enlarged(input, conv_weight, padding, stride) if upsample else input
        # The norm cancels a bias, so none is added.
        y = convolve(x, conv_weight, None, padding, stride, stride)
        return fused_instance_norm_forward(
            y.contiguous(memory_format=memory_format(input)), norm_gamma, norm_beta, eps, relu=relu
        )
    check_enlarged(conv_weight, padding, stride)
    if conv_weight.shape[1] != input.shape[1]:
        check(input, conv_weight, conv_bias, 0, 1)
    merged = phase_weight(conv_weight).to(input.dtype)
    y = F.conv2d(F.pad(input, (1, 1, 1, 1), mode="replicate"), merged)
    z = fused_instance_norm(y, norm_gamma, norm_beta, eps=eps, relu=relu, interleave=True)
    return z.contiguous(memory_format=memory_format(input))


def _normal(generator: torch.Generator, *shape: int) -> Tensor:
    scale = max(1, torch.Size(shape[1:]).numel()) ** -0.5 if len(shape) == 4 else 1.0
    return torch.randn(shape, generator=generator) * scale


def _shapes() -> Iterator[tuple[Any, ...]]:
    """Yield input, weight, bias and stride: every tile, both layouts, few and many channels."""
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for out, channels, kernel, stride in (
            (32, 3, 9, 1),
            (3, 32, 9, 1),
            (64, 32, 3, 2),
            (72, 40, 3, 1),
            (200, 64, 3, 1),
        ):
            for layout in (torch.contiguous_format, torch.channels_last):
                x = torch.randn((2, channels, 13, 22), generator=generator).to(dtype)
                weight = _normal(generator, out, channels, kernel, kernel).to(dtype)
                bias = _normal(generator, out).to(dtype)
                yield x.contiguous(memory_format=layout), weight, bias, kernel // 2, stride


def _samples() -> Iterator[tuple[Any, ...]]:
    for x, weight, bias, pad, stride in _shapes():
        yield x, weight, bias, pad, stride, stride, True


def _samples_normalized() -> Iterator[tuple[Any, ...]]:
    for x, weight, bias, pad, stride in _shapes():
        gamma, beta = bias.float() + 2, bias.float()
        yield x, weight, bias, gamma, beta, 1e-5, pad, stride, True, False, True
        if pad == stride == 1:
            yield x, weight, None, gamma, None, 1e-5, 1, 1, False, True, True


@Operation(
    reference=convolve,
    samples=_samples,
    cpu=Cpu(named="PyTorch's oneDNN convolution"),
    cuda=Cuda(OPERATIONS, on_cuda.conv_forward),
    tolerance_scale=8,
)
def fused_conv_reflection_pad_forward(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    padding_size: int,
    stride_h: int = 1,
    stride_w: int = 1,
    own_kernel: bool = False,
) -> Tensor:
    """Convolve `input` with reflection padding, on CUDA without a padded copy.

    FP32 on CUDA uses TF32 if PyTorch's convolutions may, see `torch.backends.cudnn`. Returns [N, O,
    (H + 2p - k) // stride_h + 1, (W + 2p - k) // stride_w + 1] of the input's dtype, dense, and
    channels last if the input is.

    Args:
        input: [N, C, H, W] of any strides and floating dtype.
        weight: [O, C, k, k], cast to the input's dtype, like the bias [O].
        padding_size: Pixels p on each side, less than H and W.
        stride_h: At least 1, like `stride_w`.
        own_kernel: Whether to run our CUDA kernel even if cuDNN is faster, see
            `unavailable_reason`.
    """
    ...


@Operation(
    reference=convolve_normalize,
    samples=_samples_normalized,
    cpu=Cpu(
        "instance_norm", path=convolve_normalize_cpu, named="PyTorch's oneDNN convolution + {norm}"
    ),
    cuda=Cuda(OPERATIONS, on_cuda.conv_norm_forward),
    tolerance_scale=8,
)
def fused_conv_instancenorm_forward(
    input: Tensor,
    conv_weight: Tensor,
    conv_bias: Tensor | None,
    norm_gamma: Tensor | None,
    norm_beta: Tensor | None,
    eps: float = 1e-5,
    padding: int = 1,
    stride: int = 1,
    relu: bool = False,
    upsample: bool = False,
    own_kernel: bool = False,
) -> Tensor:
    """Compute relu(norm(conv(input)) * gamma + beta) with a reflection-padded convolution.

    Our kernel computes the statistics during the convolution, before it is rounded. The norm is
    ours in any case. Returns [N, O, H', W'] as in `fused_conv_reflection_pad_forward`, twice as
    large with `upsample`.

    Args:
        input: [N, C, H, W] of any strides and floating dtype.
        conv_weight: [O, C, k, k], cast to the input's dtype.
        conv_bias: [O]. The norm cancels it; it is an argument for its gradient, which is zero.
        norm_gamma: [O], or None for ones; likewise `norm_beta`, for zeros.
        padding: Pixels on each side, less than H and W.
        stride: Stride in both directions, at least 1.
        upsample: Whether to enlarge the input to twice its size (nearest) first, at no cost: the
            convolution runs as its four phases. Requires 3x3, padding 1 and stride 1.
        own_kernel: Whether to run our CUDA kernel even if cuDNN is faster, see
            `unavailable_reason`.

    Raises:
        ValueError: If a shape is invalid, or the result is a single pixel.
    """
    ...
