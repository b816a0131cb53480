"""Batch norm fused with ReLU: reference, gradients, and the kernels for both kinds of device.

Both devices run the same functions: channel sums, the affine step with ReLU, and its gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.general.fusion import held
from kernels.ops.general.fusion.arguments import TYPES, check_shape, common_dtype, mean_and_variance
from kernels.ops.general.fusion.channel_passes import Passes
from kernels.table.launcher import CpuLauncher, CudaLauncher

NAME = "batch_norm_relu"
PARTS_ON_CPU = 32  # of all samples, for channels last
# The CPU handles channels one by one if there are at least this many, and if one has at most the
# bytes that fit a core's caches.
LEAST_CHANNELS, MOST_BYTES = 32, 1 << 20


class Layout(NamedTuple):
    """A dense tensor as [samples, channels, inner], with contiguous inner elements.

    `samples` is how many times the channels repeat; `inner` is 1 for channels last.
    """

    samples: int
    channels: int
    inner: int
    memory_format: torch.memory_format

    @property
    def each(self) -> int:
        """The number of elements per channel."""
        return self.samples * self.inner


class Kernels(NamedTuple):
    """The functions of a library.

    Attributes:
        train: Called with x, weight and bias as FP32 [channels], the output, and eps. Returns FP32
            [channels]: the means of x and the reciprocal standard deviations that it normalizes by.
        evaluate: Like `train`, called with the means and variances to normalize by after x.
        backward: Called with grad, x, the mean, inverse, weight and bias, the output, and whether
            the statistics depend on x. Returns FP32 [2, channels]: the gradients of weight and
            bias.
    """

    train: Callable[..., tuple[Tensor, Tensor]]
    evaluate: Callable[..., tuple[Tensor, Tensor]]
    backward: Callable[..., Tensor]


def checked(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor | None,
    var: Tensor | None,
    training: bool,
) -> Layout:
    """Return the layout of x as a dense tensor.

    Raises:
        ValueError: If an argument is invalid.
    """
    if x.dim() < 2:
        raise ValueError(f"{NAME}: x has the shape {list(x.shape)}; expected [N, C, ...]")
    given = {"weight": weight, "bias": bias, "running_mean": mean, "running_var": var}
    common_dtype(NAME, {"x": x, **given})
    channels = x.shape[1]
    for argument, value in given.items():
        check_shape(NAME, argument, value, torch.Size([channels]))
    if (mean is None) != (var is None):
        raise ValueError(f"{NAME}: expected both running_mean and running_var, or neither")
    each = x.numel() // max(channels, 1)
    if not training and mean is None:
        raise ValueError(f"{NAME}: running_mean is None; expected [{channels}] in evaluation")
    if training and each == 1:
        raise ValueError(
            f"{NAME}: x has the shape {list(x.shape)}; expected more than one value per channel in "
            "training"
        )
    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(x.dim())
    if last is not None and not x.is_contiguous() and x.is_contiguous(memory_format=last):
        return Layout(each, channels, 1, last)
    inner = math.prod(x.shape[2:])
    return Layout(x.shape[0], channels, inner, torch.contiguous_format)


def reference(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor | None,
    var: Tensor | None,
    training: bool,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return relu(batch_norm(x)), and the mean and reciprocal standard deviation it normalizes by.

    FP16 and BF16 are computed in FP32. The last two results are FP32 (FP64 for FP64).
    """
    layout = checked(x, weight, bias, mean, var, training)
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    middle, inverse = _statistics(wide, mean, var, training, eps)
    y = F.relu(_affine(_normed(wide, middle, inverse), weight, bias)).to(x.dtype)
    return y.contiguous(memory_format=layout.memory_format), middle, inverse


def reference_backward(
    grad: Tensor,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    inverse: Tensor,
    training: bool,
    eps: float,
) -> list[Tensor]:
    """Return the gradients of x, and of weight and bias if given.

    In training `mean` and `inverse` are recomputed from x, so that second derivatives are right.
    """
    check_shape(f"{NAME}_backward", "grad", grad, x.shape)
    layout = checked(x, weight, bias, mean, inverse, False)
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    if training:
        mean, inverse = _statistics(wide, None, None, True, eps)
    normed = _normed(wide, mean, inverse)
    z = _affine(normed, weight, bias)
    g = torch.where(z <= 0, torch.zeros_like(wide), grad.to(wide.dtype))
    dims = [d for d in range(x.dim()) if d != 1]
    of_weight, of_bias = (g * normed).sum(dims), g.sum(dims)
    dx = g
    if training:
        share = 1 / max(1, layout.each)
        dx = g - _spread(of_bias * share, x) - normed * _spread(of_weight * share, x)
    scale = inverse if weight is None else inverse * weight.to(wide.dtype)
    dx = (dx * _spread(scale, x)).to(x.dtype).contiguous(memory_format=layout.memory_format)
    return [dx, *_of_parameters(weight, bias, of_weight, of_bias)]


