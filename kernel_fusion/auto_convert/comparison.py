"""Compares two models on the same inputs: their results, whose memory these are in, their times."""

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
    """How an optimized model compares with the original.

    Attributes:
        max_difference: The largest difference of results, relative to the largest value.
        speedup: The original's median time over the optimized one's.
        original_ms: Median time of a call.
        optimized_ms: Median time of a call.
    """

    max_difference: float
    speedup: float
    original_ms: float
    optimized_ms: float


def validate_optimization(
    original: nn.Module, optimized: nn.Module, input: Any, runs: int = 20
) -> Validation:
    """Compare two models in evaluation, on the device of the original's parameters.

    Results are compared without TF32, whose rounding is not the optimization's. The models are
    then timed as they run, in turns, after three calls each.

    Args:
        original: Left in the mode that it is in.
        optimized: Left in the mode that it is in.
        input: As `input_shape` of `auto_convert_model`.
        runs: Timed calls of each.

    Raises:
        ValueError: The input is of no known kind, or the results are of different structure.
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
    """A call with these inputs."""
    return lambda: run(*inputs.args, **inputs.kwargs)


def difference(found: Any, expected: Any) -> float:
    """The largest difference of two results of any structure, relative to the largest value.

    Not a number and infinite where the other is not count as infinitely far.

    Raises:
        ValueError: They are of different structure.
    """
    ours, spec = pytree.tree_flatten(found)
    theirs, other = pytree.tree_flatten(expected)
    if len(ours) != len(theirs) or spec != other:
        raise ValueError(f"the results are of different structure: {spec} and {other}")
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
    """What a model gives for inputs, and the memory that it is in.

    Attributes:
        value: The result, of any structure.
        shared: By its tensors in order, as `sharing` tells.
        strides: By the same, as `strides_of` tells.
    """

    value: Any
    shared: tuple[Any, ...]
    strides: tuple[Any, ...]


def sharing(
    outputs: list[Any],
    inputs: list[Any],
    held: Mapping[str, Tensor],
    others: Iterable[Any] = (),
) -> tuple[Any, ...]:
    """Tell whose memory each output is in: None where it has memory of its own.

    Args:
        outputs: Tensors and other values.
        inputs: Tensors and other values that the call was made with.
        held: The tensors of the model by name.
        others: Further tensors that the next call reads.
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
    """The address of a tensor's memory; 0 if it has none."""
    has_memory = isinstance(x, Tensor) and x.layout is torch.strided
    return x.untyped_storage().data_ptr() if has_memory else 0


def strides_of(x: Any) -> tuple[int, ...] | None:
    """The strides of a tensor, 0 where there is nothing to step over; None of other values."""
    if not isinstance(x, Tensor) or x.layout is not torch.strided:
        return None
    if not x.numel():
        return (0,) * x.dim()
    return tuple(s if n > 1 else 0 for s, n in zip(x.stride(), x.shape, strict=True))


def device_of(model: nn.Module) -> torch.device:
    """Where a model's first parameter or buffer is; the CPU if it has none."""
    first = next(itertools.chain(model.parameters(), model.buffers()), None)
    return torch.device("cpu") if first is None else first.device


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Generator[None]:
    """Put every layer into evaluation, and back into the mode that it was in."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


@contextlib.contextmanager
def exact(device: torch.device) -> Generator[None]:
    """FP32 is FP32 on a GPU: no TF32."""
    with tf32_allowed(False) if device.type == "cuda" else contextlib.nullcontext():
        yield
