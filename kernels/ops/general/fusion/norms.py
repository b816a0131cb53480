"""Batch and group norms as the dispatcher sees them: arguments, saved tensors, and gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from kernels.ops.general.fusion.arguments import refuses
from kernels.ops.general.fusion.channels import Kernels
from kernels.table.autograd import Grad, Kept
from kernels.table.names import NAMESPACE


def batch_norm(run: Callable[..., tuple[Tensor, Tensor, Tensor]], *args: Any) -> Any:
    """Run the dispatcher's batch_norm_relu; `run` takes the arguments of channels.reference."""
    *given, _momentum, eps = args
    return run(*given, eps)


def update_statistics(arguments: Sequence[Any], results: Sequence[Tensor]) -> None:
    """Move the running statistics towards the batch's."""
    x, _, _, running_mean, running_var, training, momentum, eps = arguments
    _, mean, inverse = results
    if training and running_mean is not None and x.numel():
        count = x.numel() // x.shape[1]
        with torch.no_grad():
            var = (inverse.square().reciprocal() - eps) * (count / (count - 1))
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
            running_var.lerp_(var.to(running_var.dtype), momentum)


def save_batch(arguments: Sequence[Any], results: Sequence[Tensor]) -> list[Tensor | None]:
    return [*arguments[:3], *results[1:]]


def batch_norm_backward(kept: Kept, grad: Tensor) -> Sequence[Grad]:
    training, _, eps = kept.options[5:]
    found = iter(
        getattr(torch.ops, NAMESPACE).batch_norm_relu_backward(grad, *kept.tensors, training, eps)
    )
    dx, *of_parameters = (next(found) if x is not None else None for x in kept.tensors[:3])
    return [dx, *of_parameters, *(None,) * 5]


def by(kernels: Callable[..., Kernels], run: Callable[..., Any]) -> Callable[..., Any]:
    """Return a launch of `run` of kernels.ops.general.fusion.channels with one device's kernels."""

    def launch_with(launch: Any, *args: Any) -> Any:
        return run(functools.partial(kernels, launch), *args)

    return launch_with


def refuses_dtype(x: Tensor, **_: Any) -> str:
    return refuses(x)


def save_groups(arguments: Sequence[Any], results: Sequence[Tensor]) -> list[Tensor | None]:
    x, shift, _, weight, bias, _ = arguments
    return [x, shift, weight, bias, results[1]]


def group_norm_backward(kept: Kept, grad: Tensor) -> Sequence[Grad]:
    x, shift, weight, bias, of_planes = kept.tensors
    found = iter(
        getattr(torch.ops, NAMESPACE).group_norm_relu_backward(
            grad, x, shift, kept.options[2], weight, bias, of_planes, kept.options[5]
        )
    )
    dx, of_shift, of_weight, of_bias = (
        next(found) if each is not None else None for each in (x, shift, weight, bias)
    )
    return [dx, of_shift, None, of_weight, of_bias, None]
