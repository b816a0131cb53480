"""Timing of the steps beside the network on a GPU: texture, motion and mattes, each alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from app.sources.scene import render
from benchmarks.network.frames import FINISHES
from kernels.frames.launchers import FrameKernels, frame_kernels, unavailable_reason
from utils.benchmark import Benchmark

WARMUP, RUNS = 10, 200  # calls


def measure_steps(device: torch.device, sizes: Iterable[tuple[int, int]]) -> list[dict[str, Any]]:
    """Time each step of frames of `sizes` (width, height), as a CUDA graph of its own.

    Returns:
        Rows with `width`, `height`, `step`, and the figures of `Benchmark` in milliseconds.

    Raises:
        ValueError: If the kernels cannot run here; the message is one sentence.
    """
    kernels = frame_kernels(device)
    if kernels is None:
        raise ValueError(f"these steps need the GPU: {unavailable_reason(device)}")
    rows = []
    with torch.inference_mode(), torch.cuda.device(device):
        for width, height in sizes:
            for step, call in _steps(kernels, device, width, height):
                figures = dict(Benchmark.of(_times(call)))
                rows.append({"width": width, "height": height, "step": step, **figures})
    return rows


def _steps(
    kernels: FrameKernels, device: torch.device, width: int, height: int
) -> Iterator[tuple[str, Callable[[], None]]]:
    frames = [_frame(device, width, height, seconds) for seconds in (1.0, 1.0 + 1 / 30)]
    yield from _textures(kernels, frames).items()
    yield from _moves(kernels, frames).items()
    yield from _mattes(kernels, frames).items()


def _frame(device: torch.device, width: int, height: int, seconds: float) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(render(seconds, width, height))).to(device)


def _textures(kernels: FrameKernels, frames: list[Tensor]) -> Mapping[str, Callable[[], None]]:
    def step(name: str) -> Callable[[], None]:
        finish, made = FINISHES[name], torch.empty_like(frames[0])
        history = kernels.new_texture(made.shape[0], made.shape[1], made.device)
        return lambda: kernels.texture(
            *(history, frames[0], made, finish.texture), continues=True, comb=finish.comb
        )

    named = {
        "on": "texture",
        **{name: f"strokes, {name}" for name in FINISHES if name not in ("off", "on")},
    }
    return {title: step(name) for name, title in named.items()}


def _moves(kernels: FrameKernels, frames: list[Tensor]) -> Mapping[str, Callable[[], None]]:
    def step(count: int) -> Callable[[], None]:
        height, width = frames[0].shape[:2]
        paintings = kernels.new_paintings(height, width, frames[0].device)
        for _ in range(count):
            kernels.painted(paintings, frames[0], frames[0])
        return lambda: kernels.move(paintings, frames[1])

    return {"motion": step(1), "motion while two paintings mix": step(2)}


def _mattes(kernels: FrameKernels, frames: list[Tensor]) -> Mapping[str, Callable[[], None]]:
    height, width = frames[0].shape[:2]
    history = kernels.new_matting(height, width, frames[0].device)
    history.colors.copy_(frames[0])
    history.noise.fill_(2.0)
    light, mixed = np.ones(3, np.float32), torch.empty_like(frames[0])

    def step() -> None:
        kernels.rough_matte(history, frames[1], light, first=False)
        kernels.guide_matte(history, frames[1])
        kernels.mix(frames[0], frames[1], history.slopes, mixed, swapped=False)

    return {"matte and mix": step}


def _times(call: Callable[[], None]) -> list[float]:
    """Record a call, and return the times of its runs in milliseconds."""
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()  # loads its kernels, which a recording cannot do
    stream.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        call()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(RUNS + 1)]
    for number in range(-WARMUP, RUNS):
        if number >= 0:
            events[number].record()
        graph.replay()
    events[RUNS].record()
    events[RUNS].synchronize()
    return [first.elapsed_time(then) for first, then in itertools.pairwise(events)]
