"""Times frames from host memory and back to it: one alone, and neighbors overlapped."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from app.sources.scene import render
from kernels.network.dispatch import plan_for, unavailable_reason
from models.inference.frame_pipeline import DEPTH, PipelinedRunner, Pixels, SingleFrameRunner
from models.network_config import num_residual_blocks
from models.precision import Precision
from utils.benchmark import Benchmark

WARMUP = 20  # frames
ALONE = 300
STREAMED = 1000


def frames_of(
    state: Mapping[str, Tensor], device: torch.device, sizes: Iterable[tuple[int, int]]
) -> list[dict[str, Any]]:
    """Frame to frame through the native network in FP16, a row for each size (width, height).

    Raises ValueError, in one sentence, where that network cannot run.
    """
    precision = Precision.fp16
    if reason := unavailable_reason(device, precision.value.dtype):
        raise ValueError(f"frame to frame is measured on the native network: {reason}")
    rows = []
    with torch.inference_mode():
        for width, height in sizes:
            blocks = num_residual_blocks(state)
            plan = plan_for(state, blocks, (1, height, width), precision.value.dtype, device)
            # As a camera's: a row of pixels after another.
            frame = np.ascontiguousarray(render(1.0, width, height))
            figures = frame_to_frame(SingleFrameRunner(plan), PipelinedRunner(plan), frame)
            size = {"width": width, "height": height}
            rows.append({**size, "precision": precision.title, **figures})
    return rows


def frame_to_frame(
    path: SingleFrameRunner,
    stream: PipelinedRunner,
    frame: Pixels,
    alone: int = ALONE,
    streamed: int = STREAMED,
) -> dict[str, Any]:
    """`latency` is of a frame from where it was captured to its result, with nothing beside it,
    in milliseconds; `interval` is between two results of the overlapped stream, whose frames
    already lie in pinned memory, and `fps` the results in a second over all of these.
    """
    latencies = []
    for n in range(WARMUP + alone):
        start = time.perf_counter()
        path.style(frame)
        if n >= WARMUP:
            latencies.append((time.perf_counter() - start) * 1e3)
    for _ in range(DEPTH):
        np.copyto(stream.slot(), frame)
        stream.send()
    ends = []
    for _ in range(WARMUP + streamed):
        stream.receive()
        ends.append(time.perf_counter())
        stream.send()
    for _ in range(DEPTH):
        stream.receive()
    intervals = np.diff(ends[WARMUP - 1 :]) * 1e3
    return {
        "fps": 1e3 / float(intervals.mean()),
        "interval": dict(Benchmark.of(intervals.tolist())),
        "latency": dict(Benchmark.of(latencies)),
    }
