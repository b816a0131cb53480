"""Timing of whole frames from and to host memory: single, overlapped, and with texture."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from app.sources.scene import render
from kernels.frames.combing import FOLLOW, SWIRL, Comb
from kernels.frames.launchers import frame_kernels
from kernels.frames.launchers import unavailable_reason as frames_unavailable
from kernels.network.dispatch import plan_for, unavailable_reason
from kernels.network.graph_plan import GraphPlan
from models.inference.frame_pipeline import DEPTH, PipelinedRunner, Pixels, SingleFrameRunner
from models.inference.frame_styler import FrameStyler, Submission
from models.inference.host_memory import new_pinned_pixels
from models.inference.painted_frames import Finish
from models.network_config import network_config
from models.precision import Precision
from utils.benchmark import Benchmark

WARMUP = 20  # frames
SINGLE_FRAMES = 300
STREAM_FRAMES = 1000
ROUNDS = 4  # alternating rounds of frames in each of FINISHES
WITH = Finish(texture=0.5, follows=True)
FINISHES = {
    "off": Finish(),
    "on": WITH,
    FOLLOW: replace(WITH, comb=Comb(FOLLOW)),
    SWIRL: replace(WITH, comb=Comb(SWIRL)),
    "one way": replace(WITH, comb=Comb(45.0)),
}


def measure_frames(
    state: Mapping[str, Tensor], device: torch.device, sizes: Iterable[tuple[int, int]]
) -> list[dict[str, Any]]:
    """Time frames of `sizes` (width, height) through the native network in FP16 on a GPU.

    Raises:
        ValueError: If the native network cannot run here; the message is one sentence.
    """
    precision = Precision.fp16
    network = network_config(state)
    if reason := unavailable_reason(network, device, precision.value.dtype):
        raise ValueError(f"frame to frame needs the native network: {reason}")
    rows = []
    with torch.inference_mode():
        for width, height in sizes:
            plan = plan_for(state, network, (1, height, width), precision.value.dtype, device)
            # Contiguous rows, as a camera provides.
            frame = np.ascontiguousarray(render(1.0, width, height))
            figures = measure_runners(SingleFrameRunner(plan), PipelinedRunner(plan), frame)
            size = {"width": width, "height": height}
            textured = _with_texture(plan, device, width, height)
            rows.append({**size, "precision": precision.title, **figures, "texture": textured})
    return rows


def _with_texture(plan: GraphPlan, device: torch.device, width: int, height: int) -> dict[str, Any]:
    kernels = frame_kernels(device)
    if kernels is None:
        raise ValueError(f"texture needs the GPU: {frames_unavailable(device)}")
    frames = []
    for number in range(8):
        pixels = new_pinned_pixels(height, width)
        np.copyto(pixels, render(1.0 + number / 60, width, height))
        frames.append(pixels)
    return measure_texture(FrameStyler(kernels, (height, width), plan), frames)


def measure_texture(
    styler: FrameStyler, frames: Sequence[Pixels], streamed: int = STREAM_FRAMES
) -> dict[str, Any]:
    """Time overlapped frames, [H, W, 3] uint8; return ms per result for each of FINISHES."""
    intervals: dict[str, list[float]] = {name: [] for name in FINISHES}
    for _ in range(ROUNDS):
        for name, finish in FINISHES.items():
            ends: list[float] = []
            under_way: deque[Submission] = deque()
            for number in range(WARMUP + streamed // ROUNDS + DEPTH):
                if len(under_way) == DEPTH:
                    under_way.popleft().wait()
                    ends.append(time.perf_counter())
                frame = frames[number % len(frames)]
                under_way.append(styler.submit([frame], finish, None))
            while under_way:
                under_way.popleft().wait()
            intervals[name] += (np.diff(ends[WARMUP - 1 :]) * 1e3).tolist()
    return {name: dict(Benchmark.of(found)) for name, found in intervals.items()}


def measure_runners(
    path: SingleFrameRunner,
    stream: PipelinedRunner,
    frame: Pixels,
    alone: int = SINGLE_FRAMES,
    streamed: int = STREAM_FRAMES,
) -> dict[str, Any]:
    """Time single and overlapped frames.

    Args:
        frame: The input, [H, W, 3] uint8.

    Returns:
        `latency`: time of a single frame from capture to result, in milliseconds; `interval`: time
        between two results of the overlapped stream, whose inputs are already in pinned memory, in
        milliseconds; `fps`: results per second of that stream.
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
