"""What the kernels keep of a stream whose frames are given texture."""

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
    """What is kept of a stream of pictures of one size.

    Args:
        height: Of the pictures.
        width: Of the pictures.
        device: Where it is kept.
        told: What the library tells of its texture.

    Attributes:
        cells: [h / CELL, w / CELL, bytes] uint8, what is measured of each cell.
        tracked: [small h, small w] uint8, the gray copy of the newest picture.
        begins: Whether the next picture is the first of a stream.
        field: [h, w] float32, what was added to the newest picture, in levels; where it is kept.
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
        """Of cells, each measured by one block."""
        rows, columns = self.cells.shape[:2]
        return -(-rows // self._told["tile_rows"]) * -(-columns // self._told["tile_columns"])

    @property
    def offset(self) -> Tensor:
        """[2] float64: pixels by which the pattern has moved to the right and down."""
        return self._state[:16].view(torch.float64)

    @property
    def presence(self) -> Tensor:
        """[] float32: 0 where the motion has not been known for a while, else up to 1."""
        return self._state[48:52].view(torch.float32)[0]

    def keep_field(self) -> None:
        """Keep what is added from now on, for larger copies of the pictures."""
        if self.field is None:
            self.field = torch.zeros(self.size, dtype=torch.float32, device=self.cells.device)

    def forget(self) -> None:
        """Begin a new stream with the next picture."""
        self.begins = True

    def state(self) -> StreamState:
        """What is kept, for `restore` of another one of the same size."""
        return {} if self.begins else copied(self._lasting)

    def restore(self, state: StreamState) -> None:
        """Go on with the stream that `state` is of. Raises StateError if it does not fit."""
        if state:
            refill(self._lasting, state)
        self.begins = not state

    @property
    def _lasting(self) -> dict[str, Tensor]:
        """What one frame leaves to the next."""
        return {
            "tracked": self.tracked,
            "before": self._before,
            "reference": self._reference,
            "state": self._state,
        }

    def params(
        self, picture: int, textured: int, amount: float, *, continues: bool
    ) -> TextureParams:
        """What the kernels are called with for the next picture of the stream, by the addresses of
        it and of what is written."""
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
    """The tiles of BANDS and the weights of the blurs on a device, the same for pictures of any
    size."""
    weights = [taps(window, reach) for window, reach in zip(WINDOWS, reaches, strict=True)]
    fine, coarse, blurs = (
        torch.as_tensor(each.copy(), device=device)
        for each in (*(tile(number) for number in range(len(BANDS))), np.concatenate(weights))
    )
    return fine, coarse, blurs
