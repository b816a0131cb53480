"""Times each operation of style networks and transformers against PyTorch, with both errors.

"ours" is the default implementation of an operation. If cuDNN is faster, that is cuDNN's
convolution with our norm, and our own kernel is measured as well. `python -m kernel_fusion bench`
times the operations for any model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from typing import Any

import torch

from benchmarks.operations import style_cases, transformer_cases
from benchmarks.operations.case import Case, in_float64, results
from benchmarks.operations.ways import Call, calls_within, compiled, error, in_turn, time_of
from kernels.table.registry import GENERAL, OPS, prepare, statuses
from utils.benchmark import in_graph
from utils.tf32 import tf32_allowed

MOST_CALLS = 20  # maximum calls per timed run; a single call is too short to time
LONG_MS = 2.0  # target length of a timed run, which limits its calls
EAGER, GRAPH, COMPILED, OURS, OURS_GRAPH, OWN_GRAPH = WAYS = (
    "PyTorch", "PyTorch, graph", "compiled, graph", "ours", "ours, graph", "own kernel, graph",
)  # fmt: skip
GAINS = OURS, OURS_GRAPH, OWN_GRAPH
HEADER = ("operation", "precision", *(f"{way} us" for way in WAYS), *GAINS, "error")
TO_COMPILE = "instance norm", "residual block"  # the compiler takes long


def report(
    device: torch.device,
    runs: int,
    compiles: bool,
    header: Mapping[str, Any],
    told: Callable[[dict[str, Any]], object],
) -> dict[str, Any]:
    """Measure every case: microseconds per call, and errors from a float64 reference.

    Errors are relative to the largest value of the reference.

    Args:
        device: A GPU, or the CPU, which only measures the operations of transformers.
        compiles: Also measure PyTorch's layers through torch.compile, on a GPU.
        header: The first entries of the report.
        told: Called with every row.
    """
    names = [op.name for op in OPS.values() if op.family != GENERAL]
    prepare(names)
    rows: list[dict[str, Any]] = []
    on_gpu = device.type == "cuda"
    current = torch.cuda.device(device) if on_gpu else nullcontext()
    with current, torch.inference_mode():
        for case in (style_cases if on_gpu else transformer_cases).cases(device):
            with tf32_allowed(case.precision == "TF32"):
                rows.append(measured(case, device, runs, compiles))
            told(rows[-1])
    return {
        **header,
        "runs": runs,
        "kernels": [asdict(s) for s in statuses(device) if s.name in names],
        "rows": rows,
    }


def measured(case: Case, device: torch.device, runs: int, compiles: bool) -> dict[str, Any]:
    """Measure a case; return a row of the report.

    On a GPU, each way is also measured in a CUDA graph, because the launch overhead is a separate
    factor.
    """
    theirs, ours = (partial(way, *case.given) for way in (case.eager, case.ours))
    slowest = max(time_of(call, device) for call in (theirs, ours))
    count = min(MOST_CALLS, max(1, calls_within(LONG_MS, slowest)))
    calls: dict[str, Call] = {
        EAGER: partial(_repeat, theirs, count),
        OURS: partial(_repeat, ours, count),
    }
    why_not = case.why_not()
    if device.type == "cuda":
        captured = {GRAPH: theirs, OURS_GRAPH: ours}
        if why_not and case.own is not None:
            captured[OWN_GRAPH] = partial(case.own, *case.given)
        if compiles and case.layout == "NCHW" and case.operation in TO_COMPILE:
            captured[COMPILED] = partial(compiled(case.eager), *case.given)
        calls |= {name: in_graph(call, count) for name, call in captured.items()}
    us = {
        name: {key: 1e3 * ms for key, ms in times.items()}
        for name, times in in_turn(calls, 3, runs, count, device).items()
    }
    exact = results((case.exact or case.eager)(*in_float64(case.given)))
    return {
        "operation": case.operation,
        "shape": case.shape,
        "precision": case.precision,
        "layout": case.layout,
        "why_not": why_not,
        "calls": count,
        "us": us,
        "gain": {
            way: us[EAGER if way == OURS else GRAPH]["median"] / us[way]["median"]
            for way in GAINS
            if way in us
        },
        "error": error(results(ours()), exact),
        "their_error": error(results(theirs()), exact),
    }


def table_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the cells of a report row below `HEADER`, including speedups below 1."""
    times = [row["us"].get(way, {}).get("median") for way in WAYS]
    return (
        f"{row['operation']} {row['shape']} {row['layout']}",
        row["precision"],
        *("-" if t is None else f"{t:.1f}" for t in times),
        *(f"{row['gain'][way]:.2f}x" if way in row["gain"] else "-" for way in GAINS),
        f"{row['error']:.1e} ({row['their_error']:.1e})",
    )


def _repeat(call: Call, count: int) -> None:
    for _ in range(count):
        call()
