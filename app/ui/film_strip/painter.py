"""Styles thumbnails with a separate engine, so that the stream does not wait for them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.process_mode import ProcessMode
from app.frame import Frame
from app.styles.catalog import Catalog
from app.ui.film_strip.thumbnails import SCALE, SIZE, Pixels


def small_config(config: EngineConfig) -> EngineConfig:
    """Return the look of `config` on the processor: quick for small pictures, it frees the GPU."""
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
    """Styles one thumbnail at a time, on the calling thread."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._engine: Engine | None = None

    def look(self, config: EngineConfig) -> Hashable:
        """Return the part of a config that affects thumbnails; equal for equal thumbnails."""
        return small_config(config)

    def paint(self, config: EngineConfig, pixels: Pixels) -> Pixels:
        """Style a thumbnail, [H, W, 3] uint8 RGB.

        Raises:
            StyleForgeError: If the style or the engine cannot be used.
        """
        engine = self._engine = self._engine or Engine(self._catalog)
        wanted = small_config(config)
        if engine.config != wanted:
            engine.configure(wanted)
        styled = engine.process_batch([Frame(pixels.copy())], ProcessMode.REFINE)[0]
        return np.ascontiguousarray(styled.frame.pixels)
