"""Texture on frames that stay on a GPU: noise in flat parts of the networks' input."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.frames.combing import Comb
from kernels.frames.launchers import FrameKernels
from kernels.frames.stream_state import StreamState
from kernels.network.graph_plan import GraphPlan


class FrameTexture:
    """The texture in the input of the plans for one or two sizes. Not thread-safe.

    Frames update the state of a stream in order, all on the CUDA stream that was current when this
    object was created. A pixel of the smaller plan, `strokes`, is the unit of the texture.
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
        return self._history.begins

    def forget(self) -> None:
        self._history.forget()

    def state(self) -> StreamState:
        return self._history.state()

    def restore(self, state: StreamState) -> None:
        """Continue the stream of `state`.

        Raises:
            StateError: If `state` has another frame size or comes from other kernels.
        """
        self._history.restore(state)

    def add(
        self,
        clean: Tensor,
        textured: Tensor,
        small: Tensor | None,
        amount: float,
        *,
        continues: bool,
        comb: Comb | None = None,
    ) -> None:
        """Submit the texture of a batch, one frame after the other.

        Args:
            clean: [N, H, W, 3] uint8, the frames without texture; `textured`, the output, is alike.
            small: [N, h, w, 3] uint8, smaller frames, textured in place; None with one size.
            amount: 0 for none, 1 for the maximum.
            comb: The direction and length of the strokes; None for strokes without a direction.
        """
        history, kernels = self._history, self._kernels
        for place, (frame, made) in enumerate(zip(clean, textured, strict=True)):
            if small is None:
                kernels.texture(history, frame, made, amount, continues=continues, comb=comb)
            else:
                own = small[place]
                kernels.texture(history, own, own, amount, continues=continues, comb=comb)
                kernels.enlarge_texture(history, frame, made)
