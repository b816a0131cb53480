"""Convolutions with their surrounding operations, composed of PyTorch's and the table's.

Each has a reference next to it: PyTorch's calls one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.driver.context import ensure_context
from kernels.ops.general.elementwise.api import add_relu, gelu_dropout
from kernels.ops.general.fusion.api import batch_norm_relu, group_norm_relu
from kernels.ops.general.fusion.arguments import TYPES
from kernels.ops.general.linear.api import (
    ACTIVATIONS,
    check_activation,
    check_alike,
    needs_gradient,
)
from kernels.ops.general.reduction.api import channel_bias_backward
from kernels.table.direct import is_watched
from kernels.table.philox import kept_elements, kept_scale

Sizes = int | Sequence[int] | None  # of height and width, or of both


def folded(
    weight: Tensor,
    bias: Tensor | None,
    bn_weight: Tensor | None,
    bn_bias: Tensor | None,
    mean: Tensor,
    var: Tensor,
    eps: float,
) -> tuple[Tensor, Tensor]:
    """Fold a batch norm in inference into the weight and bias of a convolution."""
    scale = torch.rsqrt(var + eps)
    scale = scale if bn_weight is None else scale * bn_weight
    shift = (-mean if bias is None else bias - mean) * scale
    shift = shift if bn_bias is None else shift + bn_bias
    return weight * scale.view(-1, *(1,) * (weight.dim() - 1)), shift


def _conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sizes = None,
    padding: Sizes = None,
    dilation: Sizes = None,
    groups: int = 1,
) -> Tensor:
    return F.conv2d(x, weight, bias, stride or 1, padding or 0, dilation or 1, groups)


def _convolved(x: Tensor, weight: Tensor, bias: Tensor | None, *sizes: Any) -> Tensor:
    if bias is None or not _sums_bias_itself(x, bias):
        return _conv2d(x, weight, bias, *sizes)
    y = _conv2d(x, weight, bias.detach(), *sizes)
    # PyTorch does not annotate this return value.
    return cast("Tensor", _BiasGradient.apply(y, bias))  # pyright: ignore[reportUnknownMemberType]


def _sums_bias_itself(x: Tensor, bias: Tensor) -> bool:
    """Return whether to sum the bias gradient here, because PyTorch's sum around cuDNN is slow.

    A compiler generates its own sum, and torch.func transforms only know PyTorch's.
    """
    return _bias_is_apart(x) and needs_gradient(bias) and not is_watched()


class _BiasGradient(torch.autograd.Function):
    """Identity on a convolution's result that also routes the gradient to its bias."""

    @staticmethod
    def forward(ctx: Any, y: Tensor, _bias: Tensor) -> Tensor:
        ctx.mark_dirty(y)  # otherwise it would be a view that must not be written to
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor | None]:
        ensure_context(grads)
        return grads[0], channel_bias_backward(grads[0]) if ctx.needs_input_grad[1] else None


def _check(
    what: str,
    x: Tensor,
    weight: Tensor,
    groups: int,
    name: str = "weight",
    /,
    **others: Tensor | None,
) -> None:
    if x.dim() != 4:
        raise ValueError(
            f"{what}: x has the shape {list(x.shape)}; expected [N, channels, height, width]"
        )
    if weight.dim() != 4 or weight.shape[1] * groups != x.shape[1]:
        raise ValueError(
            f"{what}: {name} has the shape {list(weight.shape)}; expected [out, in / groups, "
            f"height, width] for {groups} groups of {list(x.shape)}"
        )
    check_alike(what, x, **{name: weight}, **others)
    for other, each in others.items():
        if each is not None and each.shape != weight.shape[:1]:
            raise ValueError(
                f"{what}: {other} has the shape {list(each.shape)}; expected [{weight.shape[0]}]"
            )


def _groups(sizes: tuple[Any, ...]) -> int:
    return sizes[3] if len(sizes) > 3 else 1


def _bias_is_apart(x: Tensor) -> bool:
    """Return whether PyTorch adds a convolution's bias in its own pass, as it does around cuDNN."""
    return x.is_cuda


def _activated(x: Tensor, activation: str) -> Tensor:
    """Apply the activation to a result that nothing else reads."""
    if activation == "relu" and not needs_gradient(x):
        return torch.relu_(x)
    return ACTIVATIONS[activation](x)


def conv2d_bn_relu(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    bn_weight: Tensor | None,
    bn_bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *sizes: Any,
) -> Tensor:
    per_channel: dict[str, Tensor | None] = {
        "bias": bias,
        "bn_weight": bn_weight,
        "bn_bias": bn_bias,
    }
    per_channel |= {"running_mean": running_mean, "running_var": running_var}
    _check("conv2d_bn_relu", x, weight, _groups(sizes), **per_channel)
    followed = needs_gradient(x, weight, bias, bn_weight, bn_bias)
    if not training and x.dtype == torch.float32 and _bias_is_apart(x) and not followed:
        mean = running_mean if bias is None else running_mean - bias
        norm = bn_weight, bn_bias, mean, running_var, False, momentum, eps
        return batch_norm_relu(_convolved(x, weight, None, *sizes), *norm)
    if training or x.dtype in (torch.float16, torch.bfloat16):
        # In these dtypes, folding the norm into the weights would round them once more.
        norm = bn_weight, bn_bias, running_mean, running_var
        given = _convolved(x, weight, bias, *sizes), *norm, training, momentum, eps
        return batch_norm_relu(*given)
    kernel, shift = folded(weight, bias, bn_weight, bn_bias, running_mean, running_var, eps)
    if followed:
        return add_relu(_convolved(x, kernel, None, *sizes), shift.view(-1, 1, 1))
    return torch.relu_(_convolved(x, kernel, shift, *sizes))


