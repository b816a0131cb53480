"""Memory limits: size of the network's input, batches, and pictures in flight."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Any

import torch

from app.batch.error import StylizeError
from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.network_pool import AT_ONCE, BATCH, BATCH_PIXELS, IN_BANDS
from app.engine.painting_devices import painting_device
from app.engine.resolution import MAX_SIZE, fit, requested_sizes, size_for, unhurried_size
from models.families.family import NetworkFamily
from models.families.keys import FEED_FORWARD
from models.families.table import FAMILIES
from models.inference.frame_styler import DEPTH
from models.precision import Precision
from utils.free_memory import free_bytes
from utils.text import printable

MOST = 65536  # maximum of --size
PICTURES_FRACTION = 0.25  # share of the free memory for the pictures in flight
# Measured memory per pixel of a picture: 10 to 18 bytes for reading. For writing, including the
# picture and its result: 10 as JPEG or PNG, 38 as WebP, 43 as PNG with transparency.
BYTES_PER_PICTURE_PIXEL = 45
# Buffers of the frames in flight on a GPU, per pixel: a frame and its picture.
BYTES_PER_FRAME_PIXEL = DEPTH * 2 * 3


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one run, computed from the memory that is free when the run starts.

    Memory that the run allocates later does not change the limits.

    Attributes:
        batch: Maximum pictures per batch; None for automatic.
    """

    config: EngineConfig
    device: torch.device
    batch: int | None
    memory_bytes: float
    picture_bytes: float
    family: NetworkFamily[Any] = FAMILIES[FEED_FORWARD]
    full: bool = False

    @classmethod
    def now(
        cls, config: EngineConfig, batch: int | None, engine: Engine, *, full: bool = False
    ) -> Limits:
        """Compute the limits from the current free memory; `engine` has the config."""
        free = free_bytes(torch.device("cpu")) * PICTURES_FRACTION
        device, memory = painting_device(config.device), engine.memory_bytes
        return cls(config, device, batch, memory, free, engine.family, full)

    def size(self, name: str, width: int, height: int) -> int:
        """Choose the `EngineConfig.size` for a picture.

        Raises:
            StylizeError: If the picture does not fit into memory at the requested size.
        """
        room = self._room(width, height)
        wanted = max(width, height) if self.full else self.config.size
        if wanted and wanted > room:
            raise StylizeError(
                f"'{printable(name)}' does not fit into memory at size {wanted}; "
                f"{room} and less would"
            )
        return self._size(width, height)

    def batch_of(self, width: int, height: int) -> int:
        """Choose the batch size for pictures of a size in pixels."""
        config = replace(self.config, size=self._size(width, height))
        pixels = requested_sizes(config, width, height).pixels
        most = self.batch or self._automatic_batch(pixels)
        each = pixels * self._bytes_per_pixel + width * height * BYTES_PER_FRAME_PIXEL
        held = self.held(width, height)
        fitting = min(AT_ONCE * self.memory_bytes / each, self.picture_bytes / held)
        return max(1, min(most, int(fitting)))

    def held(self, width: int, height: int) -> int:
        """Return the bytes that a picture of a size in pixels occupies while in flight."""
        return width * height * BYTES_PER_PICTURE_PIXEL

    def _automatic_batch(self, pixels: int) -> int:
        """Return a batch above 1 only on a GPU, if the network's variant has plans."""
        if self.device.type != "cuda" or not self.family.variant(self.config.kernels).has_plans:
            return 1
        return min(BATCH, BATCH_PIXELS // pixels)

    def _size(self, width: int, height: int) -> int:
        most = max(width, height) if self.full else MAX_SIZE
        limit = min(self._room(width, height), most)
        return unhurried_size(self.config, width, height, limit)

    def _room(self, width: int, height: int) -> int:
        """Return the largest `EngineConfig.size` that fits into memory, in bands if supported."""
        precision, aspect = self.precision, max(width, height) / min(width, height)
        if self.family.banded_bytes((width, height), precision) is None:
            pixels = AT_ONCE * self.memory_bytes / self._bytes_per_pixel
            return size_for(self.config, int(math.sqrt(pixels * aspect)))

        def needed(long_side: int) -> int:
            return self.family.banded_bytes(fit(width, height, long_side), precision) or 0

        sides = range(MOST + 1)
        return size_for(
            self.config, bisect_right(sides, IN_BANDS * self.memory_bytes, key=needed) - 1
        )

    @property
    def precision(self) -> Precision:
        """The precision that the device computes in, which may differ from the config's."""
        return self.family.computed(self.config.kernels, self.config.precision, self.device)

    @property
    def _bytes_per_pixel(self) -> int:
        return self.family.memory_per_pixel(self.device, self.precision)
