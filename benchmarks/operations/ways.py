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

from utils.benchmark import Benchmark, interleave, stopwatch
from utils.cuda_streams import waiting_refused

OURS, EAGER, FUSED, COMPILED, COPY = "ours", "eager", "fused", "compiled", "copy"
WARMUP = 3
REPEATS = 10  # the most calls in a graph
GRAPH_MS = 1.0  # the approximate time of the calls in a graph, if more than one
BUDGET_MS = 30.0  # the approximate time of a way's calls on a GPU, if more than the least
LEAST_RUNS = 5
BUDGET_ON_CPU_MS = 10_000.0  # the same on a CPU, where compiled code may take seconds per call
LEAST_ON_CPU = 3
MIB = 1 << 20

Run = Callable[..., Any]
Call = Callable[[], object]


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
    every: Mapping[str, Run] = {**calls, COPY: copy}
    if device.type != "cuda":
        warm = interleave(every, 0, 1, device)
        runs = runs_on_cpu(max(way.median_ms for way in warm.values()), runs)
        found = interleave(every, WARMUP - 1 if runs > LEAST_ON_CPU else 0, runs, device)
        return {**_figures(calls, found, 1, needed / copied, in_graph=False), "runs": runs}
    rounds = rounds_of(max(_time(call, device) for call in every.values()), runs)
    repeats = rounds.repeats
    try:
        every = {name: _captured(call, repeats, device) for name, call in every.items()}
        in_graph = True
    except RuntimeError:  # PyTorch raises it if no graph can capture a way; the report says so
        torch.cuda.synchronize(device)
        repeats, in_graph = 1, False
    found = interleave(every, 1, rounds.runs, device)
    return {
        **_figures(calls, found, repeats, needed / copied, in_graph=in_graph),
        "runs": rounds.runs,
        "memory_mb": _memory(calls, device),
    }


def rounds_of(call_ms: float, runs: int) -> Rounds:
    """Return timed runs and calls on a GPU, given the slowest way's milliseconds.

    As many runs as take BUDGET_MS, at least LEAST_RUNS and at most `runs`; as many calls per run as
    take GRAPH_MS, at least one and at most REPEATS.
    """
    call_ms = max(call_ms, 1e-3)  # the resolution of events
    repeats = min(REPEATS, max(1, int(GRAPH_MS / call_ms)))
    enough = max(LEAST_RUNS, int(BUDGET_MS / (repeats * call_ms)))
    return Rounds(min(runs, enough), repeats)


def runs_on_cpu(call_ms: float, runs: int) -> int:
    """Return how many calls fit into BUDGET_ON_CPU_MS, from LEAST_ON_CPU to `runs`."""
    return min(runs, max(LEAST_ON_CPU, int(BUDGET_ON_CPU_MS / max(call_ms, 1e-3))))


def _figures(
    calls: Mapping[str, Call],
    found: Mapping[str, Benchmark],
    repeats: int,
    of_copied: float,
    *,
    in_graph: bool,
) -> dict[str, Any]:
    figures = {
        name: {key: found[name][f"{key}_ms"] / repeats for key in ("median", "p20", "p80")}
        for name in calls
    }
    of_copy = 100 * of_copied * found[COPY].median_ms / found[OURS].median_ms
    return {"ms": figures, "in_graph": in_graph, "of_copy": of_copy}


def _time(call: Call, device: torch.device) -> float:
    for _ in range(WARMUP - 1):
        call()
    torch.cuda.synchronize(device)
    return stopwatch(call, device)


def _captured(call: Call, repeats: int, device: torch.device) -> Run:
    with waiting_refused():
        call()
    torch.cuda.synchronize(device)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream(device)):
        for _ in range(repeats):
            call()
    return graph.replay


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


def shape_of(tensors: Iterable[Tensor]) -> str:
    """Return the shape of the largest tensor as text, such as "4x8"."""
    largest = max((x.shape for x in tensors), key=lambda shape: shape.numel())
    return "x".join(map(str, largest)) or "1"


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
    return float(torch.tensor(errors).max()) if errors else 0.0
