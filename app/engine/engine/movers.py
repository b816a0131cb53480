"""Movers of paintings: of pictures in the host's memory, and of results that stay on a GPU.

Native code moves the paintings of the processor. Kernels move the paintings of GPUs that CUDA
reaches, and shaders the paintings of GPUs that WebGPU reaches.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from app.engine.config import EngineConfig
from app.engine.display_path import finish_of
from app.engine.network_pool import Size
from app.engine.post.blending import Pixels, PostProcessor, fit_to
from app.engine.post.moving_reference import ReferenceMover
from app.engine.result import Timings
from app.engine.stage_timer import Stopwatch
from kernels.frames.native_moving import NativeMover
from kernels.frames.native_smoothing import is_ready
from kernels.network.webgpu.moving.stream import WebGpuMover
from models.inference.frame_matting import PictureThere
from models.inference.frame_mover import FrameMover
from models.inference.painted_frames import KeptPainting
from models.webgpu_devices import adapter_of, is_webgpu, opened


@dataclass(frozen=True, slots=True, eq=False)
class HostPainting:
    """A network's output in the host's memory.

    Attributes:
        output: [h, w, 3], smoothed if the config smooths.
        source: [h, w, 3], the network's input without texture.
    """

    output: Pixels
    source: Pixels

    @property
    def size(self) -> tuple[int, int]:
        """(height, width) of both."""
        height, width, _ = self.output.shape
        return height, width


@dataclass(frozen=True, slots=True, eq=False)
class MovedPicture:
    """A displayed picture, [H, W, 3], and a copy for a window, see `Frame.screen`."""

    pixels: Pixels
    screen: Pixels | None
    timings: Timings


def by_shaders(device: torch.device) -> bool:
    """Return whether shaders move the paintings of a device.

    The shaders of a software adapter run on the processor's cores. Native code runs there too, and
    waits for no piece of a painting.
    """
    return is_webgpu(device) and not adapter_of(device).software


class _Paintings(Protocol):
    """The last paintings of a stream, as NativeMover has them."""

    size: tuple[int, int]

    def painted(self, painting: Pixels, source: Pixels) -> None: ...
    def shown(self, source: Pixels) -> Pixels: ...


class HostMover:
    """The last paintings of a stream, whose pictures are in the host's memory. Not thread-safe."""

    def __init__(self, paintings: _Paintings, post: PostProcessor) -> None:
        self._mover, self._post = paintings, post
        self._resized = np.empty((0, 0, 3), np.uint8)  # buffer

    @staticmethod
    def on_processor(first: HostPainting, post: PostProcessor) -> HostMover:
        """Return a mover for paintings of the size of `first`, without taking it."""
        return HostMover((NativeMover if is_ready() else ReferenceMover)(*first.size), post)

    @property
    def queued_ms(self) -> float:
        """The time that the newest move waited for a GPU to end earlier work."""
        return 0.0

    def painted(self, painting: HostPainting) -> None:
        self._mover.painted(painting.output, painting.source)

    def moved(self, pixels: Pixels, newest: EngineConfig) -> MovedPicture:
        """Return the picture of a newer frame, [H, W, 3]."""
        begun = time.perf_counter()
        height, width = self._mover.size
        self._resized = fit_to(pixels, (width, height), self._resized)
        scaled = time.perf_counter()
        moved = self._mover.shown(self._resized)
        found = time.perf_counter()
        made = self._post.enlarge(moved, self._resized, pixels, newest)
        timings = Timings(
            resize=(scaled - begun) * 1e3,
            queue=self.queued_ms,
            motion=(found - scaled) * 1e3 - self.queued_ms,
            blend=(time.perf_counter() - found) * 1e3,
        )
        return MovedPicture(made, None, timings)


class ShaderMover(HostMover):
    """The last paintings of a stream on a GPU that WebGPU reaches, which moves them."""

    def __init__(self, device: torch.device, first: HostPainting, post: PostProcessor) -> None:
        """Set the size of `first`, without taking it.

        Raises:
            WebGpuError: If the GPU is lost, out of memory, or refuses a shader.
        """
        self._shaders = WebGpuMover(opened(device), *first.size)
        super().__init__(self._shaders, post)

    @property
    def queued_ms(self) -> float:
        return self._shaders.queued_ms


class GpuMover:
    """The last paintings of a stream on a GPU. Not thread-safe."""

    def __init__(self, first: KeptPainting) -> None:
        self._mover = FrameMover(first)
        self._clock = Stopwatch(first.source.device, running=False)

    @property
    def there(self) -> PictureThere:
        """The newest moved picture on the GPU, valid until the next one."""
        return self._mover.there

    def painted(self, painting: KeptPainting) -> None:
        self._mover.painted(painting)

    def moved(
        self, pixels: Pixels, newest: EngineConfig, screen: Size | None = None
    ) -> MovedPicture:
        """Return the picture of a newer frame, [H, W, 3].

        Args:
            screen: (width, height) of a copy for a window; None for none.
        """
        finish = finish_of(newest, texture=0.0, continues=False)
        shown = None if screen is None else (screen[1], screen[0])
        self._clock.reset()
        painted = self._mover.moved(pixels, finish, self._clock.mark, shown)
        return MovedPicture(painted.pixels, painted.screen, self._clock.read(wait=False))
