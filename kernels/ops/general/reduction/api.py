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
from kernels.ops.general.fusion.timed import TIMED
from kernels.ops.general.reduction import reductions
from kernels.table.autograd import Grad, Kept
from kernels.table.launcher import CpuLauncher, CudaLauncher
from kernels.table.names import NAMESPACE
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda, Gradient

__all__ = ["channel_bias_backward", "mean_abs", "reduction_backward", "sum_squared"]

P = ParamSpec("P")
R = TypeVar("R")
ON_CPU, ON_CUDA = "reduction", "reduction_cuda"


def _reduction(alias: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare the decorated signature as the reduction of that name."""

    def register(signature: Callable[P, R]) -> Callable[P, R]:
        name = signature.__name__

        def launch_cpu(launch: CpuLauncher, *args: Any) -> Tensor:
            return reductions.forward_on_cpu(launch, name, *args)

        def launch_cuda(launch: CudaLauncher, *args: Any) -> Tensor:
            return reductions.forward_on_cuda(launch, name, *args)

        def backward(kept: Kept, grad: Tensor) -> Sequence[Grad]:
            (x,), (_, dim, keepdim) = kept.tensors, kept.options
            if not keepdim:
                grad = grad.reshape(reductions.kept_shape(name, x, dim))
            of_x = getattr(torch.ops, NAMESPACE).reduction_backward(grad, x, name, dim)
            return [of_x, None, None]

        return Operation(
            reference=functools.partial(reductions.reference, name),
            samples=samples.of_reductions,
            cpu=Cpu(ON_CPU, launch_cpu),
            cuda=Cuda(ON_CUDA, launch_cuda),
            gradient=Gradient(lambda arguments, _: [arguments[0]], backward),
            refuses=_refuses,
            tolerance_scale=16,
            timed=TIMED[name],
            aliases=(alias,),
        )(signature)

    return register


def _refuses(x: Tensor, dim: Sequence[int] | None, **_: Any) -> str:
    return refuses(x) or reductions.refuses(x, dim)


@_reduction("reduce_sum_squared")
def sum_squared(x: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """Compute the sum of squares.

    Returns the remaining dimensions in x's dtype, summed in FP32 (FP64 in FP64).

    Args:
        x: Any shape and strides; FP16, BF16, FP32 or FP64.
        dim: One dimension or several to sum over, or None for all.
    """
    ...


@_reduction("reduce_mean_abs")
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


def _spread(kept: Kept, grad: Tensor) -> Sequence[Grad]:
    (like,) = kept.tensors
    return [grad.view(-1, *(1,) * (like.dim() - 2)).expand(like.shape)]


@Operation(
    reference=reductions.channel_sums,
    samples=samples.of_channel_sums,
    cpu=Cpu(named="PyTorch's sum"),
    cuda=Cuda(ON_CUDA, reductions.channel_sums_on_cuda),
    gradient=Gradient(_shape_of, _spread),
    tolerance_scale=16,
)
def channel_bias_backward(x: Tensor) -> Tensor:
    """Compute the gradient of a per-channel bias: the sum over all dimensions but the second.

    Returns [C] in x's dtype, summed in FP32 (FP64 in FP64).

    Args:
        x: [N, C, ...], the gradient of the biased tensor; FP16, BF16, FP32 or FP64.
    """
    ...


@Operation(
    reference=reductions.reference_backward,
    samples=functools.partial(samples.gradients_of, *reductions.TERMS),
    cpu=Cpu(ON_CPU, reductions.backward_on_cpu),
    cuda=Cuda(ON_CUDA, reductions.backward_on_cuda),
    refuses=_refuses,
    tolerance_scale=4,
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
