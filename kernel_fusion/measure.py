"""Measures one operation for any model: times of ways in turns, errors, bandwidth, memory.

Errors are the largest difference from the reference in float64, relative to the largest value. On
a GPU the ways are captured in graphs, so that Python's time is not measured; where one cannot be,
all of them are called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from kernels.ops.autograd import tensors_of
from kernels.ops.registry import Op, Timed
from utils.benchmark import Benchmark, interleave

DTYPES = {"FP32": torch.float32, "FP16": torch.float16, "BF16": torch.bfloat16}
OURS, EAGER, COMPILED, COPY = "ours", "eager", "compiled", "copy"
WARMUP = 3
REPEATS = 10  # of a call in a graph
MIB = 1 << 20

Run = Callable[..., Any]
Call = Callable[[], tuple[Tensor | None, ...]]


class Case(NamedTuple):
    """An operation on arguments.

    Attributes:
        op: Its row.
        shape: Of its largest tensor, in words.
        precision: A key of DTYPES.
        given: The arguments.
        eager: PyTorch's calls.
        is_random: Whether these draw other numbers.
    """

    op: Op
    shape: str
    precision: str
    given: list[Any]
    eager: Run
    is_random: bool


def cases(
    device: torch.device,
    chosen: Sequence[Op],
    sizes: Sequence[tuple[int, int]],
    precisions: Mapping[str, torch.dtype],
) -> Iterator[Case]:
    """What is measured.

    Args:
        device: Where.
        chosen: The operations.
        sizes: Rows and columns; one that is timed on its samples has these once.
        precisions: Of floating tensors, by name.
    """
    for op in chosen:
        timed = op.timed or Timed(op.reference, partial(_largest_sample, op))
        for size in sizes if op.timed is not None else sizes[:1]:
            for precision, dtype in precisions.items():
                given = [_moved(x, device, dtype) for x in timed.arguments(*size)]
                shape = max((x.shape for x in tensors_of(given)), key=lambda shape: shape.numel())
                words = "x".join(map(str, shape)) or "1"
                yield Case(op, words, precision, given, timed.eager, timed.is_random)


def _largest_sample(op: Op, _rows: int, _columns: int) -> Sequence[Any]:
    return max(op.samples(), key=lambda given: sum(x.numel() for x in tensors_of(given)))


def _moved(value: Any, device: torch.device, dtype: torch.dtype) -> Any:
    if isinstance(value, list):
        return [_moved(each, device, dtype) for each in cast("list[Any]", value)]
    if not isinstance(value, Tensor):
        return value
    return value.to(device, dtype if value.is_floating_point() else None)


def measured(case: Case, device: torch.device, runs: int, compiles: bool) -> dict[str, Any]:
    """Measure a case.

    Args:
        case: Of `cases`.
        device: Where its tensors are.
        runs: Timed runs of each way.
        compiles: Whether torch.compile is measured.

    Returns:
        A row of the report: times in milliseconds, errors, the percentage of a copy's bandwidth at
            which what has to be read and written was, on a GPU the memory in MiB.
    """
    ways: dict[str, Run] = {OURS: case.op.operation, EAGER: case.eager}
    if compiles:
        torch.compiler.reset()
        compiler: Any = getattr(torch, "compile")  # noqa: B009  whose type is partly unknown
        ways[COMPILED] = compiler(case.eager, dynamic=False)
    row: dict[str, Any] = {
        "group": case.op.group,
        "operation": case.op.name,
        "shape": case.shape,
        "precision": case.precision,
    }
    on_gpu = device.type == "cuda"
    # What is captured has to be on another stream than the default one, gradients included.
    current = torch.cuda.stream(torch.cuda.Stream(device)) if on_gpu else nullcontext()
    with current:
        row["forward"] = _pass(case, ways, device, runs, _forward)
        if any(y.requires_grad for y in _results(case.op.operation(*_following(case.given)))):
            row["backward"] = _pass(case, ways, device, runs, _backward)
    return row


def _pass(
    case: Case,
    ways: Mapping[str, Run],
    device: torch.device,
    runs: int,
    made: Callable[[Run, list[Any]], tuple[Call, int]],
) -> dict[str, Any]:
    """A direction: `made` gives what is timed, and the bytes that it has to read and write."""
    ours, needed = made(ways[OURS], case.given)
    calls: dict[str, Call] = {OURS: ours, EAGER: made(ways[EAGER], case.given)[0]}
    not_compiled = "" if COMPILED in ways else "was not asked for"
    if not not_compiled:
        try:
            calls[COMPILED] = made(ways[COMPILED], case.given)[0]
        except RuntimeError as error:  # as every exception of the compiler is
            not_compiled = str(error).strip().partition("\n")[0][:200]
    copy, copied = _copy(case.given)
    timed, repeats = _repeated({**calls, COPY: copy}, device)
    found = interleave(timed, WARMUP, runs, device)
    wide = made(case.op.reference, _wide(case.given))[0]()
    exact = [None if x is None else x.double() for x in wide]
    rate = copied / found[COPY].median_ms
    return {
        "ms": {name: _figures(found[name], repeats) for name in calls},
        "in_graph": repeats > 1,
        "not_compiled": not_compiled,
        "error": {
            name: _error(calls[name](), exact)
            for name in (OURS, EAGER)
            if name == OURS or not case.is_random
        },
        "of_copy": 100 * needed / found[OURS].median_ms / rate,
        **({"memory_mb": _memory(calls, device)} if device.type == "cuda" else {}),
    }


def _figures(benchmark: Benchmark, repeats: int) -> dict[str, float]:
    return {name: benchmark[f"{name}_ms"] / repeats for name in ("median", "p20", "p80")}


def _repeated(calls: Mapping[str, Call], device: torch.device) -> tuple[Mapping[str, Run], int]:
    """What is timed, and how many calls that is: on a GPU a graph of several."""
    if device.type != "cuda":
        return calls, 1
    try:
        return {name: _captured(call, device) for name, call in calls.items()}, REPEATS
    except RuntimeError:  # PyTorch's, of what no graph can hold; the report says so
        torch.cuda.synchronize(device)
        return calls, 1


def _captured(call: Call, device: torch.device) -> Run:
    for _ in range(WARMUP):
        call()
    torch.cuda.synchronize(device)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream(device)):
        for _ in range(REPEATS):
            call()
    return graph.replay


def _forward(way: Run, given: list[Any]) -> tuple[Call, int]:
    def call() -> tuple[Tensor, ...]:
        with torch.inference_mode():
            return _results(way(*given))

    return call, _bytes((*tensors_of(given), *call()))


def _backward(way: Run, given: list[Any]) -> tuple[Call, int]:
    given = _following(given)
    leaves = _leaves(given)
    results = [y for y in _results(way(*given)) if y.requires_grad]
    generator = torch.Generator().manual_seed(0)
    grads = [torch.randn(y.shape, generator=generator).to(y) for y in results]

    def call() -> tuple[Tensor | None, ...]:
        found: Any = torch.autograd.grad(
            results, leaves, grads, retain_graph=True, allow_unused=True
        )
        return tuple(found)

    return call, _bytes((*tensors_of(given), *grads, *tensors_of(call())))


def _results(found: Any) -> tuple[Tensor, ...]:
    return (found,) if isinstance(found, Tensor) else tuple(tensors_of(found))


def _following(given: Sequence[Any]) -> list[Any]:
    return [
        x.detach().clone().requires_grad_()
        if isinstance(x, Tensor) and x.is_floating_point()
        else x
        for x in given
    ]


def _leaves(given: Sequence[Any]) -> list[Tensor]:
    return [x for x in tensors_of(given) if x.requires_grad]


def _wide(given: Sequence[Any]) -> list[Any]:
    return [_moved(x, x.device, torch.float64) if isinstance(x, Tensor) else x for x in given]


def _bytes(tensors: Sequence[Tensor]) -> int:
    return sum(x.numel() * x.element_size() for x in tensors)


def _error(found: Sequence[Tensor | None], exact: Sequence[Tensor | None]) -> float:
    """The largest over results; what a way or the reference alone has is left out."""
    errors = [
        float((x.double() - y).abs().max() / y.abs().max().clamp(min=1e-30))
        for x, y in zip(found, exact, strict=False)
        if x is not None and y is not None and x.numel()
    ]
    return max(errors, default=0.0)


def _copy(given: Sequence[Any]) -> tuple[Call, int]:
    """A copy of the largest tensor, and the bytes that it reads and writes."""
    largest = max(tensors_of(given), key=lambda x: _bytes([x]))
    source, target = torch.empty_like(largest), torch.empty_like(largest)
    return lambda: (target.copy_(source),), 2 * _bytes([largest])


def _memory(calls: Mapping[str, Call], device: torch.device) -> dict[str, float]:
    """MiB that are allocated at most while a call runs, beyond what there was."""
    found: dict[str, float] = {}
    for name, call in calls.items():
        torch.cuda.synchronize(device)
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        call()
        torch.cuda.synchronize(device)
        found[name] = (torch.cuda.max_memory_allocated(device) - before) / MIB
    return found
