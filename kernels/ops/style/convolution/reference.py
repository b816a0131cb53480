"""PyTorch references of convolutions, with and without a norm, and their argument checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.style.normalization.reference import instance_norm_reference


def memory_format(x: Tensor) -> torch.memory_format:
    """Return the layout of an operation's result: channels last only if its input `x` is."""
    last = not x.is_contiguous() and x.is_contiguous(memory_format=torch.channels_last)
    return torch.channels_last if last else torch.contiguous_format


def convolve(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    padding_size: int,
    stride_h: int = 1,
    stride_w: int = 1,
    own_kernel: bool = False,
) -> Tensor:
    check(input, weight, bias, padding_size, min(stride_h, stride_w))
    return pad_and_convolve(input, weight, bias, padding_size, stride_h, stride_w)


def pad_and_convolve(
    x: Tensor, weight: Tensor, bias: Tensor | None, pad: int, stride_h: int = 1, stride_w: int = 1
) -> Tensor:
    layout = memory_format(x)
    if pad and x.numel():
        x = F.pad(x, (pad,) * 4, mode="reflect")
    elif pad:
        grown = [side + 2 * pad for side in x.shape[2:]]
        x = x.new_empty((*x.shape[:2], *grown))
    # Comparing a tensor's dtype takes less time than `to`, which compares as well.
    dtype = x.dtype
    if weight.dtype is not dtype:
        weight = weight.to(dtype)
    if bias is not None and bias.dtype is not dtype:
        bias = bias.to(dtype)
    y = F.conv2d(x, weight, bias, (stride_h, stride_w))
    return y if y.is_contiguous(memory_format=layout) else y.contiguous(memory_format=layout)


def convolve_normalize(
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
    x = enlarged(input, conv_weight, padding, stride) if upsample else input
    y = convolve(x, conv_weight, conv_bias, padding, stride, stride)
    y = y.contiguous(memory_format=memory_format(input))
    return instance_norm_reference(y, norm_gamma, norm_beta, None, eps, relu)


def enlarged(x: Tensor, weight: Tensor, padding: int, stride: int) -> Tensor:
    """Return x at twice the size, each pixel repeated, for a valid following convolution."""
    check_enlarged(weight, padding, stride)
    if not x.numel():
        return x.new_empty((*x.shape[:2], 2 * x.shape[2], 2 * x.shape[3]))
    return F.interpolate(x, scale_factor=2, mode="nearest")


def check_enlarged(weight: Tensor, padding: int, stride: int) -> None:
    """Raise ValueError unless the convolution may follow an enlargement."""
    if weight.dim() != 4 or weight.shape[2] != 3 or padding != 1 or stride != 1:
        raise ValueError("convolution: upsampling needs a 3x3 kernel with padding 1 and stride 1")


def check(x: Tensor, weight: Tensor, bias: Tensor | None, pad: int, stride: int) -> None:
    """Raise ValueError for an invalid reflection-padded convolution; `stride` is the smaller."""
    check_weight(x, weight, bias)
    height, width = x.shape[2:]
    if stride < 1:
        raise ValueError(f"convolution: stride must be at least 1, not {stride}")
    if pad < 0 or pad >= min(height, width):
        raise ValueError(f"convolution: cannot pad {height}x{width} by {pad} with reflection")
    if min(height, width) + 2 * pad < weight.shape[2]:
        raise ValueError(
            f"convolution: {height}x{width} padded by {pad} is smaller than the kernel"
        )


def check_weight(x: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """Raise ValueError unless weight and bias fit a square kernel for the channels of `x`."""
    if x.dim() != 4:
        raise ValueError(f"convolution: expected [N, C, H, W], got {list(x.shape)}")
    channels = x.shape[1]
    if weight.dim() != 4 or weight.shape[1] != channels or weight.shape[2] != weight.shape[3]:
        raise ValueError(
            f"convolution: expected weights [O, {channels}, k, k], got {list(weight.shape)}"
        )
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        raise ValueError(f"convolution: expected {weight.shape[0]} weights and biases")


def apply_block(unit: Callable[..., Tensor], input: Tensor, *args: Any) -> Tensor:
    """Return the sum of `input` and two units, each a convolution with its norm, by `unit`.

    All other arguments match `fused_residual_block_forward`.
    """
    first, second, eps = args[:4], args[4:8], args[8]
    check_block(input, first[0], second[0])
    inside = unit(input, *first, eps, 1, 1, True, False, False)
    y = unit(inside, *second, eps, 1, 1, False, False, False) + input
    return y.contiguous(memory_format=memory_format(input))


def check_block(x: Tensor, first: Tensor, second: Tensor) -> None:
    """Raise ValueError unless the two convolutions map the channels of `x` back to themselves."""
    if not (
        x.dim() == first.dim() == second.dim() == 4
        and first.shape[1:] == (x.shape[1], 3, 3)
        and second.shape == (x.shape[1], first.shape[0], 3, 3)
    ):
        raise ValueError(
            "residual block: expected two 3x3 convolutions that lead back to "
            f"{list(x.shape)[1:2]} channels"
        )


def residual_block(*args: Any) -> Tensor:
    return apply_block(convolve_normalize, *args)
