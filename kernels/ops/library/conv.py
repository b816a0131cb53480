"""Convolutions with what surrounds them: batch norm and ReLU, GELU and dropout, group norm.

Convolutions are PyTorch's, which calls the vendor's libraries. Batch norm in inference becomes part
of the weights on the CPU, and on a GPU of the pass that bias and ReLU need anyway. Activations
follow in one pass, mostly over the convolution's result where nothing is kept for a gradient.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.driver.context import ensure_context
from kernels.ops.direct import is_watched
from kernels.ops.fusions.arguments import TYPES
from kernels.ops.library.elementwise import add_relu, gelu_dropout
from kernels.ops.library.fusion import batch_norm_relu, group_norm_relu
from kernels.ops.library.linear import (
    ACTIVATIONS,
    check_activation,
    check_alike,
    needs_gradient,
    normal,
)
from kernels.ops.library.reduction import channel_bias_backward
from kernels.ops.library.timed import TIMED
from kernels.ops.registry import LIBRARY, fused
from kernels.ops.transformer_reference.philox import draw_state, kept_elements, kept_scale

P = ParamSpec("P")
Sizes = list[int] | None  # of height and width; None is what nn.Conv2d has by default


def folded(
    weight: Tensor,
    bias: Tensor | None,
    bn_weight: Tensor | None,
    bn_bias: Tensor | None,
    mean: Tensor,
    var: Tensor,
    eps: float,
) -> tuple[Tensor, Tensor]:
    """The weights and the bias of a convolution that has a batch norm in inference in it.

    Args:
        weight: [out, ...].
        bias: [out] or None.
        bn_weight: [out] or None for ones.
        bn_bias: [out] or None for zeros.
        mean: [out], the running mean.
        var: [out], the running variance.
        eps: Of the batch norm.
    """
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
    """As `_conv2d`."""
    if bias is None or not _sums_bias_itself(x, bias):
        return _conv2d(x, weight, bias, *sizes)
    y = _conv2d(x, weight, bias.detach(), *sizes)
    # PyTorch gives no types to what this returns.
    return cast("Tensor", _BiasGradient.apply(y, bias))  # pyright: ignore[reportUnknownMemberType]


def _sums_bias_itself(x: Tensor, bias: Tensor) -> bool:
    """Whether the gradient of a bias is summed here: around cuDNN PyTorch's sum is a slow one.

    A compiler makes one of its own, and transforms of torch.func know PyTorch's.
    """
    return _bias_is_apart(x) and needs_gradient(bias) and not is_watched()


class _BiasGradient(torch.autograd.Function):
    """What a convolution gave, as what follows from its bias as well."""

    @staticmethod
    def forward(ctx: Any, y: Tensor, _bias: Tensor) -> Tensor:
        ctx.mark_dirty(y)  # or else it would be a view, which nobody may write to
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
    if x.dim() != 4 or weight.dim() != 4 or weight.shape[1] * groups != x.shape[1]:
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
    """Whether PyTorch adds the bias of a convolution in a pass of its own: around cuDNN it does."""
    return x.is_cuda


def _activated(x: Tensor, activation: str) -> Tensor:
    """Of a result that nothing else reads."""
    if activation == "relu" and not needs_gradient(x):
        return torch.relu_(x)
    return ACTIVATIONS[activation](x)


def _conv2d_bn_relu(
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
        return cast("Tensor", batch_norm_relu(_convolved(x, weight, None, *sizes), *norm))
    if training or x.dtype in (torch.float16, torch.bfloat16):
        # In these types, weights with the norm in them would be rounded once more.
        norm = bn_weight, bn_bias, running_mean, running_var
        given = _convolved(x, weight, bias, *sizes), *norm, training, momentum, eps
        return cast("Tensor", batch_norm_relu(*given))  # statistics are the dispatcher's alone
    kernel, shift = folded(weight, bias, bn_weight, bn_bias, running_mean, running_var, eps)
    if followed:
        return add_relu(_convolved(x, kernel, None, *sizes), shift.view(-1, 1, 1))
    return torch.relu_(_convolved(x, kernel, shift, *sizes))


def _conv2d_bn_relu_reference(
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


def _depthwise_pointwise_conv(
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


def _depthwise_pointwise_reference(
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


def _conv2d_gelu_dropout(
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


def _conv2d_gelu_dropout_reference(
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


def _grouped_conv_norm(
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
        # What is kept is the dispatcher's alone.
        return cast("Tensor", group_norm_relu(_convolved(x, weight, of_conv, *sizes), *norm))
    y = _convolved(x, weight, bias, *sizes)
    return _activated(F.group_norm(y, norm_groups, norm_weight, norm_bias, eps), activation)


def _is_joined(x: Tensor, *parameters: Tensor | None) -> bool:
    """Whether bias, group norm and ReLU are joined here; a compiler joins PyTorch's itself.

    Transforms of torch.func know the gradients of PyTorch's alone. Under autocast its norm is in
    FP32, and not in the dtype of the convolution.
    """
    is_seen = is_watched() if needs_gradient(x, *parameters) else torch.compiler.is_compiling()
    lies_so = all(each is None or each.is_contiguous() for each in (x, *parameters))
    fits = x.dtype in TYPES and x.numel() > 0 and lies_so
    return fits and not is_seen and not torch.is_autocast_enabled(x.device.type)


def _grouped_conv_norm_reference(
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


def _images() -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """x, a weight of two groups, and what has an element for each channel of the result."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, channels = normal(0, 2, 4, 6, 5).to(dtype), normal(2, 6).to(dtype)
        yield x, normal(1, 6, 2, 3, 3).to(dtype), channels
        yield x.to(memory_format=torch.channels_last), normal(1, 6, 2, 3, 3).to(dtype), channels


