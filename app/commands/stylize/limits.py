"""What fits into memory: the size of the network's input, batches, and pictures in flight."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch

from app.commands.memory_budget import free_bytes
from app.commands.stylize.jobs import StylizeError
from app.engine.config import EngineConfig
from app.engine.resolution import requested_sizes, size_for, unhurried_size
from models.families.family import NetworkFamily
from models.families.keys import FEED_FORWARD
from models.families.table import FAMILIES
from models.inference.frame_styler import DEPTH
from utils.devices import resolve
from utils.text import printable

# Default of --size, the long side of the network's input. Larger pictures are scaled down for
# the network, and the result is scaled up again.
MAX_SIZE = {"cpu": 2048, "cuda": 4096}
MEMORY_FRACTION = 0.5  # of the free memory of the device, for the network
PICTURES_FRACTION = 0.25  # of the free memory, for the pictures in flight
# Measured memory per pixel of a picture: 10 to 18 bytes to read it; to write it, with the picture
# and its result, 10 as JPEG or PNG, 38 as WebP, 43 as PNG with transparency.
BYTES_PER_PICTURE_PIXEL = 45
# Buffers of the frames under way on a GPU, for each of their pixels: a frame and its picture.
BYTES_PER_FRAME_PIXEL = DEPTH * 2 * 3
# The default of --batch on a GPU, and its most pixels: at 1280x720 eight pictures in a batch take
# an H200 0.556 ms each, and one alone 0.650. Larger pictures fill a GPU by themselves.
BATCH = 8
BATCH_PIXELS = BATCH * 1280 * 720


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one run, from the memory that is free when it begins: what the run itself takes
    does not change the size of later results.

    Attributes:
        config: That of the command line.
        device: Where the network runs.
        batch: The most pictures in a batch; None for automatic.
        network_bytes: For the network, on its device.
        picture_bytes: For the pictures in flight.
        family: Of the network.
    """

    config: EngineConfig
    device: torch.device
    batch: int | None
    network_bytes: float
    picture_bytes: float
    family: NetworkFamily[Any] = FAMILIES[FEED_FORWARD]

    @classmethod
    def now(cls, config: EngineConfig, batch: int | None, family: NetworkFamily[Any]) -> Limits:
        """Take them from the memory that is free now."""
        device = resolve(config.device)
        return cls(
            config,
            device,
            batch,
            free_bytes(device) * MEMORY_FRACTION,
            free_bytes(torch.device("cpu")) * PICTURES_FRACTION,
            family,
        )

    def size(self, name: str, width: int, height: int) -> int:
        """Choose the `EngineConfig.size` for a picture.

        Args:
            name: Of its file.
            width: Of the picture, in pixels.
            height: Of the picture, in pixels.

        Raises:
            StylizeError: The size that was asked for does not fit into memory.
        """
        room = self._room(width, height)
        if self.config.size and self.config.size > room:
            raise StylizeError(
                f"'{printable(name)}' does not fit into memory at size {self.config.size}; "
                f"{room} and less would"
            )
        return self._size(width, height)

    def batch_of(self, width: int, height: int) -> int:
        """Choose how many pictures of a size, in pixels, go through the network together."""
        config = replace(self.config, size=self._size(width, height))
        pixels = requested_sizes(config, width, height).pixels
        most = self.batch or self._automatic_batch(pixels)
        each = pixels * self._bytes_per_pixel + width * height * BYTES_PER_FRAME_PIXEL
        fitting = min(self.network_bytes / each, self.picture_bytes / self.held(width, height))
        return max(1, min(most, int(fitting)))

    def held(self, width: int, height: int) -> int:
        """The bytes that a picture of a size, in pixels, takes while it is in flight."""
        return width * height * BYTES_PER_PICTURE_PIXEL

    def _automatic_batch(self, pixels: int) -> int:
        """Several on a GPU, where the network has a plan for a batch."""
        if self.device.type != "cuda" or not self.family.variant(self.config.kernels).has_plans:
            return 1
        return min(BATCH, BATCH_PIXELS // pixels)

    def _size(self, width: int, height: int) -> int:
        limit = min(self._room(width, height), MAX_SIZE[self.device.type])
        return unhurried_size(self.config, width, height, limit)

    def _room(self, width: int, height: int) -> int:
        """The largest `EngineConfig.size` that fits into memory."""
        pixels = self.network_bytes / self._bytes_per_pixel
        long, short = max(width, height), min(width, height)
        return size_for(self.config, int(math.sqrt(pixels * long / short)))

    @property
    def _bytes_per_pixel(self) -> int:
        return self.family.memory_per_pixel(self.device, self.config.precision)
