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
        ahead: Whether a thread loads the next filters while it multiplies.
    """

    width: int
    height: int
    outputs: int
    depth: int
    taps: int = 1
    pixels: int = 8
    channels: int = 8
    ahead: bool = False

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


@dataclass(frozen=True, slots=True)
class Tiles:
    """The tiles of a network's layers. The defaults fit into every GPU's memory.

    Attributes:
        first: The tile of the first layer, without `taps`: it loads one row of taps at once.
        halving: The tile of layers with stride 2.
        plain: The tile of residual layers that are direct convolutions.
        product: The tile of Winograd's products. A pixel is a tile of 4x4 pixels, and the height 1.
        narrow: The tile of enlarging layers with many outputs.
        wide: The tile of enlarging layers with few outputs.
        phases: The tile of enlarging layers' products, like `product`.
    """

    first: Tile = Tile(16, 16, outputs=32, depth=4, pixels=4)
    halving: Tile = Tile(8, 8, outputs=128, depth=8, ahead=True)
    plain: Tile = Tile(16, 8, outputs=128, depth=8)
    product: Tile = Tile(64, 1, outputs=128, depth=16, ahead=True)
    narrow: Tile = Tile(16, 8, outputs=64, depth=16, ahead=True)
    wide: Tile = Tile(16, 8, outputs=32, depth=8, taps=4)
    phases: Tile = Tile(64, 1, outputs=128, depth=16, ahead=True)

    def enlarging(self, outputs: int) -> Tile:
        return self.wide if outputs <= self.wide.outputs else self.narrow


DEFAULT = Tiles()

# Tiles to measure for each field of Tiles.
CANDIDATES: dict[str, tuple[Tile, ...]] = {
    "first": (
        DEFAULT.first,
        Tile(16, 8, 32, 4),
        Tile(32, 8, 32, 4),
        Tile(16, 16, 32, 4, channels=4),
        Tile(16, 16, 32, 4),
        Tile(16, 16, 32, 4, pixels=16),
    ),
    "halving": (
        DEFAULT.halving,
        Tile(16, 8, 64, 4, ahead=True),
        Tile(8, 8, 64, 4),
        Tile(8, 8, 64, 8),
        Tile(8, 8, 64, 8, ahead=True),
        Tile(16, 8, 64, 4),
        Tile(8, 8, 64, 8, channels=4),
        Tile(8, 8, 64, 8, pixels=4),
        Tile(8, 8, 64, 4, taps=3),
    ),
    "plain": (
        DEFAULT.plain,
        Tile(16, 8, 128, 8, ahead=True),
        Tile(16, 8, 64, 8),
        Tile(16, 8, 64, 8, ahead=True),
        Tile(16, 8, 64, 16, ahead=True),
        Tile(8, 8, 128, 8, ahead=True),
        Tile(8, 8, 128, 16),
        Tile(8, 8, 64, 16),
        Tile(8, 8, 64, 16, ahead=True),
        Tile(8, 8, 64, 16, channels=4),
    ),
    "product": (
        DEFAULT.product,
        Tile(128, 1, 128, 8, ahead=True),
        Tile(128, 1, 128, 16),
        Tile(128, 1, 128, 16, ahead=True),
        Tile(128, 1, 64, 16, ahead=True),
        Tile(64, 1, 128, 16),
        Tile(128, 1, 128, 8),
        Tile(64, 1, 64, 16),
        Tile(64, 1, 64, 16, ahead=True),
        Tile(64, 1, 64, 32, channels=4),
    ),
    "narrow": (
        DEFAULT.narrow,
        Tile(16, 8, 64, 8, ahead=True),
        Tile(16, 8, 64, 16),
        Tile(16, 8, 64, 8),
        Tile(8, 8, 64, 16),
        Tile(8, 8, 64, 16, ahead=True),
        Tile(8, 8, 64, 16, taps=2),
        Tile(8, 8, 64, 16, channels=4),
    ),
    "wide": (
        DEFAULT.wide,
        Tile(16, 16, 32, 8, ahead=True),
        Tile(16, 8, 32, 8),
        Tile(16, 8, 32, 16),
        Tile(16, 8, 32, 16, ahead=True),
        Tile(16, 16, 32, 8),
        Tile(16, 8, 32, 16, channels=4),
    ),
    "phases": (
        DEFAULT.phases,
        Tile(128, 1, 128, 8, ahead=True),
        Tile(128, 1, 128, 16),
        Tile(128, 1, 128, 16, ahead=True),
        Tile(128, 1, 64, 16, ahead=True),
        Tile(64, 1, 128, 16),
        Tile(128, 1, 128, 8),
        Tile(64, 1, 64, 16, ahead=True),
    ),
}


def fitted(tile: Tile, inputs: int, outputs: int) -> Tile:
    """Return the tile with as many channels as divide a layer's, which are multiples of 16.

    `inputs` may also be a picture's three colors, which are one vector at any depth.
    """
    channels, depth = tile.outputs, tile.depth
    while outputs % channels:
        channels -= tile.channels
    while inputs > 3 and inputs % depth:
        depth //= 2
    return replace(tile, outputs=channels, depth=depth)
