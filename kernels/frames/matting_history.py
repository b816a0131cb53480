"""The state of a stream's mattes on the GPU, and the arguments of the kernels that make them."""

from __future__ import annotations

from ctypes import c_float

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernels.frames.matting import TILE
from kernels.frames.structs import MattingParams


class MattingHistory:
    """The mattes of a stream of frames of one size.

    Attributes:
        colors: [h, w, 3] float32, the empty scene.
        noise: [h, w] float32, its usual deviation.
        rough: [h, w] float32, the rough matte of the newest frame.
        slopes: [h, w, 2] float32: times luma (0-255), plus, gives the refined matte.
        kept: [h / TILE, w / TILE] float32, how much of the last matte stays.
    """

    def __init__(self, height: int, width: int, device: torch.device) -> None:
        def buffer(*shape: int) -> Tensor:
            return torch.zeros(shape, dtype=torch.float32, device=device)

        self.colors = buffer(height, width, 3)
        self.noise, self.rough, self._gray, self._unlike, self._before = buffer(5, height, width)
        self._differences, self._fitted, self.slopes = buffer(3, height, width, 2)
        self.kept, self._plain = buffer(2, -(-height // TILE), -(-width // TILE))

    def params(
        self, frame: Tensor, light: NDArray[np.float32] | None, *, first: bool
    ) -> MattingParams:
        buffers = (
            *(frame, self.colors, self.noise, self._gray, self._differences, self._unlike),
            *(self._plain, self.kept, self.rough, self._before, self._fitted, self.slopes),
        )
        inverse = np.ones(3, np.float32) if light is None else np.float32(1) / light
        sizes = *self.rough.shape, *self.kept.shape, first
        addresses = (each.data_ptr() for each in buffers)
        return MattingParams(*addresses, *sizes, (c_float * 3)(*inverse.tolist()))
