"""Times several ways to compute the same in turns, and compares their results and memory.

On a GPU, graphs capture the ways, so that the time of Python is not measured. If one cannot be
captured, all are called directly. The longer a call takes, the fewer calls are timed.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from benchmarks.operations.case import Run
from utils.benchmark import in_graph, interleave, stopwatch

OURS, EAGER, FUSED, COMPILED, COPY = "ours", "eager", "fused", "compiled", "copy"
WARMUP = 3
REPEATS = 10  # the most calls in a graph
GRAPH_MS = 1.0  # the approximate time of the calls in a graph, if more than one
BUDGET_MS = 30.0  # the approximate time of a way's calls on a GPU, if more than the least
LEAST_RUNS = 5
BUDGET_ON_CPU_MS = 10_000.0  # the same on a CPU, where compiled code may take seconds per call
LEAST_ON_CPU = 3
MIB = 1 << 20

Call = Callable[[], object]
Times = dict[str, dict[str, float]]  # the median, p20 and p80 of each way, in milliseconds


class Rounds(NamedTuple):
    """Timed runs of each way, and the calls in a run."""

    runs: int
    repeats: int


def timed(
    calls: Mapping[str, Call],
    largest: Sequence[Tensor],
    needed: int,
    device: torch.device,
    runs: int,
) -> dict[str, Any]:
    """Time calls by way, of which OURS is one.

    Args:
        largest: Tensors of one dtype, an argument of the calls. A copy of as many bytes is timed in
            turns with the calls.
        needed: The bytes that a call has to read and write.
        runs: Timed runs of each way; fewer if calls take long, see `rounds_of` and `runs_on_cpu`.

    Returns:
        Entries of a row of the report: milliseconds by way, whether a graph captured the calls, the
            percentage of the copy's bandwidth that OURS reached, the number of timed runs, and on a
            GPU the MiB that each way allocates.
    """
    copy, copied = _copy(largest)
    every: Mapping[str, Call] = {**calls, COPY: copy}
    if device.type != "cuda":
        slowest = max(each["median"] for each in in_turn(every, 0, 1, 1, device).values())
        runs = runs_on_cpu(slowest, runs)
        ms = in_turn(every, WARMUP - 1 if runs > LEAST_ON_CPU else 0, runs, 1, device)
        return {**_figures(ms, needed / copied, is_captured=False), "runs": runs}
    slowest = max(time_of(call, device) for call in every.values())
    runs, repeats = rounds_of(slowest, runs)
    try:
        stream = torch.cuda.current_stream(device)
        every = {name: in_graph(call, repeats, stream) for name, call in every.items()}
        is_captured = True
    except RuntimeError:  # PyTorch raises it if no graph can capture a way; the report says so
        torch.cuda.synchronize(device)
        repeats, is_captured = 1, False
    ms = in_turn(every, 1, runs, repeats, device)
    return {
        **_figures(ms, needed / copied, is_captured=is_captured),
        "runs": runs,
        "memory_mb": _memory(calls, device),
    }


def in_turn(
    every: Mapping[str, Call], warmup: int, runs: int, repeats: int, device: torch.device
) -> Times:
    """Time ways in turns; return the times of a call, if a way makes `repeats` calls in a row."""
    return {
        name: {key: found[f"{key}_ms"] / repeats for key in ("median", "p20", "p80")}
        for name, found in interleave(every, warmup, runs, device).items()
    }


def time_of(call: Call, device: torch.device) -> float:
    """Return the milliseconds of one call, after others."""
    for _ in range(WARMUP - 1):
        call()
    return stopwatch(call, device)


def rounds_of(call_ms: float, runs: int) -> Rounds:
    """Return timed runs and calls on a GPU, given the slowest way's milliseconds.

    As many runs as take BUDGET_MS, at least LEAST_RUNS and at most `runs`; as many calls per run as
    take GRAPH_MS, at least one and at most REPEATS.
    """
    repeats = min(REPEATS, max(1, calls_within(GRAPH_MS, call_ms)))
    enough = max(LEAST_RUNS, calls_within(BUDGET_MS / repeats, call_ms))
    return Rounds(min(runs, enough), repeats)


def runs_on_cpu(call_ms: float, runs: int) -> int:
    """Return how many calls fit into BUDGET_ON_CPU_MS, from LEAST_ON_CPU to `runs`."""
    return min(runs, max(LEAST_ON_CPU, calls_within(BUDGET_ON_CPU_MS, call_ms)))


def calls_within(budget_ms: float, call_ms: float) -> int:
    """Return how many calls fit into some milliseconds."""
    return int(budget_ms / max(call_ms, 1e-3))  # the resolution of events


def compiled(run: Run) -> Run:
    """Return PyTorch's calls compiled for one shape, without the code of earlier ones."""
    torch.compiler.reset()
    compiler: Any = getattr(torch, "compile")  # noqa: B009  whose type is partly unknown
    return compiler(run, dynamic=False)


def _figures(ms: Times, of_copied: float, *, is_captured: bool) -> dict[str, Any]:
    of_copy = 100 * of_copied * ms[COPY]["median"] / ms[OURS]["median"]
    ways = {name: times for name, times in ms.items() if name != COPY}
    return {"ms": ways, "in_graph": is_captured, "of_copy": of_copy}


def _copy(largest: Sequence[Tensor]) -> tuple[Call, int]:
    source = largest[0].new_empty(sum(x.numel() for x in largest))
    target = torch.empty_like(source)
    return lambda: target.copy_(source), 2 * size_of([source])


def _memory(calls: Mapping[str, Call], device: torch.device) -> dict[str, float]:
    """Return the peak MiB that each call allocates, beyond the memory in use before."""
    found: dict[str, float] = {}
    for name, call in calls.items():
        gc.collect()  # otherwise the call may free memory that others left
        torch.cuda.synchronize(device)
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        call()
        torch.cuda.synchronize(device)
        found[name] = (torch.cuda.max_memory_allocated(device) - before) / MIB
    return found


def size_of(tensors: Iterable[Tensor]) -> int:
    """Return the bytes of tensors."""
    return sum(x.numel() * x.element_size() for x in tensors)


def error(found: Sequence[Tensor | None], exact: Sequence[Tensor | None]) -> float:
    """Return the largest difference over results, each relative to its largest value in FP64.

    Results that one of the lists lacks, as None or by its length, are ignored. The error is NaN if
    any difference is.
    """
    errors = [
        float((x.double() - y.double()).abs().max() / y.double().abs().max().clamp(min=1e-30))
        for x, y in zip(found, exact, strict=False)
        if x is not None and y is not None and x.numel()
    ]
    # Python's max would drop a NaN that is not the first.
    return float(torch.tensor(errors, dtype=torch.float64).max()) if errors else 0.0
