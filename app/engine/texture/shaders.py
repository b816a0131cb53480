"""Texture for live streams on a GPU that WebGPU reaches, by its shaders."""

from __future__ import annotations

import torch

from kernels.network.webgpu.texture.stream import WebGpuTexture, prepare
from models.webgpu_devices import opened

Size = tuple[int, int]  # width, height


class ShaderTexture:
    """The texture of the newest stream. Not thread-safe.

    Its state stays on the GPU and is not saved. Frames must be submitted in their order.
    """

    def __init__(self) -> None:
        self._texture: WebGpuTexture | None = None

    def reset(self) -> None:
        """Begin another stream with the next frame."""
        if self._texture is not None:
            self._texture.forget()

    def clear(self) -> None:
        """Free the GPU's memory."""
        self._texture = None

    def adding(self, device: torch.device, size: Size, *, larger: bool = False) -> WebGpuTexture:
        """Return the texture for frames of a size; another size begins another stream.

        Args:
            larger: Whether larger copies of the frames follow, see `WebGpuTexture.enlarged`.

        Raises:
            WebGpuError: If the GPU is lost, out of memory, or refuses a shader.
        """
        texture, gpu = self._texture, opened(device)
        if texture is None or texture.device is not gpu or texture.size != size:
            self._texture = texture = WebGpuTexture(gpu, size)
        if larger:
            texture.keep_field()
        return texture

    @staticmethod
    def prepare(device: torch.device) -> None:
        """Compile the shaders, which takes up to some seconds.

        Raises:
            WebGpuError: If the GPU is lost or refuses a shader.
        """
        prepare(opened(device))
