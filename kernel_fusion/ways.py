"""Times several ways to compute the same in turns, and compares their results and their memory.

On a GPU the ways are captured in graphs, so that Python's time is not measured; where one cannot
be, all of them are called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from utils.benchmark import interleave

OURS, EAGER, FUSED, COMPILED, COPY = "ours", "eager", "fused", "compiled", "copy"
WARMUP = 3
REPEATS = 10  # of a call in a graph
MIB = 1 << 20

Run = Callable[..., Any]
Call = Callable[[], object]


def timed(
    calls: Mapping[str, Call], given: Iterable[Tensor], needed: int, device: torch.device, runs: int
) -> dict[str, Any]:
    """Time calls.

    Args:
        calls: By way; OURS is one of them.
        given: Tensors of which the largest one is copied in turns with the calls.
        needed: The bytes that a call has to read and to write.
        device: Where.
        runs: Timed runs of each.

    Returns:
        Of a row of the report: milliseconds by way, whether they were taken in a graph, the
            percentage of the copy's bandwidth at which OURS moved what is needed, and on a GPU the
            MiB that each way allocates.
    """
    copy, copied = _copy(given)
    repeated, repeats = _repeated({**calls, COPY: copy}, device)
    found = interleave(repeated, WARMUP, runs, device)
    figures = {
        name: {key: found[name][f"{key}_ms"] / repeats for key in ("median", "p20", "p80")}
        for name in calls
    }
    return {
        "ms": figures,
        "in_graph": repeats > 1,
        "of_copy": 100 * needed / found[OURS].median_ms * found[COPY].median_ms / copied,
        **({"memory_mb": _memory(calls, device)} if device.type == "cuda" else {}),
    }


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


def _copy(given: Iterable[Tensor]) -> tuple[Call, int]:
    """A copy of the largest tensor, and the bytes that it reads and writes."""
    largest = max(given, key=lambda x: size_of([x]))
    source, target = torch.empty_like(largest), torch.empty_like(largest)
    return lambda: target.copy_(source), 2 * size_of([largest])


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


def size_of(tensors: Iterable[Tensor]) -> int:
    """The bytes of tensors."""
    return sum(x.numel() * x.element_size() for x in tensors)


def shape_of(tensors: Iterable[Tensor]) -> str:
    """The shape of the largest tensor, in words."""
    largest = max((x.shape for x in tensors), key=lambda shape: shape.numel())
    return "x".join(map(str, largest)) or "1"


def error(found: Sequence[Tensor | None], exact: Sequence[Tensor | None]) -> float:
    """The largest difference over results, each relative to its largest value.

    Args:
        found: Results, or None for one that a way does not have.
        exact: Those in FP64; what they have beyond `found` is left out, and the other way round.
    """
    errors = [
        float((x.double() - y.double()).abs().max() / y.double().abs().max().clamp(min=1e-30))
        for x, y in zip(found, exact, strict=False)
        if x is not None and y is not None and x.numel()
    ]
    return max(errors, default=0.0)
