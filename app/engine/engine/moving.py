"""Moves the last painting of a stream with the scene, until the next one is there."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from app.engine.config import EngineConfig, same_network
from app.engine.engine.movers import GpuMover, HostMover, HostPainting
from app.engine.inferred import Inferred
from app.engine.network_pool import Size
from app.engine.post.blending import PostProcessor
from app.engine.result import StyledFrame
from app.frame import Frame
from models.inference.frame_matting import PictureThere
from models.inference.painted_frames import KeptPainting


class Moving:
    """The last paintings of a stream, in the size of the network's output. Not thread-safe."""

    def __init__(self, post: PostProcessor) -> None:
        self._post = post
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
        if isinstance(painting, HostPainting):
            mover = known if isinstance(known, HostMover) else HostMover(painting, self._post)
            mover.painted(painting)
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
            None if there is no painting of this config and size.
        """
        styled, mover = self._styled, self._mover
        if styled is None or mover is None or not same_network(newest, styled.config):
            return None
        if (frame.width, frame.height) != (styled.frame.width, styled.frame.height):
            return None
        if isinstance(mover, GpuMover):
            moved = mover.moved(frame.pixels, newest, screen)
        else:
            moved = mover.moved(frame.pixels, newest)
        return replace(
            styled,
            frame=frame.with_pixels(moved.pixels, moved.screen),
            source=frame,
            config=newest,
            timings=replace(moved.timings, read=frame.read_ms),
            captured=None,
            moved=True,
        )
