"""Counts by which the blocks of a launch wait for one another, also where launches run at once."""

from __future__ import annotations

import threading

import torch
from torch import Tensor

from kernels.ops.launcher import CudaLauncher

RESERVED = 1 << 16  # counts that graphs share out; 256 KiB


class Counts:
    """The counts of one device, all of them 0 but for what kernels leave in their upper half.

    Two launches on one stream never run at once and take the same ones. A graph may run at any
    time on any stream: each of its launches keeps counts of its own.

    Args:
        device: Where they are.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._of_stream: dict[int, Tensor] = {}
        self._reserve: Tensor | None = None
        self._shared_out = 0
        self._lock = threading.Lock()

    def of_stream(self, stream: int, count: int) -> Tensor:
        """Counts for a launch on a stream, which is the current one."""
        with self._lock:
            if self._reserve is None:
                self._reserve = self._zeros(RESERVED)
                if self._device.type == "cuda":  # another stream may be the first to use them
                    torch.cuda.current_stream(self._device).synchronize()
            found = self._of_stream.get(stream)
            if found is None or found.numel() < count:
                found = self._of_stream[stream] = self._zeros(count)
            return found

    def of_graph(self, count: int) -> Tensor:
        """Counts for a launch that is captured; where none are left, the graph sets some to 0."""
        with self._lock:
            first, end = self._shared_out, self._shared_out + count
            if self._reserve is None or end > RESERVED:
                return self._zeros(count)
            self._shared_out = end
            return self._reserve[first:end]

    def _zeros(self, count: int) -> Tensor:
        return torch.zeros(count, dtype=torch.int32, device=self._device)


_COUNTS: dict[torch.device, Counts] = {}


def counts_of(launch: CudaLauncher, device: torch.device, count: int) -> Tensor:
    """Counts for a launch on the current stream.

    Args:
        launch: What launches.
        device: Where.
        count: How many.

    Returns:
        INT32, at least as many, which no launch has that may run at the same time.
    """
    counts = _COUNTS.setdefault(device, Counts(device))
    if launch.is_capturing:
        return counts.of_graph(count)
    return counts.of_stream(launch.stream, count)
