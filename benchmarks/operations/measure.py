"""Measures an operation forward and backward: times of ways in turns, errors, bandwidth, memory.

Errors are the largest difference from PyTorch in float64, relative to the largest value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor

from benchmarks.operations.case import Case, Run, changed, in_float64, results
from benchmarks.operations.ways import COMPILED, EAGER, OURS, compiled, error, size_of, timed
from kernels.table.autograd import tensors_of

Call = Callable[[], tuple[Tensor | None, ...]]


def measured(case: Case, device: torch.device, runs: int, compiles: bool) -> dict[str, Any]:
    """Measure a case, with fewer `runs` of each way if calls take long.

    Returns:
        A row of the report: times in milliseconds, errors, the percentage of a copy's bandwidth
            that the required reads and writes reached, and on a GPU the memory in MiB.
    """
    ways = {OURS: case.ours, EAGER: case.eager}
    if compiles:
        ways[COMPILED] = compiled(case.eager)
    row: dict[str, Any] = {
        "group": case.group,
        "operation": case.operation,
        "shape": case.shape,
        "precision": case.precision,
    }
    on_gpu = device.type == "cuda"
    # A capture must not use the default stream, gradients included.
    current = torch.cuda.stream(torch.cuda.Stream(device)) if on_gpu else nullcontext()
    with current:
        row["forward"] = _pass(case, ways, device, runs, _forward)
        if any(y.requires_grad for y in results(case.ours(*following(case, case.given)))):
            if not case.is_joint:
                row["backward"] = _pass(case, ways, device, runs, _backward)
            if case.is_joint or case.is_large:
                row["both"] = _pass(case, ways, device, runs, partial(_backward, is_joint=True))
    return row


def _pass(
    case: Case,
    ways: Mapping[str, Run],
    device: torch.device,
    runs: int,
    made: Callable[[Case, Run, Sequence[Any]], tuple[Call, int]],
) -> dict[str, Any]:
    """Measure a direction; `made` returns the call to time and the bytes it must move."""
    ours, needed = made(case, ways[OURS], case.given)
    calls: dict[str, Call] = {OURS: ours, EAGER: made(case, ways[EAGER], case.given)[0]}
    not_compiled = "" if COMPILED in ways else "was not asked for"
    if not not_compiled:
        try:
            calls[COMPILED] = made(case, ways[COMPILED], case.given)[0]
        except RuntimeError as refused:  # base class of every exception of the compiler
            not_compiled = str(refused).strip().partition("\n")[0][:200]
    exact = made(case, case.exact or case.eager, in_float64(case.given))[0]()
    return {
        **timed(calls, _largest_argument(case.given), needed, device, runs),
        "not_compiled": not_compiled,
        "error": {
            name: error(calls[name](), exact)
            for name in (OURS, EAGER)
            if name == OURS or not case.is_random
        },
    }


def _largest_argument(given: Sequence[Any]) -> list[Tensor]:
    return max(([*tensors_of([value])] for value in given), key=size_of)


def _forward(_: Case, way: Run, given: Sequence[Any]) -> tuple[Call, int]:
    def call() -> tuple[Tensor, ...]:
        with torch.inference_mode():
            return results(way(*given))

    return call, size_of((*tensors_of(given), *call()))


def _backward(
    case: Case, way: Run, given: Sequence[Any], is_joint: bool = False
) -> tuple[Call, int]:
    given = following(case, given)
    leaves = [x for x in tensors_of(given) if x.requires_grad]

    def forward() -> list[Tensor]:
        return [y for y in results(way(*given)) if y.requires_grad]

    outputs = forward()
    generator = torch.Generator(outputs[0].device).manual_seed(0)
    grads = [
        torch.randn(y.shape, generator=generator, device=generator.device).to(y) for y in outputs
    ]

    def call() -> tuple[Tensor | None, ...]:
        of = forward() if is_joint else outputs
        found: Any = torch.autograd.grad(
            of, leaves, grads, retain_graph=not is_joint, allow_unused=True
        )
        return tuple(found)

    is_ours = way is case.ours  # the bytes of other ways are not used
    read = kept(forward) if is_ours and not is_joint else given
    return call, size_of(distinct((*tensors_of(read), *grads, *tensors_of(call()))))


def kept(forward: Callable[[], object]) -> list[Tensor]:
    """Return the tensors that a call saves for its backward pass, which has to read them."""
    found: list[Tensor] = []

    def keep(x: Tensor) -> Tensor:
        found.append(x.detach())
        return found[-1]

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        forward()
    return found


def distinct(tensors: Iterable[Tensor]) -> list[Tensor]:
    """Return one of several tensors in the same memory, such as the gradients of a sum's terms."""
    return list({(x.data_ptr(), x.numel()): x for x in tensors}.values())


def following(case: Case, given: Sequence[Any]) -> list[Any]:
    """Return copies that require gradients, except for the constants of the case."""

    def leaf(x: Tensor) -> Tensor:
        return x.detach().clone().requires_grad_() if x.is_floating_point() else x

    return [x if at in case.constants else changed(x, leaf) for at, x in enumerate(given)]
