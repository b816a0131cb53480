"""Texture on frames that stay on a GPU: noise in flat parts of what the networks are given."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.frames.launchers import FrameKernels
from kernels.frames.stream_state import StreamState
from kernels.network.graph_plan import GraphPlan


class FrameTexture:
    """Adds texture to what the plans for one or two sizes are given. Not thread-safe.

    What it keeps of a stream is written by the frames in their order, all of them on the stream on
    which it is made.

    Args:
        kernels: On their GPU.
        detail: The plan of the network's input size.
        strokes: That of the smaller size, whose pixels the texture is measured in; None where there
            is one size.
    """

    def __init__(self, kernels: FrameKernels, detail: GraphPlan, strokes: GraphPlan | None) -> None:
        self._kernels = kernels
        _, height, width = (strokes or detail).shape
        with torch.inference_mode(False):
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

    def state(self) -> StreamState:
        """What is kept of the frames before the next one, for `restore`."""
        return self._history.state()

    def restore(self, state: StreamState) -> None:
        """Go on with the stream that `state` is of. Raises StateError if it does not fit."""
        self._history.restore(state)

    def add(
        self,
        clean: Tensor,
        textured: Tensor,
        small: Tensor | None,
        amount: float,
        *,
        continues: bool,
    ) -> None:
        """Submit the texture of a batch, of one frame after the other.

        Args:
            clean: [N, H, W, 3] uint8, the frames without texture.
            textured: [N, H, W, 3] uint8, written to.
            small: [N, h, w, 3] uint8, those of the smaller size, which get their texture in place;
                None where there is one size.
            amount: 0 for none, 1 for the most.
            continues: Whether each frame continues the one before.
        """
        history, kernels = self._history, self._kernels
        for place, (frame, made) in enumerate(zip(clean, textured, strict=True)):
            if small is None:
                kernels.texture(history, frame, made, amount, continues=continues)
            else:
                own = small[place]
                kernels.texture(history, own, own, amount, continues=continues)
                kernels.enlarge_texture(history, frame, made)