def conv2d_bn_relu_reference(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    bn_weight: Tensor | None,
    bn_bias: Tensor | None,
    mean: Tensor,
    var: Tensor,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *sizes: Any,
) -> Tensor:
    y = _conv2d(x, weight, bias, *sizes)
    return torch.relu(F.batch_norm(y, mean, var, bn_weight, bn_bias, training, momentum, eps))


def depthwise_pointwise_conv(
    x: Tensor,
    depthwise: Tensor,
    pointwise: Tensor,
    depthwise_bias: Tensor | None = None,
    pointwise_bias: Tensor | None = None,
    activation: str = "none",
    *sizes: Any,
) -> Tensor:
    what = "depthwise_pointwise_conv"
    check_activation(what, activation)
    channels = x.shape[1] if x.dim() == 4 else 1
    _check(what, x, depthwise, channels, "depthwise", depthwise_bias=depthwise_bias)
    middle = x.new_empty(0, depthwise.shape[0], 1, 1)
    _check(what, middle, pointwise, 1, "pointwise", pointwise_bias=pointwise_bias)
    y = _convolved(x, depthwise, depthwise_bias, *_by_channel(x, sizes))
    if activation == "relu" and pointwise_bias is not None and _bias_is_apart(x):
        return add_relu(F.conv2d(y, pointwise), pointwise_bias.view(-1, 1, 1))
    return _activated(_convolved(y, pointwise, pointwise_bias), activation)


def _by_channel(x: Tensor, sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    stride, padding, dilation = (*sizes, None, None, None)[:3]
    return stride, padding, dilation, x.shape[1]


def depthwise_pointwise_reference(
    x: Tensor,
    depthwise: Tensor,
    pointwise: Tensor,
    depthwise_bias: Tensor | None = None,
    pointwise_bias: Tensor | None = None,
    activation: str = "none",
    *sizes: Any,
) -> Tensor:
    y = _conv2d(x, depthwise, depthwise_bias, *_by_channel(x, sizes))
    return ACTIVATIONS[activation](F.conv2d(y, pointwise, pointwise_bias))


def conv2d_gelu_dropout(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    p: float = 0.5,
    training: bool = True,
    state: Tensor | None = None,
    *sizes: Any,
) -> Tensor:
    _check("conv2d_gelu_dropout", x, weight, _groups(sizes), bias=bias)
    return gelu_dropout(_convolved(x, weight, bias, *sizes), p, training, state)


def conv2d_gelu_dropout_reference(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    p: float = 0.5,
    training: bool = True,
    state: Tensor | None = None,
    *sizes: Any,
) -> Tensor:
    y = F.gelu(_conv2d(x, weight, bias, *sizes))
    if not training or state is None:
        return y
    return y * kept_elements(state, y.numel(), p).view(y.shape) * kept_scale(p)


def grouped_conv_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    norm_groups: int,
    norm_weight: Tensor | None = None,
    norm_bias: Tensor | None = None,
    activation: str = "none",
    eps: float = 1e-5,
    *sizes: Any,
) -> Tensor:
    what, biases = "grouped_conv_norm", {"norm_weight": norm_weight, "norm_bias": norm_bias}
    check_activation(what, activation)
    _check(what, x, weight, _groups(sizes), bias=bias, **biases)
    if norm_groups < 1 or weight.shape[0] % norm_groups:
        raise ValueError(
            f"{what}: norm_groups is {norm_groups}; expected a divisor of {weight.shape[0]}"
        )
    if activation == "relu" and _is_joined(x, weight, bias, norm_weight, norm_bias):
        of_conv, shift = (None, bias) if _bias_is_apart(x) else (bias, None)
        norm = shift, norm_groups, norm_weight, norm_bias, eps
        return group_norm_relu(_convolved(x, weight, of_conv, *sizes), *norm)
    y = _convolved(x, weight, bias, *sizes)
    return _activated(F.group_norm(y, norm_groups, norm_weight, norm_bias, eps), activation)


def _is_joined(x: Tensor, *parameters: Tensor | None) -> bool:
    """Return whether to fuse bias, group norm and ReLU here; a compiler fuses PyTorch's itself.

    torch.func transforms only know the gradients of PyTorch's operations. Under autocast PyTorch's
    norm is in FP32, not in the dtype of the convolution.
    """
    is_seen = is_watched() if needs_gradient(x, *parameters) else torch.compiler.is_compiling()
    lies_so = all(each is None or each.is_contiguous() for each in (x, *parameters))
    fits = x.dtype in TYPES and x.numel() > 0 and lies_so
    return fits and not is_seen and not torch.is_autocast_enabled(x.device.type)


def grouped_conv_norm_reference(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    norm_groups: int,
    norm_weight: Tensor | None = None,
    norm_bias: Tensor | None = None,
    activation: str = "none",
    eps: float = 1e-5,
    *sizes: Any,
) -> Tensor:
    y = _conv2d(x, weight, bias, *sizes)
    return ACTIVATIONS[activation](F.group_norm(y, norm_groups, norm_weight, norm_bias, eps))
