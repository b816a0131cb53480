"""Smoothing's state of a stream of frames on the GPU, and its kernels' arguments.

Some constants are in frames/native/smooth.h as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from kernels.frames.stream_state import StreamState, copied, refill
from kernels.frames.structs import FlowParams, HalveParams, MedianParams, SmoothParams

MAX_HISTORY_WEIGHT = 0.95  # of the old result at full smoothing: 20 frames to follow a change
EASING = 5  # weight grows as 1 - (1 - amount) ** EASING: half the smoothing has 31/32 of the most
CELL = 2  # pixels on a side of a cell; motion and change are measured between means of cells
SMALLEST = 8  # cells: the least short side after a halving
STEPS = 2  # towards the motion, at each size


class SmoothingHistory:
    """The state of a stream of pictures of one size.

    Attributes:
        smoothed: [h, w, 3] uint8, the filtered picture.
        cells: [h / CELL, w / CELL, 3] float32, the means of the source's cells.
        flow: [h / CELL, w / CELL, 2] float32, where each cell was in the known source, in cells to
            the right and down.
        halvings: Arguments for halving the gray pictures, each with its output, fine to coarse.
        steps: Arguments for estimating the motion, each with its output, in order.
    """

    def __init__(
        self, height: int, width: int, device: torch.device, told: Mapping[str, Any]
    ) -> None:
        rows, columns = max(height // CELL, 1), max(width // CELL, 1)

        def buffer(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self.smoothed = buffer(height, width, 3, dtype=torch.uint8)
        self.cells = buffer(rows, columns, 3)
        self._accumulated = buffer(2, height, width, 3, dtype=torch.int16)
        self._known = buffer(2, rows, columns, 3)
        self._moved = torch.zeros_like(self.cells)
        self._change, self._other, self._share = buffer(3, rows, columns)
        self._counts = buffer(told["counts"], dtype=torch.int32)
        self._sums = buffer(2, told["sums"], dtype=torch.int64)
        self._state = buffer(told["states"], dtype=torch.int32)
        # Fine to coarse: the newest and the known picture in gray, and two buffers of motion.
        self._pairs = [buffer(2, *size) for size in sizes(rows, columns)]
        self._flows = [buffer(2, *pair.shape[1:], 2) for pair in self._pairs]
        self.flow = self._flows[0][0]
        self.halvings, self.steps = self._halvings(), self._steps()
        self.begins = True

    def forget(self) -> None:
        self.begins = True

    def state(self) -> StreamState:
        return {} if self.begins else copied(self._lasting)

    def restore(self, state: StreamState) -> None:
        """Continue the stream of `state`.

        Raises:
            StateError: If `state` has another frame size or comes from other kernels.
        """
        if state:
            refill(self._lasting, state)
        self.begins = not state

    @property
    def _lasting(self) -> dict[str, Tensor]:
        return {
            "accumulated": self._accumulated,
            "known": self._known,
            "counts": self._counts,
            "sums": self._sums,
            "state": self._state,
        }

    def params(self, source: Tensor, result: Tensor, amount: float) -> SmoothParams:
        first, self.begins = self.begins, False
        buffers = (
            *(source, result, self.smoothed, self._accumulated, self._known, self.cells),
            *(self._pairs[0], self.flow, self._moved, self._change, self._other, self._share),
            *(self._counts, self._sums, self._state),
        )
        shape = *result.shape[:2], *self.cells.shape[:2]
        return SmoothParams(*(each.data_ptr() for each in buffers), *shape, first, amount)

    def _halvings(self) -> list[tuple[HalveParams, Tensor]]:
        return [
            (
                HalveParams(large.data_ptr(), small.data_ptr(), *large.shape[1:], *small.shape[1:]),
                small,
            )
            for large, small in pairwise(self._pairs)
        ]

    def _steps(self) -> list[tuple[FlowParams | MedianParams, Tensor]]:
        steps: list[tuple[FlowParams | MedianParams, Tensor]] = []
        known: Tensor | None = None
        for pair, flows in zip(reversed(self._pairs), reversed(self._flows), strict=True):
            for step in range(STEPS):
                newest = flows[step % 2]
                size = (0, 0) if known is None else known.shape[:2]
                coarse = None if known is None else known.data_ptr()
                addresses = pair.data_ptr(), coarse, newest.data_ptr()
                steps.append((FlowParams(*addresses, *pair.shape[1:], *size), newest))
                known = newest
            assert known is not None
            assert known.data_ptr() != flows[0].data_ptr()
            addresses = known.data_ptr(), flows[0].data_ptr()
            settles = flows is self._flows[0]
            steps.append((MedianParams(*addresses, *pair.shape[1:], settles), flows[0]))
            known = flows[0]
        return steps


def sizes(rows: int, columns: int) -> list[tuple[int, int]]:
    """Return (rows, columns) of the pictures for estimating motion, fine to coarse."""
    found = [(rows, columns)]
    while min(found[-1]) >= 2 * SMALLEST:
        found.append(((found[-1][0] + 1) // 2, (found[-1][1] + 1) // 2))
    return found
