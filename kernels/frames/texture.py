"""The kernels' state of a stream whose frames get texture."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernels.frames.noise import BANDS, CELL, WINDOWS, taps, tile, tracked_size
from kernels.frames.stream_state import StreamState, copied, refill
from kernels.frames.structs import TextureParams


class TextureHistory:
    """The state of a stream of pictures of one size.

    Attributes:
        cells: [h / CELL, w / CELL, bytes] uint8, the measurements of each cell.
        tracked: [small h, small w] uint8, the gray copy of the newest picture.
        field: [h, w] float32, the levels added to the newest picture; None without `keep_field`.
    """

    def __init__(
        self, height: int, width: int, device: torch.device, told: Mapping[str, Any]
    ) -> None:
        rows, columns = max(height // CELL, 1), max(width // CELL, 1)
        self.size = height, width
        self._told, self._noise = told, _noise(device, told["close"], told["wide"])
        bytes_of_all = rows, columns, told["cell_bytes"]
        self.cells = torch.zeros(bytes_of_all, dtype=torch.uint8, device=device)
        self._flat = torch.zeros(rows, columns, dtype=torch.float32, device=device)
        copies = torch.zeros(3, *tracked_size(height, width), dtype=torch.uint8, device=device)
        self.tracked, self._before, self._reference = copies
        self._state = torch.zeros(told["state_bytes"], dtype=torch.uint8, device=device)
        self.field: Tensor | None = None
        self.begins = True

    @property
    def tiles(self) -> int:
        rows, columns = self.cells.shape[:2]
        return -(-rows // self._told["tile_rows"]) * -(-columns // self._told["tile_columns"])

    @property
    def offset(self) -> Tensor:
        """[2] float64: pixels by which the pattern has moved to the right and down."""
        return self._state[:16].view(torch.float64)

    @property
    def presence(self) -> Tensor:
        """[] float32: 0 if the motion has been unknown for a while, else up to 1."""
        return self._state[48:52].view(torch.float32)[0]

    def keep_field(self) -> None:
        """Save the added levels from now on, for larger copies of the pictures."""
        if self.field is None:
            self.field = torch.zeros(self.size, dtype=torch.float32, device=self.cells.device)

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
            "tracked": self.tracked,
            "before": self._before,
            "reference": self._reference,
            "state": self._state,
        }

    def params(
        self, picture: int, textured: int, amount: float, *, continues: bool
    ) -> TextureParams:
        first, self.begins = self.begins, False
        buffers = (
            *(*self._noise, self.cells, self._flat, self.field),
            *(self.tracked, self._before, self._reference, self._state),
        )
        sizes = *self.size, *self.cells.shape[:2], *self.tracked.shape
        addresses = (None if each is None else each.data_ptr() for each in buffers)
        return TextureParams(picture, textured, *addresses, *sizes, first, continues, amount)


@lru_cache(maxsize=16)
def _noise(device: torch.device, *reaches: int) -> tuple[Tensor, Tensor, Tensor]:
    weights = [taps(window, reach) for window, reach in zip(WINDOWS, reaches, strict=True)]
    fine, coarse, blurs = (
        torch.as_tensor(each.copy(), device=device)
        for each in (*(tile(number) for number in range(len(BANDS))), np.concatenate(weights))
    )
    return fine, coarse, blurs
