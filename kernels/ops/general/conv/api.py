"""Convolutions fused with their surroundings: batch norm and ReLU, GELU and dropout, group norm.

PyTorch runs the convolutions through the vendor's libraries. In inference a batch norm becomes part
of the weights on the CPU; on a GPU it joins the pass that bias and ReLU need anyway. Activations
follow in one pass, mostly in place on the convolution's result if no gradient needs it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec

import torch
from torch import Tensor

from kernels.ops.general.conv import composed as convolved
from kernels.ops.general.conv.composed import Sizes
from kernels.ops.general.linear.api import normal
from kernels.ops.general.linear.timed import TIMED
from kernels.table.names import GENERAL
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda
from kernels.table.philox import draw_state

__all__ = ["conv2d_bn_relu", "conv2d_gelu_dropout", "depthwise_pointwise_conv", "grouped_conv_norm"]

P = ParamSpec("P")


def _images() -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield x, a weight of two groups, and a row with one element per output channel."""
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


def _convolution(**parts: Any) -> Callable[[Callable[P, Tensor]], Callable[P, Tensor]]:
    """Declare the decorated signature as a convolution composed of others.

    The function accepts an int for a pair of sizes, and draws the random state of dropout if the
    caller passes none.
    """

    def register(signature: Callable[P, Tensor]) -> Callable[P, Tensor]:
        names = list(inspect.signature(signature).parameters)

        def complete(*args: Any) -> tuple[Any, ...]:
            given = dict(zip(names, args, strict=True))
            for name in ("stride", "padding", "dilation"):
                if isinstance(given[name], int):
                    given[name] = [given[name]] * 2
            if "state" in given and given["state"] is None and given["training"] and given["p"]:
                given["state"] = draw_state(given["x"].device)
            return tuple(given.values())

        return Operation(
            cpu=Cpu("elementwise", named="PyTorch's convolution, and our kernels around it"),
            cuda=Cuda(GENERAL),
            complete=complete,
            tolerance_scale=8,
            timed=TIMED[signature.__name__],
            **parts,
        )(signature)

    return register


@_convolution(
    reference=convolved.conv2d_bn_relu_reference,
    composed=convolved.conv2d_bn_relu,
    samples=_samples_bn,
)
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
    """Compute relu(batch_norm(conv2d(x))).

    Inference needs one convolution and at most one more pass. Returns [N, out, H', W'].

    Args:
        x: [N, in, H, W]; FP16, BF16, FP32 or FP64.
        weight: [out, in / groups, height, width].
        bias: [out] or None.
        bn_weight: [out] or None for ones; likewise `bn_bias`, for zeros.
        running_mean: [out], like `running_var`; updated in training.
        momentum: Update factor of the running statistics, from 0 to 1.
        stride: Two numbers, or one for both, like `padding` and `dilation`; None for 1, 0 and 1.
    """
    ...


@_convolution(
    reference=convolved.depthwise_pointwise_reference,
    composed=convolved.depthwise_pointwise_conv,
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
    """Compute a depthwise separable convolution (Howard et al., 2017).

    It convolves each channel, then mixes the channels. Returns [N, out, H', W'].

    Args:
        x: [N, in, H, W]; FP16, BF16, FP32 or FP64.
        depthwise: [in multiplier, 1, height, width].
        pointwise: [out, in multiplier, 1, 1].
        depthwise_bias: [in multiplier] or None; pointwise_bias is [out] or None.
        activation: Activation of the result, as in `linear_activation`.
        stride: Stride of the depthwise convolution, like `padding` and `dilation`: two numbers, or
            one for both. None for 1, 0 and 1.
    """
    ...


@_convolution(
    reference=convolved.conv2d_gelu_dropout_reference,
    composed=convolved.conv2d_gelu_dropout,
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
    """Compute dropout(gelu(conv2d(x))), with the exact GELU and the dropout of `gelu_dropout`.

    Returns [N, out, H', W'].

    Args:
        x: [N, in, H, W]; FP16, BF16, FP32 or FP64.
        weight: [out, in / groups, height, width].
        bias: [out] or None.
        p: The probability that an element becomes 0, from 0 to 1, in steps of 1 / 65536.
        state: int64 [2] on x's device, a seed and an offset. Drawn if None.
        stride: Two numbers, or one for both, like `padding` and `dilation`; None for 1, 0 and 1.
    """
    ...


@_convolution(
    reference=convolved.grouped_conv_norm_reference,
    composed=convolved.grouped_conv_norm,
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
    """Compute activation(group_norm(conv2d(x))) (Wu and He, 2018).

    Returns [N, out, H', W'].

    Args:
        x: [N, in, H, W]; FP16, BF16, FP32 or FP64.
        weight: [out, in / groups, height, width].
        bias: [out] or None.
        norm_groups: Groups of the norm, a divisor of out.
        norm_weight: [out] or None for ones; likewise `norm_bias`, for zeros.
        activation: As in `linear_activation`.
        stride: Two numbers, or one for both, like `padding` and `dilation`; None for 1, 0 and 1.
    """
    ...
