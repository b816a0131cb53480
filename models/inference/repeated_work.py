"""Work that is the same for many frames, launched as one CUDA graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import torch

Submit = Callable[[], object]

REPEATS = 30  # after which work is captured: that takes milliseconds, and a slider moves on


class RepeatedWork:
    """Captures work that repeats. For one thread.

    The work of a frame has a key, which tells all that it depends on, and a place, such as that of
    its buffers: with each place it is captured once.
    """

    def __init__(self) -> None:
        self._key: Hashable = None
        self._count = 0
        self._graphs: dict[Hashable, torch.cuda.CUDAGraph] = {}  # by place
        self._pool: Any = None  # PyTorch names no type

    def add(self, key: Hashable) -> None:
        """Tell that work was submitted one piece after another."""
        if key != self._key:
            self._key, self._count = key, 0
            self._graphs.clear()
        self._count += 1

    def is_due(self, key: Hashable) -> bool:
        """Whether the newest REPEATS frames had this work."""
        return key == self._key and self._count >= REPEATS

    def submit(self, place: Hashable, prepare: Callable[[], Submit]) -> None:
        """Submit the work that is due to the current stream.

        Args:
            place: Of this frame.
            prepare: Makes what submits it; the same for each frame of a place. It is called twice,
                the first time for this frame, the second to be captured for the next ones.
        """
        graph = self._graphs.get(place)
        if graph is not None:
            graph.replay()
            return
        submit = prepare()
        submit()  # and loads the kernels, which cannot happen while a graph is captured
        self._pool = self._pool or torch.cuda.graph_pool_handle()
        self._graphs[place] = captured(submit, self._pool)


def captured(submit: Submit, pool: Any) -> torch.cuda.CUDAGraph:
    """A graph of what `submit` submits to the current stream; it is not run.

    Args:
        submit: Leaves nothing in memory that is allocated within it.
        pool: Of that memory, which graphs that run one after another share.
    """
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
        submit()
    return graph
