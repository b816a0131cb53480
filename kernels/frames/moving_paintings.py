"""The last paintings of a stream on the GPU, and the arguments of the kernels that move them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernels.frames.dense_motion import DenseMotion
from kernels.frames.moving import FADE
from kernels.frames.smoothing import CELL
from kernels.frames.structs import MOST_PAINTINGS, MovingPainting, MovingParams


class MovingPaintings:
    """The last paintings of a stream of one size.

    Attributes:
        size: (height, width) of paintings, in pixels.
        shown: [h, w, 3] uint8, the paintings where the scene moved to in the newest frame.
        known: [h / CELL, w / CELL] float32, the newest painting's source in gray cells.
    """

    def __init__(
        self, height: int, width: int, device: torch.device, told: Mapping[str, Any]
    ) -> None:
        def buffer(*shape: int, dtype: torch.dtype = torch.uint8) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        rows, columns = max(height // CELL, 1), max(width // CELL, 1)
        self.size = height, width
        self.shown = buffer(height, width, 3)
        self._pixels = buffer(MOST_PAINTINGS, height, width, 3)
        self._motions = [DenseMotion(rows, columns, device) for _ in range(MOST_PAINTINGS)]
        self._changes = buffer(MOST_PAINTINGS, rows, columns, told["changes_bytes"])
        self._trusts = buffer(MOST_PAINTINGS, 2, rows, columns, told["trust_bytes"])
        self._certainty = buffer(MOST_PAINTINGS, dtype=torch.int64)
        self._newest = 0  # its place in the buffers
        self._count = 0  # of the paintings that mix
        self._frames = 0  # since the newest painting

    @property
    def known(self) -> Tensor:
        return self._motions[self._newest].pair[1]

    @property
    def motions(self) -> list[DenseMotion]:
        """The motions of the paintings that mix, the newest painting first."""
        return [self._motions[place] for place in self._places]

    @property
    def cells(self) -> Tensor:
        """The changes of the paintings that mix, one below the other: [rows, columns, bytes]."""
        return self._changes[: self._count].flatten(0, 1)

    def take(self, source: Tensor) -> tuple[Tensor, MovingParams]:
        """Begin a painting of `source`, [h, w, 3].

        Return the buffer for its pixels, and the arguments that write `known`.
        """
        self._newest, self._frames = (self._newest + 1) % MOST_PAINTINGS, 0
        self._count = min(self._count + 1, MOST_PAINTINGS)
        known = MovingPainting(pair=self.known.data_ptr())
        return self._pixels[self._newest], self._params(source, [known], 0.0)

    def params(self, source: Tensor) -> MovingParams:
        """Return the arguments for the next frame, [h, w, 3].

        Raises:
            ValueError: If there is no painting.
        """
        if not self._count:
            raise ValueError("there is no painting yet")
        self._frames += 1
        if self._frames >= FADE:
            self._count = 1
        paintings = [
            MovingPainting(
                self._pixels[place].data_ptr(),
                self._motions[place].pair.data_ptr(),
                self._motions[place].flow.data_ptr(),
                self._changes[number].data_ptr(),
                self._trusts[number].data_ptr(),
            )
            for number, place in enumerate(self._places)
        ]
        # In FP32 like smoothing.cpp: another last bit changes pixels.
        before_share = np.float32(1) - np.float32(self._frames) / np.float32(FADE)
        return self._params(source, paintings, float(before_share))

    @property
    def _places(self) -> list[int]:
        return [(self._newest - age) % MOST_PAINTINGS for age in range(self._count)]

    def _params(
        self, source: Tensor, paintings: list[MovingPainting], before_share: float
    ) -> MovingParams:
        addresses = source.data_ptr(), self.shown.data_ptr(), self._certainty.data_ptr()
        shape = *self.size, *self.known.shape
        every = (MovingPainting * MOST_PAINTINGS)(*paintings)
        return MovingParams(*addresses, every, *shape, len(paintings), before_share)
