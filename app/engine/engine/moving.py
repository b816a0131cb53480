"""Moves the last painting of a stream with the scene, until the next one is there."""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from app.engine.config import EngineConfig, same_network
from app.engine.inferred import Inferred
from app.engine.post.blending import Pixels, PostProcessor, fit_to
from app.engine.post.moving_reference import ReferenceMover
from app.engine.result import StyledFrame, Timings
from app.frame import Frame
from kernels.frames.native_moving import NativeMover
from kernels.frames.native_smoothing import is_ready


class Moving:
    """The last paintings of a stream, in the size of the network's output. Not thread-safe."""

    def __init__(self, post: PostProcessor) -> None:
        self._post = post
        self._mover: NativeMover | ReferenceMover | None = None
        self._key: Hashable = None  # what two paintings that mix have in common
        self._styled: StyledFrame | None = None
        self._resized = np.empty((0, 0, 3), np.uint8)  # buffer

    def forget(self) -> None:
        """Begin another stream."""
        self._mover = self._styled = None

    def painted(
        self, inferred: Inferred, output: Pixels, resized: Pixels, styled: StyledFrame
    ) -> None:
        """Take a new painting.

        Args:
            output: The network's output, smoothed if the config smooths.
            resized: The network's input, without texture.
            styled: The result.
        """
        frame, key = inferred.frame, (inferred.variant, inferred.active.key)
        height, width, _ = output.shape
        of_stream = (frame.width, frame.height, height, width, key)
        if self._mover is None or self._key != of_stream:
            mover = NativeMover if is_ready() else ReferenceMover
            self._mover, self._key = mover(height, width), of_stream
        self._mover.painted(output, resized)
        self._styled = styled

    def move(self, frame: Frame, newest: EngineConfig) -> StyledFrame | None:
        """Return the last painting where the scene has moved to in a newer frame.

        Args:
            newest: The config for the steps after the network.

        Returns:
            None if there is no painting of this config and size.
        """
        styled, mover = self._styled, self._mover
        if styled is None or mover is None or not same_network(newest, styled.config):
            return None
        if (frame.width, frame.height) != (styled.frame.width, styled.frame.height):
            return None
        begun = time.perf_counter()
        height, width = mover.size
        self._resized = fit_to(frame.pixels, (width, height), self._resized)
        scaled = time.perf_counter()
        moved = mover.shown(self._resized)
        found = time.perf_counter()
        pixels = self._post.enlarge(moved, self._resized, frame.pixels, newest)
        timings = Timings(
            read=frame.read_ms,
            resize=(scaled - begun) * 1e3,
            motion=(found - scaled) * 1e3,
            blend=(time.perf_counter() - found) * 1e3,
        )
        return replace(
            styled,
            frame=frame.with_pixels(pixels),
            source=frame,
            config=newest,
            timings=timings,
            captured=None,
            moved=True,
        )
