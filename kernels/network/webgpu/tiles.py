"""Tiles: the part of a result that a workgroup computes, and each thread's share of it."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Tile:
    """The part of a result that one workgroup computes.

    Attributes:
        width: Pixels side by side, a multiple of `pixels`.
        height: Rows. Width, height and `pixels` are powers of two.
        outputs: Output channels, a multiple of `channels`.
        depth: Input channels that the workgroup loads at once; a multiple of 4.
        taps: Taps of the filter that it loads at once; a divisor of their number.
        pixels: Pixels of a thread, side by side.
        channels: Output channels of a thread, a multiple of 4.
    """

    width: int
    height: int
    outputs: int
    depth: int
    taps: int = 1
    pixels: int = 8
    channels: int = 8

    @property
    def lanes(self) -> int:
        """Threads that compute different channels of the same pixels."""
        return self.outputs // self.channels

    @property
    def groups(self) -> int:
        """Vectors of four channels that a thread computes for each of its pixels."""
        return self.channels // 4

    @property
    def threads(self) -> int:
        return self.lanes * (self.width * self.height // self.pixels)


FIRST = Tile(16, 16, outputs=32, depth=4)  # `taps` is the filter's side
HALVING = Tile(16, 8, outputs=64, depth=4)
PLAIN = Tile(16, 8, outputs=128, depth=8)
NARROW = Tile(16, 8, outputs=64, depth=8)  # enlarging layers with many outputs
WIDE = Tile(16, 16, outputs=32, depth=8)  # enlarging layers with few outputs
PRODUCT = Tile(128, 1, outputs=128, depth=8)  # Winograd's products; a pixel is a tile of 4x4


def enlarging(outputs: int) -> Tile:
    return WIDE if outputs <= WIDE.outputs else NARROW


def fitted(tile: Tile, outputs: int) -> Tile:
    """Return the tile with as many channels as divide a layer's outputs, a multiple of 16."""
    channels = tile.outputs
    while outputs % channels:
        channels -= tile.channels
    return replace(tile, outputs=channels)