def _samples_bn() -> Iterator[tuple[Any, ...]]:
    for x, weight, row in _images():
        norm = row + 1, row, row.clone(), row.square() + 1
        yield x[:1], weight, None, *norm, False, 0.1, 1e-5, None, None, None, 2
        yield x, weight, row, *norm, True, 0.1, 1e-5, [2, 1], [1, 1], [1, 2], 2


def _samples_depthwise() -> Iterator[tuple[Any, ...]]:
    for x, weight, row in _images():
        depthwise, pointwise = weight[:4, :1], normal(3, 6, 4, 1, 1).to(x)
        yield x, depthwise, pointwise, None, None, "none", [2, 2], [1, 1], None
        yield x, depthwise, pointwise, row[:4], row, "relu", None, None, None


def _samples_dropout() -> Iterator[tuple[Any, ...]]:
    for x, weight, row in _images():
        state = torch.tensor([12345, 678])
        yield x, weight, row, 0.25, True, state, None, [1, 1], None, 2
        yield x[:1], weight, None, 0.25, False, None, None, None, None, 2


def _samples_group_norm() -> Iterator[tuple[Any, ...]]:
    for x, weight, row in _images():
        yield x, weight, row, 3, row + 1, row, "relu", 1e-5, [2, 2], [1, 1], None, 2
        yield x, weight, None, 2, None, None, "gelu", 1e-5, None, None, None, 2


def _convolution(**options: Any) -> Callable[[Callable[P, Tensor]], Callable[P, Tensor]]:
    """Register the decorated signature; a size may be one number, and a random state is drawn."""

    def register(signature: Callable[P, Tensor]) -> Callable[P, Tensor]:
        arguments = inspect.signature(signature)

        def complete(*args: P.args, **kwargs: P.kwargs) -> tuple[Any, ...]:
            bound = arguments.bind(*args, **kwargs)
            bound.apply_defaults()
            given = bound.arguments
            for name in ("stride", "padding", "dilation"):
                if isinstance(given[name], int):
                    given[name] = [given[name]] * 2
            if "state" in given and given["state"] is None and given["training"] and given["p"]:
                given["state"] = draw_state(given["x"].device)
            return bound.args

        return fused(
            "elementwise",
            on_cpu="PyTorch's convolution, and our elementwise kernels",
            cuda=LIBRARY,
            family=LIBRARY,
            timed=TIMED,
            tolerance_scale=8,
            complete=complete,
            **options,
        )(signature)

    return register


