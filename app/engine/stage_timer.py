"""Timing of a frame's stages on the device that runs them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median, quantiles

import torch

from app.engine.result import LatencyStats, Timings
from kernels.network.graph_plan import group_of
from utils.cuda_streams import current_stream

STAGES = ("upload", "queue", "network", "download", "resize", "motion", "blend")


class Stopwatch:
    """A clock for consecutive stages: each `mark` ends the stage that began at the mark before.

    On a GPU, marks are CUDA events on the stream current at that time, and do not wait for it;
    `read` waits for the last.

    Args:
        running: Whether the first stage begins now, or at the first mark, whatever its name.
    """

    def __init__(self, device: torch.device, *, running: bool = True) -> None:
        self.device = device
        self._cuda, self._index = device.type == "cuda", device.index
        self._marks: list[tuple[str, torch.cuda.Event | float]] = []
        self._excluded = 0.0  # seconds
        # The events of the marks, in their order; `reset` does not clear them.
        self._events: list[torch.cuda.Event] = []
        if running:
            self.mark("start")

    def reset(self) -> None:
        """Forget the stages read; GPU events are reused, as making and freeing them takes time."""
        self._marks.clear()

    def mark(self, name: str) -> None:
        """End a stage.

        A name outside STAGES is a layer or a group of layers, such as "encoder/conv1".
        """
        if self._cuda:
            if len(self._events) == len(self._marks):
                self._events.append(torch.cuda.Event(enable_timing=True))
            event = self._events[len(self._marks)]
            event.record(current_stream(self._index))
            self._marks.append((name, event))
        else:
            self._marks.append((name, time.perf_counter() - self._excluded))

    def exclude(self, seconds: float) -> None:
        """Do not count other work that a stage on the CPU was interrupted for."""
        self._excluded += seconds

    def read(self, *, wait: bool = True) -> Timings:
        """Return the milliseconds of each stage; without `wait`, the last one must have ended."""
        if wait and self._marks and isinstance(last := self._marks[-1][1], torch.cuda.Event):
            last.synchronize()
        spent = dict.fromkeys(STAGES, 0.0)
        groups: dict[str, float] = {}
        layers: dict[str, float] = {}
        for (_, begin), (name, end) in zip(self._marks, self._marks[1:], strict=False):
            ms = _elapsed(begin, end)
            spent[name if name in STAGES else "network"] += ms
            if name in STAGES:
                continue
            group = group_of(name)
            groups[group] = groups.get(group, 0.0) + ms
            if name != group:
                layers[name] = layers.get(name, 0.0) + ms
        return Timings(groups=tuple(groups.items()), layers=tuple(layers.items()), **spent)


def _elapsed(begin: torch.cuda.Event | float, end: torch.cuda.Event | float) -> float:
    if isinstance(begin, torch.cuda.Event):
        assert isinstance(end, torch.cuda.Event)
        return begin.elapsed_time(end)
    assert not isinstance(end, torch.cuda.Event)
    return (end - begin) * 1e3


def latency_stats(milliseconds: Sequence[float]) -> LatencyStats:
    """Summarize frame times, at least one."""
    values = list(milliseconds)
    p95 = quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]
    return LatencyStats(median(values), p95)
