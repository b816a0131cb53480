"""Texture for frames on the CPU, by the native library if it is in use."""

from __future__ import annotations

import numpy as np

from app.engine.texture.reference import Pixels, TextureReference
from kernels.frames.combing import Comb
from kernels.frames.cpu_texture import CpuTexture, cpu_texture
from kernels.frames.stream_state import StreamState, taken
from kernels.frames.texture import TextureHistory


class Texture:
    """The texture that is added to networks' inputs and moves with the scene. Not thread-safe.

    If the native library is not in use, which a warning reports, OpenCV and NumPy add it.
    """

    def __init__(self) -> None:
        self._reference = TextureReference()
        self._kernels: CpuTexture | None = None
        self._history: TextureHistory | None = None

    @property
    def offset(self) -> tuple[float, float]:
        """The offset of the pattern in the newest frame, in pixels to the right and down."""
        if self._history is None:
            return self._reference.offset
        if self._history.begins:
            return 0.0, 0.0
        right, down = self._history.offset
        return float(right), float(down)

    @property
    def presence(self) -> float:
        """The strength of the pattern, up to 1; 0 if the motion was unknown for a while."""
        if self._history is None:
            return self._reference.presence
        return 1.0 if self._history.begins else float(self._history.presence)

    def reset(self) -> None:
        self._reference.reset()
        if self._history is not None:
            self._history.forget()

    def apply(
        self,
        inputs: tuple[Pixels, ...],
        amount: float,
        *,
        continues: bool,
        comb: Comb | None = None,
    ) -> tuple[Pixels, ...]:
        """Add texture to a frame.

        Args:
            inputs: The frame at each input size, the strokes' last; each [H, W, 3] uint8, RGB.
            amount: 0 for none, 1 for the most.
            continues: Whether the frame continues the one before, so that the pattern has to move
                with the scene; if its motion is not known, the texture fades.
            comb: The direction and length of the strokes; None for strokes without a direction.

        Returns:
            `inputs` themselves if the amount is 0, else new pictures of their sizes.

        Raises:
            MemoryError: If memory runs out.
        """
        if amount <= 0:
            self.reset()
            return inputs
        kernels = cpu_texture()
        if kernels is None:
            return self._reference.apply(inputs, amount, continues=continues, comb=comb)
        given = [np.ascontiguousarray(picture) for picture in inputs]
        *larger, strokes = given
        history = self._history_of(kernels, *strokes.shape[:2])
        if larger:
            history.keep_field()
        textured = tuple(np.empty_like(picture) for picture in given)
        kernels.texture(history, strokes, textured[-1], amount, continues=continues, comb=comb)
        for picture, made in zip(larger, textured, strict=False):
            kernels.enlarge_texture(history, picture, made)
        return textured

    def state(self) -> StreamState:
        if self._history is None:
            return self._reference.state()
        kept = self._history.state()
        return {"size": np.array(self._history.size), **kept} if kept else {}

    def restore(self, state: StreamState) -> None:
        """Continue the stream of `state`.

        Raises:
            StateError: If `state` has another frame size or comes from other kernels.
        """
        self.reset()
        kernels = cpu_texture() if state else None
        if kernels is None:
            self._reference.restore(state)
            return
        height, width = (int(side) for side in taken(state, "size"))
        kept = {name: array for name, array in state.items() if name != "size"}
        self._history_of(kernels, height, width).restore(kept)

    def _history_of(self, kernels: CpuTexture, height: int, width: int) -> TextureHistory:
        history = self._history
        if history is None or history.size != (height, width) or kernels is not self._kernels:
            self._kernels = kernels
            self._history = history = kernels.new_texture(height, width)
        return history
