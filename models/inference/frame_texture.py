"""Texture on frames that stay on a GPU: noise in flat parts of what the networks are given."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.frames.launchers import FrameKernels


class FrameTexture:
    """Adds texture to the inputs of the plans for one or two sizes. Not thread-safe.

    Args:
        kernels: On their GPU.
        detail: [N, H, W, 3] uint8, the input of the network for a batch.
        strokes: [N, h, w, 3] uint8, that of the smaller size, whose pixels the texture is measured
            in; None where there is one size.

    Attributes:
        clean: [N, H, W, 3] uint8, a buffer for frames without texture.
    """

    def __init__(self, kernels: FrameKernels, detail: Tensor, strokes: Tensor | None) -> None:
        self._kernels, self._detail, self._strokes = kernels, detail, strokes
        _, height, width, _ = (detail if strokes is None else strokes).shape
        with torch.inference_mode(False):
            self.clean = torch.zeros_like(detail)
            self._history = kernels.new_texture(height, width, detail.device)
            if strokes is not None:
                self._history.keep_field()

    @property
    def begins(self) -> bool:
        """Whether the next frame is the first of a stream."""
        return self._history.begins

    def forget(self) -> None:
        """Begin a new stream with the next frame."""
        self._history.forget()

    def add(self, clean: Tensor, amount: float, *, continues: bool) -> None:
        """Submit the texture of a batch, of one frame after the other.

        Args:
            clean: [N, H, W, 3] uint8, the frames without texture; those of the smaller size are in
                `strokes`, and get theirs there. Those of the larger size are written to `detail`.
            amount: 0 for none, 1 for the most.
            continues: Whether each frame continues the one before.
        """
        history, kernels = self._history, self._kernels
        for place, (frame, textured) in enumerate(zip(clean, self._detail, strict=True)):
            if self._strokes is None:
                kernels.texture(history, frame, textured, amount, continues=continues)
            else:
                small = self._strokes[place]
                kernels.texture(history, small, small, amount, continues=continues)
                kernels.enlarge_texture(history, frame, textured)
