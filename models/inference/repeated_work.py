"""Work that repeats for many frames, launched as one CUDA graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import torch

Submit = Callable[[], object]

REPEATS = 30  # repetitions before a capture, which takes milliseconds; a moving slider stays below


class RepeatedWork:
    """A recorder that captures repeating work in a CUDA graph per place. For one thread.

    The key of a frame's work includes everything the work depends on. A place names the buffers
    that the work uses, such as their index.
    """

    def __init__(self) -> None:
        self._key: Hashable = None
        self._count = 0
        self._graphs: dict[Hashable, torch.cuda.CUDAGraph] = {}  # by place
        self._pool: Any = None  # PyTorch does not name its type

    def add(self, key: Hashable) -> None:
        """Record that work with this key was submitted piece by piece."""
        if key != self._key:
            self._key, self._count = key, 0
            self._graphs.clear()
        self._count += 1

    def is_due(self, key: Hashable) -> bool:
        return key == self._key and self._count >= REPEATS

    def submit(self, place: Hashable, prepare: Callable[[], Submit]) -> None:
        """Submit the work that is due to the current stream.

        `prepare` returns the function that submits the work, the same for each frame of a place. It
        is called twice: first for this frame, then for the capture that serves the next ones.
        """
        graph = self._graphs.get(place)
        if graph is not None:
            graph.replay()
            return
        submit = prepare()
        submit()  # also loads the kernels, which is impossible during a capture
        self._pool = self._pool or torch.cuda.graph_pool_handle()
        self._graphs[place] = captured(submit, self._pool)


def captured(submit: Submit, pool: Any) -> torch.cuda.CUDAGraph:
    """Capture the work that `submit` submits to the current stream, without running it.

    It must leave nothing in memory allocated within it. Graphs that run one after another share
    `pool` for that memory.
    """
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
        submit()
    return graph
