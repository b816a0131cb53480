"""Measures the GPU's time of compute passes, by its clock."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.network.webgpu import native

MOST_PASSES = 2048  # WebGPU counts to 4096 in a query set
_BYTES = 16  # of a pass: the clock at its beginning and at its end, as 64-bit integers


class Stamps:
    """The clock at the beginning and the end of some passes.

    Attributes:
        buffer: A buffer of wgpu with the clock's values, after `resolve`.
        size: Its bytes.
        passes: Their number, at most MOST_PASSES.
    """

    def __init__(self, wgpu: Any, device: Any, passes: int) -> None:
        usage = wgpu.BufferUsage
        self.size = _BYTES * passes
        self.buffer = device.create_buffer(
            size=self.size, usage=usage.QUERY_RESOLVE | usage.COPY_SRC
        )
        self._queries = device.create_query_set(type="timestamp", count=2 * passes)
        self.passes, self._tick = passes, native.tick(device)

    def around(self, number: int) -> dict[str, Any]:
        """Return the description of a pass that writes the clock."""
        return {
            "query_set": self._queries,
            "beginning_of_pass_write_index": 2 * number,
            "end_of_pass_write_index": 2 * number + 1,
        }

    def resolve(self, encoder: Any) -> None:
        """Write the clock's values to the buffer."""
        encoder.resolve_query_set(self._queries, 0, 2 * self.passes, self.buffer, 0)

    def milliseconds(self, written: NDArray[np.uint8]) -> list[float]:
        """Return the time of each pass, from the bytes of the buffer."""
        clock = written.view(np.int64)
        return [float(ticks) * self._tick / 1e6 for ticks in clock[1::2] - clock[::2]]
