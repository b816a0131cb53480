"""Reductions that transform each element as they read it.

PyTorch's calls write a tensor of x's size between the two steps. Sums are in FP32 and in a fixed
order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

from kernels.ops.general.fusion import samples
from kernels.ops.general.fusion.arguments import refuses
from kernels.ops.general.fusion.declaration import launched, with_list
from kernels.ops.general.fusion.timed import TIMED
from kernels.ops.general.reduction import reductions
from kernels.table.autograd import Gradient, Kept
from kernels.table.registry import LIBRARY, NAMESPACE, fused

P = ParamSpec("P")
R = TypeVar("R")
ON_CPU, ON_CUDA = "reduction", "reduction_cuda"


def _spelled(run: Any, x: Tensor, dim: list[int] | None = None, keepdim: bool = False) -> Tensor:
    return run(x, dim, keepdim)


def _reduction(name: str, alias: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    def backward(kept: Kept, grad: Tensor) -> Sequence[Gradient]:
        (x,), (_, dim, keepdim) = kept.tensors, kept.options
        if not keepdim:
            grad = grad.reshape(reductions.kept_shape(name, x, dim))
        return [getattr(torch.ops, NAMESPACE).reduction_backward(grad, x, name, dim), None, None]

    def launch(run: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def of_name(launcher: Any, *args: Any) -> Tensor:
            return run(launcher, name, *args)

        return launched(_spelled, of_name)

    return fused(
        ON_CPU,
        reference=functools.partial(_spelled, functools.partial(reductions.reference, name)),
        samples=samples.of_reductions,
        launch_cpu=launch(reductions.forward_on_cpu),
        launch_cuda=launch(reductions.forward_on_cuda),
        cuda=ON_CUDA,
        family=LIBRARY,
        tolerance_scale=16,
        save=lambda arguments, _: [arguments[0]],
        backward=backward,
        refuses=_refuses,
        aliases=(alias,),
        timed=TIMED,
        complete=with_list(functools.partial(_spelled, None), "dim"),
    )


def _refuses(**arguments: Any) -> str:
    return refuses(arguments["x"]) or reductions.refuses(arguments["x"], arguments["dim"])


@_reduction("sum_squared", "reduce_sum_squared")
def sum_squared(x: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """Compute the sum of squares.

    Returns the remaining dimensions in x's dtype, summed in FP32 (FP64 in FP64).

    Args:
        x: Any shape and strides; FP16, BF16, FP32 or FP64.
        dim: One dimension or several to sum over, or None for all.
    """
    ...


@_reduction("mean_abs", "reduce_mean_abs")
def mean_abs(x: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """Compute the mean of absolute values.

    Returns the remaining dimensions in x's dtype, summed in FP32 (FP64 in FP64). NaN for no
    elements.

    Args:
        x: Any shape and strides; FP16, BF16, FP32 or FP64.
        dim: One dimension or several to average over, or None for all.
    """
    ...


def _shape_of(arguments: Sequence[Any], _: Sequence[Tensor]) -> list[Tensor | None]:
    (x,) = arguments
    return [x.new_empty(1).expand(x.shape)]  # one element expanded to the whole shape


def _spread(kept: Kept, grad: Tensor) -> Sequence[Gradient]:
    (like,) = kept.tensors
    return [grad.view(-1, *(1,) * (like.dim() - 2)).expand(like.shape)]


@fused(
    "",
    reference=reductions.channel_sums,
    samples=samples.of_channel_sums,
    on_cpu="PyTorch's sum",
    launch_cuda=reductions.channel_sums_on_cuda,
    cuda=ON_CUDA,
    family=LIBRARY,
    tolerance_scale=16,
    save=_shape_of,
    backward=_spread,
)
def channel_bias_backward(x: Tensor) -> Tensor:
    """Compute the gradient of a per-channel bias: the sum over all dimensions but the second.

    Returns [C] in x's dtype, summed in FP32 (FP64 in FP64).

    Args:
        x: [N, C, ...], the gradient of the biased tensor; FP16, BF16, FP32 or FP64.
    """
    ...


@fused(
    ON_CPU,
    reference=reductions.reference_backward,
    samples=functools.partial(samples.gradients_of, *reductions.TERMS),
    launch_cpu=reductions.backward_on_cpu,
    launch_cuda=reductions.backward_on_cuda,
    cuda=ON_CUDA,
    family=LIBRARY,
    tolerance_scale=4,
    refuses=_refuses,
)
def reduction_backward(
    grad: Tensor, x: Tensor, function: str, dim: int | Sequence[int] | None
) -> Tensor:
    """Compute the gradient of a reduction.

    All other arguments match the forward pass. Returns a contiguous tensor of x's shape and dtype.

    Args:
        grad: The gradient of the result, with the reduced dimensions kept at size 1.
        function: "sum_squared" or "mean_abs".
    """
    ...
