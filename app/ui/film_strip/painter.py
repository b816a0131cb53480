"""Styles thumbnails with an engine of their own, so that the stream does not wait for them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.process_mode import ProcessMode
from app.frame import Frame
from app.styles.library import Library
from app.ui.film_strip.thumbnails import SCALE, SIZE, Pixels


def small_config(config: EngineConfig) -> EngineConfig:
    """The config of thumbnails: the look of `config` on the processor, where a small picture takes
    milliseconds and the GPU is left to the stream."""
    return replace(
        config,
        size=SIZE.width() * SCALE,
        device="cpu",
        precision=EngineConfig().precision,
        kernels=EngineConfig().kernels,
        network="lite",
        smoothing=0.0,
        compare=False,
    )


class StripPainter:
    """Styles one thumbnail at a time, on whichever thread asks.

    Args:
        library: The styles.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._engine: Engine | None = None

    def look(self, config: EngineConfig) -> Hashable:
        """What of a config the thumbnails show; equal for equal ones."""
        return small_config(config)

    def paint(self, config: EngineConfig, pixels: Pixels) -> Pixels:
        """Style a thumbnail.

        Args:
            config: That of the picture.
            pixels: [H, W, 3] uint8 RGB.

        Raises:
            StyleForgeError: The style cannot be used.
        """
        engine = self._engine = self._engine or Engine(self._library)
        wanted = small_config(config)
        if engine.config != wanted:
            engine.configure(wanted)
        styled = engine.process_batch([Frame(pixels.copy())], ProcessMode.REFINE)[0]
        return np.ascontiguousarray(styled.frame.pixels)
