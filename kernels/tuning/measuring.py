"""Compares a candidate's results with the library's layer, and times both."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import c_void_p
from dataclasses import dataclass

import torch
from torch import Tensor

from kernels.tuning.layer_plan import LayerPlan
from utils.benchmark import Benchmark, interleave

LAUNCHES = 20  # in a CUDA graph
WARMUP = 2
# Statistics are FP32 sums, in an order that depends on the tiles.
STATISTICS_TOLERANCE = 1e-3
FP16_SUMS = 3.0  # times the rounding of stored values, if products are summed in FP16


@dataclass(frozen=True, slots=True)
class Times:
    """Medians of a role's layers, measured in turns, in milliseconds.

    `spread` is the library's, from the 20th to the 80th percentile, relative to the median.
    """

    ms: float
    shipped_ms: float
    spread: float

    @property
    def ratio(self) -> float:
        """The candidate's time relative to the library's layers."""
        return self.ms / self.shipped_ms


def difference(candidate: LayerPlan, shipped: LayerPlan, *, fp16_sums: bool = False) -> str:
    """Return how results differ from the library's by more than rounding, or "".

    Both have the same inputs, on the same GPU; `fp16_sums` allows for products summed in FP16.
    """
    roundings = FP16_SUMS if fp16_sums else 1.0
    for in_bytes in (False, True):
        for plan in (candidate, shipped):
            for stored in plan.stored.values():
                stored.zero_()  # otherwise an earlier launch's values could hide a missing write
            _launch(plan, in_bytes)
        torch.cuda.synchronize()
        for name, expected in shipped.stored.items():
            if not _is_within_rounding(candidate.stored[name], expected, roundings):
                return f"stores different values of {name}"
        ours, theirs = candidate.statistics(), shipped.statistics()
        for name, expected in theirs.items():
            allowed = STATISTICS_TOLERANCE * (expected.abs() + expected[..., 1:].sqrt())
            if not bool(((ours[name] - expected).abs() <= allowed).all()):
                return f"stores different statistics of {name}"
    return ""


def time_both(candidate: LayerPlan, shipped: LayerPlan, runs: int) -> Times:
    """Time a candidate and the library's layers in turns, in `runs` of LAUNCHES launches."""
    calls = {"candidate": captured(candidate), "shipped": captured(shipped)}
    timed = interleave(calls, WARMUP, runs, candidate.device)
    ours, theirs = timed["candidate"].median_ms, timed["shipped"].median_ms
    return Times(ours / LAUNCHES, theirs / LAUNCHES, _spread(timed["shipped"]))


def captured(plan: LayerPlan) -> Callable[[], object]:
    """Return a function that launches a plan's layers LAUNCHES times, as a CUDA graph."""
    _launch(plan, True)  # loads the kernels, which is impossible during a capture
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        for _ in range(LAUNCHES):
            _launch(plan, True)
    return graph.replay


def _launch(plan: LayerPlan, in_bytes: bool) -> None:
    stream = c_void_p(torch.cuda.current_stream(plan.device).cuda_stream)
    for step in plan.steps():
        step(stream, in_bytes)


def _is_within_rounding(actual: Tensor, expected: Tensor, roundings: float) -> bool:
    if actual.dtype == torch.int32:
        actual, expected = _ranges(actual), _ranges(expected)
    step = 1.0 if actual.dtype == torch.uint8 else 0.0
    eps = torch.finfo(actual.dtype).eps if actual.is_floating_point() else 0.0
    eps = max(eps * roundings, 1e-5)  # sums in FP32
    difference = (actual.float() - expected.float()).abs()
    size = expected.float().square().mean().sqrt()
    return bool((difference <= step + eps * (expected.float().abs() + size)).all())


def _ranges(told: Tensor) -> Tensor:
    least_and_largest = told[:, :2].contiguous()
    ordered = torch.where(least_and_largest >= 0, least_and_largest, least_and_largest ^ 0x7FFFFFFF)
    return ordered.view(torch.float32)


def _spread(timed: Benchmark) -> float:
    return (timed.p80_ms - timed.p20_ms) / timed.median_ms
