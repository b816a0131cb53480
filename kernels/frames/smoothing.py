"""Smoothing's state of a stream of frames on the GPU, and its kernels' arguments.

Some constants are in frames/native/smooth.h as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from kernels.frames.dense_motion import DenseMotion
from kernels.frames.stream_state import StreamState, copied, refill
from kernels.frames.structs import SmoothParams

MAX_HISTORY_WEIGHT = 0.95  # of the old result at full smoothing: 20 frames to follow a change
EASING = 5  # weight grows as 1 - (1 - amount) ** EASING: half the smoothing has 31/32 of the most
CELL = 2  # pixels on a side of a cell; motion and change are measured between means of cells


class SmoothingHistory:
    """The state of a stream of pictures of one size.

    Attributes:
        smoothed: [h, w, 3] uint8, the filtered picture.
        cells: [h / CELL, w / CELL, 3] float32, the means of the source's cells.
        motion: From the known source to the newest frame, in cells.
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
        self.motion = DenseMotion(rows, columns, device)
        self.begins = True

    @property
    def flow(self) -> Tensor:
        """The position of each cell in the known source, see DenseMotion."""
        return self.motion.flow

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
            *(self.motion.pair, self.flow, self._moved, self._change, self._other, self._share),
            *(self._counts, self._sums, self._state),
        )
        shape = *result.shape[:2], *self.cells.shape[:2]
        return SmoothParams(*(each.data_ptr() for each in buffers), *shape, first, amount)
