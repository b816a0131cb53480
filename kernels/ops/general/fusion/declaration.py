"""The shared declaration of row norms."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from math import prod
from operator import itemgetter
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

from kernels.ops.general.fusion import row_kernels, rows
from kernels.ops.general.fusion.arguments import refuses
from kernels.ops.general.fusion.rows import Norm
from kernels.ops.general.fusion.timed import TIMED
from kernels.table.autograd import Grad, Kept
from kernels.table.names import NAMESPACE
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda, Gradient, Hidden

ON_CPU, ON_CUDA = "fusion", "fusion_cuda"
# The arguments of rows.reference after the norm.
_ROW = "x", "normalized_shape", "weight", "bias", "eps", "residual"
P = ParamSpec("P")
R = TypeVar("R")


def launched(run: Callable[..., Any], by: Callable[..., Any]) -> Callable[..., Any]:
    """Return a launch of `run`, whose first argument is `by`, bound to the launcher."""

    def launch_with(launch: Any, *args: Any) -> Any:
        return run(functools.partial(by, launch), *args)

    return launch_with


def refuses_rows(most: int, **arguments: Any) -> str:
    """Return why no kernel supports these rows, or "" if one does."""
    x, width = arguments["x"], prod(arguments["normalized_shape"])
    if x.device.type == "cuda" and width > most:
        return f"a row has {width} elements; the native CUDA kernel takes at most {most}"
    return refuses(x)


def row_norm(
    norm_of: Callable[..., Norm], **parts: Any
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare the decorated signature as a norm over rows; all other arguments match `Operation`.

    `norm_of` returns the norm from the operation's arguments. These have the names of _ROW, in any
    order; a norm may lack a bias or a residual.
    """

    def register(signature: Callable[P, R]) -> Callable[P, R]:
        names = list(inspect.signature(signature).parameters)
        # the last of the arguments is None, in place of a missing one
        pick = itemgetter(*(names.index(name) if name in names else -1 for name in _ROW))
        has_sum = "residual" in names

        def run(by: Callable[..., tuple[Tensor, ...]], *args: Any) -> tuple[Tensor, ...]:
            results = by(norm_of(*args), *pick((*args, None)))
            return results if has_sum else results[1:]

        def save(given: Sequence[Any], results: Sequence[Tensor]) -> list[Tensor | None]:
            x, _, weight, bias, *_ = pick((*given, None))
            return [results[0] if has_sum else x, weight, bias, results[-1]]

        def backward(kept: Kept, *grads: Tensor) -> Sequence[Grad]:
            x, weight, bias, statistics = kept.tensors
            _, shape, _, _, eps, _ = pick((*kept.options, None))
            norm, (*added, grad) = norm_of(*kept.options), grads
            found = iter(
                getattr(torch.ops, NAMESPACE).row_norm_backward(
                    grad, x, shape, weight, bias, statistics, *(added or [None]),
                    norm.activation, norm.centered, eps,
                )
            )  # fmt: skip
            gradients = {"x": next(found)}
            gradients["residual"] = gradients["x"]
            for name, parameter in (("weight", weight), ("bias", bias)):
                if parameter is not None:
                    gradients[name] = next(found)
            return [gradients.get(name) for name in names]

        return Operation(
            reference=functools.partial(run, rows.reference),
            cpu=Cpu(ON_CPU, launched(run, row_kernels.forward_on_cpu)),
            cuda=Cuda(ON_CUDA, launched(run, row_kernels.forward_on_cuda)),
            gradient=Gradient(save, backward, statistics=1),
            hidden=Hidden(1),
            refuses=functools.partial(refuses_rows, row_kernels.MOST_WIDTH),
            tolerance_scale=4,
            timed=TIMED.get(signature.__name__),
            **parts,
        )(signature)

    return register
