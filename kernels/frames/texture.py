"""The kernels' state of a stream whose frames get texture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernels.frames.combing import MARGIN, Comb, tensor_taps
from kernels.frames.noise import BANDS, CELL, WINDOWS, taps, tile, tracked_size
from kernels.frames.stream_state import StreamState, copied, refill
from kernels.frames.structs import CombParams, HandleAxis, TextureParams
from utils.stroke_directions import MOST_HANDLES

Grid = tuple[int, int, int]  # blocks along x, y and z


class TextureHistory:
    """The state of a stream of pictures of one size.

    Attributes:
        cells: [h / CELL, w / CELL, bytes] uint8, the measurements of each cell.
        tracked: [small h, small w] uint8, the gray copy of the newest picture.
        field: [h, w] float32, the levels added to the newest picture; None without `keep_field`.
        combed: [ceil(h / 2), ceil(w / 2)] float32, the noise of strokes with a direction; None
            before the first.
        noise: The same before it is combed, with MARGIN pixels around it.
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
        self.combed: Tensor | None = None
        self.noise: Tensor | None = None
        self.begins = True

    @property
    def areas_grid(self) -> Grid:
        """The blocks that measure the copy for motion, and then those for the cells."""
        threads = self._told["threads"]
        copy = self.tracked.numel() * self._told["area_lanes"]
        return -(-copy // threads) + -(-math.prod(self.cells.shape[:2]) // threads), 1, 1

    def flat_grid(self, combs: bool) -> Grid:
        """Return the blocks for motion, tiles of cells and tiles of axes, in whole clusters."""
        motion = self._told["motion_blocks"]
        blocks = motion + self._tiles(self.cells.shape[:2], "tile")
        if combs:
            blocks += self._tiles(self.tracked.shape, "axis")
        return -(-blocks // motion) * motion, 1, 1

    @property
    def add_grid(self) -> Grid:
        height, width = self.size
        return -(-width // self._told["threads"]), -(-height // self._told["add_rows"]), 1

    @property
    def comb_grid(self) -> Grid:
        height, width = (-(-side // self._told["comb_pixels"]) for side in self.size)
        return height * width, 1, 1

    def _tiles(self, shape: Sequence[int], name: str) -> int:
        rows, columns = shape
        return -(-rows // self._told[f"{name}_rows"]) * -(-columns // self._told[f"{name}_columns"])

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
        if "axes" in state:
            self._make_combing()
        if state:
            lasting = self._lasting
            refill(
                {name: lasting[name] for name in lasting if name in state or name != "axes"}, state
            )
        self.begins = not state

    @property
    def _lasting(self) -> dict[str, Tensor]:
        return {
            "tracked": self.tracked,
            "before": self._before,
            "reference": self._reference,
            "state": self._state,
            **({} if self.combed is None else {"axes": self._kept}),
        }

    def params(
        self,
        picture: int,
        textured: int,
        amount: float,
        *,
        continues: bool,
        comb: Comb | None = None,
    ) -> tuple[TextureParams, CombParams | None]:
        first, self.begins = self.begins, False
        combs = None if comb is None else self._comb_params(comb)
        buffers = (
            *(*self._noise, self.cells, self._flat, self.field, self.combed if comb else None),
            *(self.tracked, self._before, self._reference, self._state),
        )
        sizes = *self.size, *self.cells.shape[:2], *self.tracked.shape
        addresses = (None if each is None else each.data_ptr() for each in buffers)
        p = TextureParams(picture, textured, *addresses, *sizes, first, continues, amount)
        return p, combs

    def _comb_params(self, comb: Comb) -> CombParams:
        combed, noise = self._make_combing()
        fine, coarse, _ = self._noise
        handles = [
            HandleAxis(each.x, each.y, *axis)
            for each, axis in zip(comb.handles, comb.handle_axes, strict=True)
        ]
        buffers = (
            *(self.tracked, fine, coarse, _tensor_taps(self.cells.device), self._lines),
            *(self._kept, self._axes, noise, combed, self._state),
        )
        return CombParams(
            *(each.data_ptr() for each in buffers),
            *(*self.size, *self.tracked.shape, comb.mode, comb.steps),
            *(*comb.axis, comb.gain),
            *(few / many for few, many in zip(self.tracked.shape, combed.shape, strict=True)),
            *(len(handles), (HandleAxis * MOST_HANDLES)(*handles)),
        )

    def _make_combing(self) -> tuple[Tensor, Tensor]:
        """Return `combed` and `noise`, created before the first strokes with a direction."""
        if self.combed is not None and self.noise is not None:
            return self.combed, self.noise
        height, width = ((side + 1) // 2 for side in self.size)
        with torch.inference_mode(False):
            rows, columns = self.tracked.shape
            self.combed, self.noise, copies = (
                torch.zeros(*shape, dtype=torch.float32, device=self.cells.device)
                for shape in (
                    (height, width),
                    (height + 2 * MARGIN, width + 2 * MARGIN),
                    (8, rows, columns),
                )
            )
            self._lines, self._axes, self._kept = copies[:4], copies[4:6], copies[6:]
        return self.combed, self.noise


@lru_cache(maxsize=16)
def _tensor_taps(device: torch.device) -> Tensor:
    return torch.as_tensor(tensor_taps(), device=device)


@lru_cache(maxsize=16)
def _noise(device: torch.device, *reaches: int) -> tuple[Tensor, Tensor, Tensor]:
    weights = [taps(window, reach) for window, reach in zip(WINDOWS, reaches, strict=True)]
    fine, coarse, blurs = (
        torch.as_tensor(each.copy(), device=device)
        for each in (*(tile(number) for number in range(len(BANDS))), np.concatenate(weights))
    )
    return fine, coarse, blurs