@_convolution(reference=_conv2d_bn_relu_reference, composed=_conv2d_bn_relu, samples=_samples_bn)
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
    stride: Sizes = None,
    padding: Sizes = None,
    dilation: Sizes = None,
    groups: int = 1,
) -> Tensor:
    """relu(batch_norm(conv2d(x))); in inference one convolution, and one pass at most.

    Args:
        x: [N, in, H, W]; FP16, BF16, FP32 or FP64.
        weight: [out, in / groups, height, width].
        bias: [out] or None.
        bn_weight: [out] or None for ones.
        bn_bias: [out] or None for zeros.
        running_mean: [out]; updated in training.
        running_var: [out]; updated in training.
        training: Whether the norm is by the statistics of x.
        momentum: Of the update, from 0 to 1.
        eps: Added to the variance.
        stride: Two numbers, or one for both; None for 1.
        padding: Two numbers, or one for both; None for 0.
        dilation: Two numbers, or one for both; None for 1.
        groups: Of the convolution.

    Returns:
        [N, out, H', W'].

    Raises:
        ValueError: A shape, a dtype or a device does not fit.
    """
    ...


@_convolution(
    reference=_depthwise_pointwise_reference,
    composed=_depthwise_pointwise_conv,
    samples=_samples_depthwise,
)
def depthwise_pointwise_conv(
    x: Tensor,
    depthwise: Tensor,
    pointwise: Tensor,
    depthwise_bias: Tensor | None = None,
    pointwise_bias: Tensor | None = None,
    activation: str = "none",
    stride: Sizes = None,
    padding: Sizes = None,
    dilation: Sizes = None,
) -> Tensor:
    """A depthwise separable convolution (Howard et al., 2017): by channel, then across channels.

    Args:
        x: [N, in, H, W]; FP16, BF16, FP32 or FP64.
        depthwise: [in multiplier, 1, height, width].
        pointwise: [out, in multiplier, 1, 1].
        depthwise_bias: [in multiplier] or None.
        pointwise_bias: [out] or None.
        activation: Of the result, as that of `linear_activation`.
        stride: Of the first; two numbers, or one for both; None for 1.
        padding: Of the first; two numbers, or one for both; None for 0.
        dilation: Of the first; two numbers, or one for both; None for 1.

    Returns:
        [N, out, H', W'].

    Raises:
        ValueError: A shape, a dtype, a device or `activation` does not fit.
    """
    ...


@_convolution(
    reference=_conv2d_gelu_dropout_reference,
    composed=_conv2d_gelu_dropout,
    samples=_samples_dropout,
)
def conv2d_gelu_dropout(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    p: float = 0.5,
    training: bool = True,
    state: Tensor | None = None,
    stride: Sizes = None,
    padding: Sizes = None,
    dilation: Sizes = None,
    groups: int = 1,
) -> Tensor:
    """dropout(gelu(conv2d(x))), with the exact GELU and dropout as `gelu_dropout` has it.

    Args:
        x: [N, in, H, W]; FP16, BF16, FP32 or FP64.
        weight: [out, in / groups, height, width].
        bias: [out] or None.
        p: The probability that an element becomes 0, from 0 to 1, in steps of 1 / 65536.
        training: Whether anything is dropped.
        state: int64 [2] on x's device, a seed and an offset. Drawn where it is None.
        stride: Two numbers, or one for both; None for 1.
        padding: Two numbers, or one for both; None for 0.
        dilation: Two numbers, or one for both; None for 1.
        groups: Of the convolution.

    Returns:
        [N, out, H', W'].

    Raises:
        ValueError: A shape, a dtype, a device, `p` or `state` does not fit.
    """
    ...


@_convolution(
    reference=_grouped_conv_norm_reference,
    composed=_grouped_conv_norm,
    samples=_samples_group_norm,
)
def grouped_conv_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    norm_groups: int,
    norm_weight: Tensor | None = None,
    norm_bias: Tensor | None = None,
    activation: str = "none",
    eps: float = 1e-5,
    stride: Sizes = None,
    padding: Sizes = None,
    dilation: Sizes = None,
    groups: int = 1,
) -> Tensor:
    """activation(group_norm(conv2d(x))) (Wu and He, 2018).

    Args:
        x: [N, in, H, W]; FP16, BF16, FP32 or FP64.
        weight: [out, in / groups, height, width].
        bias: [out] or None.
        norm_groups: Of the norm, a divisor of out.
        norm_weight: [out] or None for ones.
        norm_bias: [out] or None for zeros.
        activation: As that of `linear_activation`.
        eps: Added to the variance.
        stride: Two numbers, or one for both; None for 1.
        padding: Two numbers, or one for both; None for 0.
        dilation: Two numbers, or one for both; None for 1.
        groups: Of the convolution.

    Returns:
        [N, out, H', W'].

    Raises:
        ValueError: A shape, a dtype, a device, `activation` or `norm_groups` does not fit.
    """
    ...