def _statistics(
    x: Tensor, mean: Tensor | None, var: Tensor | None, training: bool, eps: float
) -> tuple[Tensor, Tensor]:
    if training or mean is None or var is None:
        dims = [d for d in range(x.dim()) if d != 1]
        mean, var = mean_and_variance(x, dims, False)
        return mean, torch.rsqrt(var + eps)
    return mean.to(x.dtype, copy=True), torch.rsqrt(var.to(x.dtype) + eps)


def _spread(of_channels: Tensor, x: Tensor) -> Tensor:
    return of_channels.to(torch.promote_types(x.dtype, torch.float32)).reshape(
        1, -1, *(1,) * (x.dim() - 2)
    )


def _normed(x: Tensor, mean: Tensor, inverse: Tensor) -> Tensor:
    return (x - _spread(mean, x)) * _spread(inverse, x)


def _affine(normed: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    z = normed if weight is None else normed * _spread(weight, normed)
    return z if bias is None else z + _spread(bias, normed)


def _of_parameters(
    weight: Tensor | None, bias: Tensor | None, of_weight: Tensor, of_bias: Tensor
) -> list[Tensor]:
    pairs = ((weight, of_weight), (bias, of_bias))
    return [found.to(of.dtype) for of, found in pairs if of is not None]


def forward(
    kernels: Callable[[Layout, torch.dtype], Kernels],
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor | None,
    var: Tensor | None,
    training: bool,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    layout = checked(x, weight, bias, mean, var, training)
    if x.dtype not in TYPES or not x.numel():
        return reference(x, weight, bias, mean, var, training, eps)
    run, x = kernels(layout, x.dtype), x.contiguous(memory_format=layout.memory_format)
    y = torch.empty_like(x)
    if training or mean is None or var is None:
        middle, inverse = run.train(x, *_parameters(weight, bias, layout.channels, x), y, eps)
    else:
        mean, var = mean.float().contiguous(), var.float().contiguous()
        given = mean, var, *_parameters(weight, bias, layout.channels, x)
        middle, inverse = run.evaluate(x, *given, y, eps)
    return y, middle, inverse


def backward(
    kernels: Callable[[Layout, torch.dtype], Kernels],
    grad: Tensor,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    inverse: Tensor,
    training: bool,
    eps: float,
) -> list[Tensor]:
    check_shape(f"{NAME}_backward", "grad", grad, x.shape)
    layout = checked(x, weight, bias, mean, inverse, False)
    if x.dtype not in TYPES or not x.numel():
        return reference_backward(grad, x, weight, bias, mean, inverse, training, eps)
    run = kernels(layout, x.dtype)
    grad = grad.to(x.dtype).contiguous(memory_format=layout.memory_format)
    x = x.contiguous(memory_format=layout.memory_format)
    mean = mean.float().contiguous()
    of = (mean, inverse.float().contiguous(), *_parameters(weight, bias, layout.channels, x))
    dx = torch.empty_like(x)
    sums = run.backward(grad, x, *of, dx, training)
    return [dx, *_of_parameters(weight, bias, sums[0], sums[1])]


def _parameters(
    weight: Tensor | None, bias: Tensor | None, channels: int, x: Tensor
) -> tuple[Tensor, Tensor]:
    """Return weight and bias in FP32; ones and zeros replace missing ones."""
    one, zero = (
        x.new_full((channels,), value, dtype=torch.float32) if given is None else given
        for given, value in ((weight, 1.0), (bias, 0.0))
    )
    return one.float().contiguous(), zero.float().contiguous()


def on_cpu(launch: CpuLauncher, layout: Layout, dtype: torch.dtype) -> Kernels:
    samples, channels, inner, _ = layout
    numbers = TYPES[dtype], samples, channels, inner

    def statistics(x: Tensor, eps: float) -> tuple[Tensor, Tensor]:
        # Squares are summed around an element of each channel, so that a large mean costs no
        # digits.
        pivot = x[(0, slice(None), *(0,) * (x.dim() - 2))].float().contiguous()
        ones = torch.ones_like(pivot)
        found = sums(None, x, pivot, ones, ones, pivot) / layout.each
        spread = found[0] - found[1].square()
        return pivot + found[1], torch.rsqrt(spread.clamp_(min=0) + eps)

    def sums(grad: Tensor | None, *given: Tensor) -> Tensor:
        parts = samples if inner > 1 else min(PARTS_ON_CPU, samples)
        partial = torch.empty(parts, 2, channels)
        launch("styleforge_channels_sums_cpu", grad, *given, partial, *numbers, parts)
        return partial.sum(0)

    def relu(*given: Tensor) -> None:
        launch("styleforge_channels_relu_cpu", *given, *numbers)

    def evaluate(
        x: Tensor, mean: Tensor, var: Tensor, weight: Tensor, bias: Tensor, y: Tensor, eps: float
    ) -> tuple[Tensor, Tensor]:
        inverse = torch.rsqrt(var + eps)
        relu(x, mean, inverse, weight, bias, y)
        return mean.clone(), inverse

    # Depends on the shape alone, so that the number of threads changes no bit.
    of_channel = 2 * layout.each * dtype.itemsize
    one_by_one = inner > 1 and channels >= LEAST_CHANNELS and of_channel <= MOST_BYTES

    def backward(*given: Any) -> Tensor:
        *tensors, dx, training = given
        if one_by_one:
            found = torch.empty(2, channels)
            launch("styleforge_channels_backward_cpu", *tensors, found, dx, *numbers, training)
            return found
        found = sums(*tensors)
        of_batch = found if training else None
        launch("styleforge_channels_gradient_cpu", *tensors, of_batch, dx, *numbers)
        return found

    def train(
        x: Tensor, weight: Tensor, bias: Tensor, y: Tensor, eps: float
    ) -> tuple[Tensor, Tensor]:
        mean, inverse = statistics(x, eps)
        relu(x, mean, inverse, weight, bias, y)
        return mean, inverse

    return Kernels(train, evaluate, backward)


def on_cuda(launch: CudaLauncher, layout: Layout, dtype: torch.dtype) -> Kernels:
    passes, channels = Passes(launch, layout[:3], dtype), layout.channels
    slabs = held.Slabs(*layout[:3])

    def train(
        x: Tensor, weight: Tensor, bias: Tensor, y: Tensor, eps: float
    ) -> tuple[Tensor, Tensor]:
        mean, inverse = weight.new_empty(channels), weight.new_empty(channels)
        if by := held.shared_by(launch, slabs, x):
            normed = held.Normed(mean, inverse)
            held.forward(launch, slabs, by, x, None, weight, bias, y, normed, eps)
            return mean, inverse
        partial, splits = passes.sums(None, x, None, None, None, None)
        passes.totals(partial, splits, x, mean, inverse, eps)
        passes.relu(x, mean, inverse, weight, bias, y)
        return mean, inverse

    def evaluate(
        x: Tensor, mean: Tensor, var: Tensor, weight: Tensor, bias: Tensor, y: Tensor, eps: float
    ) -> tuple[Tensor, Tensor]:
        kept = torch.empty_like(mean), torch.empty_like(var)
        passes.relu(x, mean, var, weight, bias, y, kept=kept, eps=eps)
        return kept

    def backward(grad: Tensor, x: Tensor, *given: Any) -> Tensor:
        *of, dx, training = given
        mean, inverse, weight, bias = of
        found = mean.new_empty((2, channels))
        if by := held.shared_by(launch, slabs, x, grad):
            of_x = weight, bias, held.Normed(mean, inverse)
            held.backward(launch, slabs, by, grad, x, *of_x, dx, found, follows=training)
            return found
        partial, splits = passes.sums(grad, x, *of)
        passes.totals(partial, splits, None, found[0], found[1], 0.0)
        of_batch = found if training else None
        passes.gradient(grad, x, *of, sums=of_batch, dx=dx, each=layout.each)
        return found

    return Kernels(train, evaluate, backward)
