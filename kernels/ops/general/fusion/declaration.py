"""The shared registration of row norms."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

from kernels.ops.general.fusion import row_kernels, rows
from kernels.ops.general.fusion.arguments import refuses
from kernels.ops.general.fusion.rows import Norm
from kernels.ops.general.fusion.timed import TIMED
from kernels.table.autograd import Gradient, Kept
from kernels.table.registry import LIBRARY, NAMESPACE, fused, in_order

ON_CPU, ON_CUDA = "fusion", "fusion_cuda"
P = ParamSpec("P")
R = TypeVar("R")


def with_list(signature: Callable[..., Any], name: str) -> Callable[..., tuple[Any, ...]]:
    """Return a function that completes a call's arguments, with a number for `name` as a list."""
    ordered = in_order(signature)
    at = list(inspect.signature(signature).parameters).index(name)

    def complete(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        given = ordered(*args, **kwargs)
        value = given[at]
        if value is None or isinstance(value, list):
            return given
        sizes = [value] if isinstance(value, int) else list(value)
        return (*given[:at], sizes, *given[at + 1 :])

    return complete


def launched(spell: Callable[..., Any], run: Callable[..., Any]) -> Callable[..., Any]:
    """Return the launch of an operation: `spell` with `run` bound to the launcher."""

    def launch_with(launch: Any, *args: Any, **kwargs: Any) -> Any:
        return spell(functools.partial(run, launch), *args, **kwargs)

    return launch_with


def refuses_rows(most: int, **arguments: Any) -> str:
    """Return why no kernel supports these rows, or "" if one does."""
    x, width = arguments["x"], prod(arguments["normalized_shape"])
    if x.device.type == "cuda" and width > most:
        return f"a row has {width} elements; the native CUDA kernel takes at most {most}"
    return refuses(x)


def row_norm(
    spell: Callable[..., Any],
    norm_of: Callable[[dict[str, Any]], Norm],
    *,
    samples: Callable[[], Iterable[tuple[Any, ...]]],
    aliases: tuple[str, ...],
    is_flat: bool = False,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Register the decorated signature as a norm over rows; all other arguments match `fused`.

    `spell` is the operation, called with a function like `rows.reference` and its arguments.
    `norm_of` returns the norm from the arguments by name.
    """
    first, *names = inspect.signature(spell).parameters
    assert first == "run"

    def save(given: Sequence[Any], results: Sequence[Tensor]) -> list[Tensor | None]:
        of, x = dict(zip(names, given, strict=True)), results[0]
        x = x if "residual" in of else of["x"]
        return [x, of["weight"], of.get("bias"), results[-1]]

    def backward(kept: Kept, *grads: Tensor) -> Sequence[Gradient]:
        x, weight, bias, statistics = kept.tensors
        of = dict(zip(names, kept.options, strict=True))
        norm, (*added, grad) = norm_of(of), grads
        found = iter(
            getattr(torch.ops, NAMESPACE).row_norm_backward(
                grad, x, of["normalized_shape"], weight, bias, statistics, *(added or [None]),
                norm.activation, norm.centered, of["eps"],
            )
        )  # fmt: skip
        gradients = {"x": next(found)}
        gradients["residual"] = gradients["x"]
        for name, parameter in (("weight", weight), ("bias", bias)):
            if parameter is not None:
                gradients[name] = next(found)
        return [gradients.get(name) for name in names]

    return fused(
        ON_CPU,
        reference=functools.partial(spell, rows.reference),
        samples=samples,
        launch_cpu=launched(spell, row_kernels.forward_on_cpu),
        launch_cuda=launched(spell, row_kernels.forward_on_cuda),
        cuda=ON_CUDA,
        family=LIBRARY,
        tolerance_scale=4,
        save=save,
        backward=backward,
        statistics=1,
        hidden=1,
        refuses=functools.partial(refuses_rows, row_kernels.MOST_WIDTH),
        aliases=aliases,
        is_flat=is_flat,
        timed=TIMED,
        complete=with_list(functools.partial(spell, None), "normalized_shape"),
    )
