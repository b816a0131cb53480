"""Times whole frames from and to host memory: single frames, and overlapped frames."""

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
from models.network_config import network_config
from models.precision import Precision
from utils.benchmark import Benchmark

WARMUP = 20  # frames
SINGLE_FRAMES = 300
STREAM_FRAMES = 1000


def measure_frames(
    state: Mapping[str, Tensor], device: torch.device, sizes: Iterable[tuple[int, int]]
) -> list[dict[str, Any]]:
    """Time frames through the native network in FP16.

    Args:
        state: weights of the network.
        device: a GPU.
        sizes: (width, height) in pixels.

    Returns:
        One row per size.

    Raises:
        ValueError: the native network cannot run here; the message is one sentence.
    """
    precision = Precision.fp16
    network = network_config(state)
    if reason := unavailable_reason(network, device, precision.value.dtype):
        raise ValueError(f"frame to frame is measured on the native network: {reason}")
    rows = []
    with torch.inference_mode():
        for width, height in sizes:
            plan = plan_for(state, network, (1, height, width), precision.value.dtype, device)
            # Contiguous rows, as from a camera.
            frame = np.ascontiguousarray(render(1.0, width, height))
            figures = measure_runners(SingleFrameRunner(plan), PipelinedRunner(plan), frame)
            size = {"width": width, "height": height}
            rows.append({**size, "precision": precision.title, **figures})
    return rows


def measure_runners(
    path: SingleFrameRunner,
    stream: PipelinedRunner,
    frame: Pixels,
    alone: int = SINGLE_FRAMES,
    streamed: int = STREAM_FRAMES,
) -> dict[str, Any]:
    """Time single and overlapped frames.

    Args:
        path: runs single frames.
        stream: runs overlapped frames.
        frame: the input, [H, W, 3] uint8.
        alone: number of single frames.
        streamed: number of overlapped frames.

    Returns:
        `latency`: time of a single frame from capture to result, in milliseconds; `interval`: time
            between two results of the overlapped stream, whose inputs are in pinned memory already,
            in milliseconds; `fps`: results per second of that stream.
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
