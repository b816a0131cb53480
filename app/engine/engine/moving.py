"""Moves the last painting of a stream with the scene, until the next one is there."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace

import torch

from app.engine.config import EngineConfig, same_network
from app.engine.engine import movers
from app.engine.engine.movers import GpuMover, HostMover, HostPainting, ShaderMover
from app.engine.inferred import Inferred
from app.engine.network_pool import Size
from app.engine.post.blending import PostProcessor
from app.engine.result import StyledFrame
from app.frame import Frame
from kernels.network.webgpu.library import WebGpuError
from models.inference.frame_matting import PictureThere
from models.inference.painted_frames import KeptPainting


class Moving:
    """The last paintings of a stream, in the size of the network's output. Not thread-safe.

    Args:
        on_failure: Called if a GPU that WebGPU reaches fails to move a painting, which is then
            forgotten.
    """

    def __init__(
        self,
        post: PostProcessor,
        on_failure: Callable[[torch.device, WebGpuError], object],
    ) -> None:
        self._post, self._on_failure = post, on_failure
        self._device = torch.device("cpu")  # that paints
        self._mover: HostMover | GpuMover | None = None
        self._key: Hashable = None  # what two paintings that mix have in common
        self._styled: StyledFrame | None = None

    def forget(self) -> None:
        """Begin another stream."""
        self._mover = self._styled = None

    @property
    def there(self) -> PictureThere | None:
        """The newest moved picture on its GPU; None if the processor moves paintings."""
        return self._mover.there if isinstance(self._mover, GpuMover) else None

    def painted(
        self, inferred: Inferred, painting: HostPainting | KeptPainting, styled: StyledFrame
    ) -> None:
        """Take a new painting, of which `styled` is the result."""
        frame, key = inferred.frame, (inferred.variant, inferred.active.key)
        of_stream = (frame.width, frame.height, painting.size, key, type(painting))
        known = self._mover if self._key == of_stream else None
        self._device = inferred.device
        if isinstance(painting, HostPainting):
            try:
                mover = known if isinstance(known, HostMover) else self._host_mover(painting)
                mover.painted(painting)
            except WebGpuError as error:
                self._fail(error)
                return
        else:
            mover = known if isinstance(known, GpuMover) else GpuMover(painting)
            mover.painted(painting)
        self._mover, self._key, self._styled = mover, of_stream, styled

    def move(
        self, frame: Frame, newest: EngineConfig, screen: Size | None = None
    ) -> StyledFrame | None:
        """Return the last painting where the scene has moved to in a newer frame.

        Args:
            newest: The config for the steps after the network.
            screen: (width, height) of a copy for a window, which a GPU makes; None for none.

        Returns:
            None if there is no painting of this config and size, or if the GPU failed.
        """
        styled, mover = self._styled, self._mover
        if styled is None or mover is None or not same_network(newest, styled.config):
            return None
        if (frame.width, frame.height) != (styled.frame.width, styled.frame.height):
            return None
        try:
            moved = (
                mover.moved(frame.pixels, newest, screen)
                if isinstance(mover, GpuMover)
                else mover.moved(frame.pixels, newest)
            )
        except WebGpuError as error:
            self._fail(error)
            return None
        return replace(
            styled,
            frame=frame.with_pixels(moved.pixels, moved.screen),
            source=frame,
            config=newest,
            timings=replace(moved.timings, read=frame.read_ms),
            captured=None,
            moved=True,
        )

    def _host_mover(self, first: HostPainting) -> HostMover:
        """Return a mover for paintings in the host's memory, without taking `first`.

        Raises:
            WebGpuError: If shaders move them, and the GPU is lost, out of memory, or refuses one.
        """
        if movers.by_shaders(self._device):
            return ShaderMover(self._device, first, self._post)
        return HostMover.on_processor(first, self._post)

    def _fail(self, error: WebGpuError) -> None:
        self.forget()
        self._on_failure(self._device, error)
