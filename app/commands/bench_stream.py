"""Times frames from pinned host memory and back to it: one alone, and neighbours overlapped."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from models.frame_stream import DEPTH, FramePath, FrameStream, Pixels
from utils.benchmark import Benchmark

WARMUP = 20  # frames
ALONE = 300
STREAMED = 1000


def frame_to_frame(
    path: FramePath,
    stream: FrameStream,
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
