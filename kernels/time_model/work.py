"""The work of each layer of the network on a GPU: tiles, blocks, products, elements and bytes.

The networks are the full and the lite one (docs/explanation/architecture.md), with five residual
blocks, in FP16 and for one picture. Tiles and blocks equal the plans'; tests compare them with
launches. Residual layers are separate, as in the measurements, even if a plan launches them as one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kernels.network import sm90_layout as layout
from kernels.network.abi import Abi, Sm80Conv, Sm80Edge, Sm80Network, Sm90, Sm90Conv, Sm90Strip
from kernels.network.gpu import Gpu
from kernels.network.plan import role_of
from kernels.network.shapes import FULL, WITH_KERNELS, NetworkShape
from kernels.network.sm80 import blocks_of, conv_name

_BYTES = 2  # of an activation
_FRAME_BYTES = 3  # of a pixel of the frame or the picture


@dataclass(frozen=True, slots=True)
class Work:
    """One launch of the network.

    Attributes:
        layer: The convolution, such as "res1.conv2".
        kernel: The library's layer that runs it, such as "same_small".
        blocks: Thread blocks, which take one tile after another.
        products: Multiply-adds on the tensor cores for a tile, including padding.
        elements: Activations that a block loads, normalizes and stores for a tile.
        bytes_in: Bytes that the layer reads, each once.
    """

    layer: str
    kernel: str
    tiles: int
    blocks: int
    products: int
    elements: int
    bytes_in: int
    bytes_out: int

    def blocks_together(self, multiprocessors: int) -> int:
        """Return the largest number of blocks on a multiprocessor, which run at once."""
        return -(-self.blocks // multiprocessors)

    def most_tiles(self, multiprocessors: int) -> int:
        """Return the largest number of tiles for the blocks of a multiprocessor."""
        of_one = range(0, self.blocks, multiprocessors)
        return sum(-(-(self.tiles - block) // self.blocks) for block in of_one)


@dataclass(frozen=True, slots=True)
class Convolution:
    """A 3x3 layer of the network, with input and output channels.

    Attributes:
        size: Height and width of its input, in pixels.
        scale: Its output's size relative to its input's: 0.5, 1 or 2.
        residual: Whether it adds a residual to its input.
        activated: Whether it stores its activated input.
    """

    name: str
    into: int
    out: int
    size: tuple[int, int]
    scale: float = 1
    residual: bool = False
    activated: bool = False

    @property
    def tiled(self) -> tuple[int, int]:
        """Height and width of the area cut into tiles, in pixels."""
        shrink = 2 if self.scale < 1 else 1
        return self.size[0] // shrink, self.size[1] // shrink

    @property
    def bytes_in(self) -> int:
        return math.prod(self.size) * self.into * _BYTES * (1 + self.residual)

    @property
    def bytes_out(self) -> int:
        pixels = math.prod(self.size)
        written = int(pixels * self.scale**2) * self.out + self.activated * pixels * self.into
        return written * _BYTES


def work(
    network: str, backend: str, traits: Abi, width: int, height: int, gpu: Gpu
) -> tuple[Work, ...]:
    """Return the launches of a network in WITH_KERNELS on a row of BACKENDS, in order.

    Raises:
        ValueError: If the model does not know the backend.
    """
    shape = WITH_KERNELS[network]
    if backend == "sm90":
        return tuple(_sm90(traits.sm90, (height, width), gpu.multiprocessors))
    if backend in ("sm80", "sm80-small"):
        small = backend == "sm80-small"
        return tuple(_sm80(shape, traits.sm80.networks[network], (height, width), gpu, small))
    raise ValueError(f"the time model was not fitted to the backend {backend}")


def convolutions(network: NetworkShape, size: tuple[int, int]) -> Iterator[Convolution]:
    """Yield the 3x3 layers of a network for a picture of (height, width), in order."""
    full = _padded(size)
    half, quarter = (full[0] // 2, full[1] // 2), (full[0] // 4, full[1] // 4)
    outer, middle, inner = network.widths
    yield Convolution("conv2", outer, middle, full, 0.5)
    yield Convolution("conv3", middle, inner, half, 0.5)
    for number in range(1, network.num_residual_blocks + 1):
        first = Convolution(f"res{number}.conv1", inner, inner, quarter, activated=True)
        yield replace(first, residual=number > 1)
        yield Convolution(f"res{number}.conv2", inner, inner, quarter)
    yield Convolution("deconv1", inner, middle, quarter, 2, residual=True)
    yield Convolution("deconv2", middle, outer, half, 2)


def _padded(size: tuple[int, int]) -> tuple[int, int]:
    return -(-size[0] // 4) * 4, -(-size[1] // 4) * 4


def _edge_bytes(network: NetworkShape, size: tuple[int, int]) -> tuple[int, int]:
    large = math.prod(_padded(size)) * network.widths[0] * _BYTES
    return math.prod(size) * _FRAME_BYTES, large


# sm80


def _sm80(
    network: NetworkShape, layers: Sm80Network, size: tuple[int, int], gpu: Gpu, small: bool
) -> Iterator[Work]:
    picture, large = _edge_bytes(network, size)
    first = ("first_small", layers.first_small) if small else ("first", layers.first)
    last = ("last_small", layers.last_small) if small else ("last", layers.last)
    yield _sm80_edge(network, "conv1", *first, _padded(size), (picture, large), gpu, small)
    for conv in convolutions(network, size):
        kernel = conv_name(layers, role_of(conv.name), conv.size, gpu, small=small)
        yield _sm80_conv(conv, kernel, layers.convs[kernel], gpu, small)
    yield _sm80_edge(network, "deconv3", *last, size, (large, picture), gpu, small)


def _sm80_conv(conv: Convolution, kernel: str, traits: Sm80Conv, gpu: Gpu, small: bool) -> Work:
    tiles = -(-conv.tiled[0] // traits.tile_h) * -(-conv.tiled[1] // traits.tile_w)
    stride = 2 if conv.scale < 1 else 1
    patch = ((traits.tile_h - 1) * stride + 3) * ((traits.tile_w - 1) * stride + 3)
    pixels, outputs = traits.tile_h * traits.tile_w, traits.phases * conv.out
    return Work(
        conv.name,
        kernel,
        tiles,
        blocks_of(traits, tiles, gpu, small=small),
        pixels * outputs * conv.into * traits.taps,
        patch * conv.into * (1 + conv.residual) + pixels * (outputs + conv.into * conv.activated),
        conv.bytes_in,
        conv.bytes_out,
    )


def _sm80_edge(
    network: NetworkShape,
    layer: str,
    kernel: str,
    traits: Sm80Edge,
    size: tuple[int, int],
    moved: tuple[int, int],
    gpu: Gpu,
    small: bool,
) -> Work:
    is_first, channels, border = layer == "conv1", network.widths[0], network.end_kernel - 1
    tiles = -(-size[0] // traits.tile_h) * -(-size[1] // traits.tile_w)
    patch = (traits.tile_h + border) * (traits.tile_w + border)
    pixels = traits.tile_h * traits.tile_w
    # In the last layer, each column of the kernel has its own outputs, which pass through shared
    # memory before they are added.
    columns = traits.tile_w + (0 if is_first else border)
    outputs = traits.tile_h * columns * traits.rows
    return Work(
        layer,
        kernel,
        tiles,
        blocks_of(traits, tiles, gpu, small=small),
        outputs * traits.depth,
        patch * 3 + outputs if is_first else patch * channels + outputs + pixels * 3,
        *moved,
    )


# sm90, only for the full network: a tile, or two rows of a strip, at a time


def _sm90(traits: Sm90, size: tuple[int, int], multiprocessors: int) -> Iterator[Work]:
    precision = traits.precisions["fp16"]
    picture, large = _edge_bytes(FULL, size)
    first = (precision.first, _padded(size), precision.first.width, (picture, large))
    yield _sm90_strips("conv1", "first", traits, *first, multiprocessors)
    for conv in convolutions(FULL, size):
        kernel = role_of(conv.name)
        if kernel == "same":
            chosen = layout.residual_conv(conv.size, multiprocessors, precision)
            kernel = next(name for name, row in precision.convs.items() if row is chosen)
        yield _sm90_conv(conv, kernel, precision.convs[kernel], multiprocessors)
    wide = precision.last.width + FULL.end_kernel - 1
    last = (precision.last, size, wide, (large, picture))
    yield _sm90_strips("deconv3", "last", traits, *last, multiprocessors)


def _sm90_conv(conv: Convolution, kernel: str, traits: Sm90Conv, multiprocessors: int) -> Work:
    tiles = layout.Tiles.of(conv.tiled, traits.tile_long, multiprocessors)
    stride = 2 if conv.scale < 1 else 1
    pixels, patch = traits.tile_long * 8, (traits.tile_long * stride + 2) * (8 * stride + 2)
    stored = int(pixels * (stride * conv.scale) ** 2) * conv.out
    stored += pixels * conv.into * conv.activated
    return Work(
        conv.name,
        kernel,
        tiles.long * tiles.short,
        tiles.blocks,
        pixels * 64 * traits.groups * traits.passes * conv.into * traits.taps,
        patch * conv.into * (1 + conv.residual) + stored,
        conv.bytes_in,
        conv.bytes_out,
    )


def _sm90_strips(
    layer: str,
    kernel: str,
    traits: Sm90,
    strip: Sm90Strip,
    size: tuple[int, int],
    columns: int,
    moved: tuple[int, int],
    multiprocessors: int,
) -> Work:
    """Return an end layer's work; the product of two rows of a strip has `columns`."""
    strips, outer = layout.Strips.of(size, strip.width, multiprocessors), FULL.widths[0]
    into, out = (3, outer) if kernel == "first" else (outer, 3)
    product = traits.kernel_rows * traits.weight_rows * traits.weight_depth * columns
    return Work(
        layer,
        kernel,
        strips.blocks,
        strips.blocks,
        product * strips.rows // 2,
        columns * (strips.rows + FULL.end_kernel - 1) * into + strip.width * strips.rows * out,
        *moved,
    )
