"""Compares two models on the same inputs: results, shared memory, and times."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from kernel_fusion.auto_convert.inputs import Inputs, inputs_of
from utils.benchmark import interleave
from utils.tf32 import tf32_allowed


@dataclass(frozen=True, slots=True)
class Validation:
    """A comparison of an optimized model with the original, by median times of a call.

    `max_difference` is the largest difference of results, relative to the largest value.
    """

    max_difference: float
    speedup: float
    original_ms: float
    optimized_ms: float


def validate_optimization(
    original: nn.Module, optimized: nn.Module, input: Any, runs: int = 20
) -> Validation:
    """Compare two models in evaluation, on the device of the original's parameters.

    Results are compared without TF32, whose rounding is not the optimization's. Then the models
    are timed as they run, in turns, after three calls each. Both keep their mode.

    Raises:
        ValueError: If the `input`, see `auto_convert_model`, is of an unknown kind, or the results
            differ in structure.
    """
    device = device_of(original)
    inputs = inputs_of(original, input, device)
    with evaluating(original), evaluating(optimized), torch.no_grad():
        with exact(device):
            expected = original(*inputs.args, **inputs.kwargs)
            apart = difference(optimized(*inputs.args, **inputs.kwargs), expected)
        models = {"original": original, "optimized": optimized}
        calls = {name: calling(model, inputs) for name, model in models.items()}
        times = interleave(calls, 3, runs, device)
    before, after = times["original"].median_ms, times["optimized"].median_ms
    return Validation(apart, before / after, before, after)


def calling(run: Callable[..., Any], inputs: Inputs) -> Callable[[], Any]:
    return lambda: run(*inputs.args, **inputs.kwargs)


def difference(found: Any, expected: Any) -> float:
    """Return the largest difference of two results, relative to the largest value.

    NaN or infinity in only one of them counts as infinite.

    Raises:
        ValueError: If the structures of the results differ.
    """
    ours, spec = pytree.tree_flatten(found)
    theirs, other = pytree.tree_flatten(expected)
    if len(ours) != len(theirs) or spec != other:
        raise ValueError(f"the results differ in structure: {spec} and {other}")
    pairs = zip(ours, theirs, strict=True)
    return max((_apart(x, y) for x, y in pairs if isinstance(y, Tensor)), default=0.0)


def _apart(x: Any, y: Tensor) -> float:
    if not isinstance(x, Tensor) or x.shape != y.shape or x.dtype != y.dtype:
        return math.inf
    if not y.numel():
        return 0.0
    wide = torch.complex128 if y.is_complex() else torch.float64
    x, y = x.detach().to(wide), y.detach().to(wide)
    same = (x == y) | (x.isnan() & y.isnan())
    apart = torch.where(same, 0.0, (x - y).abs())
    largest = y.abs()[y.isfinite()].max() if bool(y.isfinite().any()) else y.new_zeros(()).abs()
    found = float(apart.max() / (largest if float(largest) > 0 else 1.0))
    return math.inf if math.isnan(found) else found


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs of a model, with the `sharing` and `strides_of` their tensors, in order."""

    value: Any
    shared: tuple[Any, ...]
    strides: tuple[Any, ...]


def sharing(
    outputs: list[Any],
    inputs: list[Any],
    held: Mapping[str, Tensor],
    others: Iterable[Any] = (),
) -> tuple[Any, ...]:
    """Return the owner of each output's memory, or None if the output owns it.

    `held` are the model's tensors by name, `others` further ones that the next call reads.
    """
    owners: dict[int, tuple[str, Any]] = {}
    named = [("other", n, x) for n, x in enumerate(others)]
    named += [("model", name, x) for name, x in held.items()]
    named += [("input", n, x) for n, x in enumerate(inputs)]
    for kind, name, x in named:
        if _memory(x):
            owners[_memory(x)] = kind, name
    found: list[Any] = []
    for n, x in enumerate(outputs):
        owner = owners.setdefault(_memory(x), ("output", n)) if _memory(x) else ("output", n)
        is_own = owner == ("output", n)
        found.append(None if is_own else (owner, x.storage_offset(), strides_of(x)))
    return tuple(found)


def _memory(x: Any) -> int:
    has_memory = isinstance(x, Tensor) and x.layout is torch.strided
    return x.untyped_storage().data_ptr() if has_memory else 0


def strides_of(x: Any) -> tuple[int, ...] | None:
    """Return a tensor's strides, 0 in dimensions without a step; None for other values."""
    if not isinstance(x, Tensor) or x.layout is not torch.strided:
        return None
    if not x.numel():
        return (0,) * x.dim()
    return tuple(s if n > 1 else 0 for s, n in zip(x.stride(), x.shape, strict=True))


def device_of(model: nn.Module) -> torch.device:
    """Return the device of a model's first parameter or buffer; the CPU if it has none."""
    first = next(itertools.chain(model.parameters(), model.buffers()), None)
    return torch.device("cpu") if first is None else first.device


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Generator[None]:
    """Put every layer into evaluation mode, and restore each layer's mode on exit."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


@contextlib.contextmanager
def exact(device: torch.device) -> Generator[None]:
    """Disable TF32 on a GPU, so that products keep FP32 precision."""
    with tf32_allowed(False) if device.type == "cuda" else contextlib.nullcontext():
        yield
