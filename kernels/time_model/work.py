"""What each layer of the network makes a GPU do: blocks, products, elements and bytes.

The network is the one that docs/architecture.md calls full, with five residual blocks, in FP16 and
for one picture. Tiles and their choice are those of the plans; tests compare them with launches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kernels.network import sm90_layout as layout
from kernels.network.abi import Abi, Sm80, Sm80Conv, Sm80Edge, Sm90, Sm90Conv, Sm90Strip
from kernels.network.sm80 import conv_name
from kernels.network.sm90 import CONVS as SM90_CONVS

_BYTES = 2  # of an activation
_FRAME_BYTES = 3  # of a pixel of the frame and of the picture
_RESIDUAL_BLOCKS = 5
_COLUMNS = 9  # of the last layer's kernel


@dataclass(frozen=True, slots=True)
class Work:
    """One launch of the network.

    Attributes:
        layer: The convolution, such as "res1.conv2".
        kernel: The layer of the library that runs it, such as "same_small".
        blocks: Tiles of the picture, each the work of a block of threads, or a turn of one.
        products: Multiply-adds on the tensor cores for a tile, padding included.
        elements: Activations that a block loads, normalizes and stores for a tile.
        bytes_in: Read by the layer, each byte once.
        bytes_out: Written by it.
        threads: Of a block.
        shared_bytes: Dynamic shared memory of a block.
    """

    layer: str
    kernel: str
    blocks: int
    products: int
    elements: int
    bytes_in: int
    bytes_out: int
    threads: int
    shared_bytes: int


@dataclass(frozen=True, slots=True)
class Convolution:
    """A 3x3 layer of the network.

    Attributes:
        name: Of its weights.
        into: Input channels.
        out: Output channels.
        size: Height and width of its input, in pixels.
        scale: Of its output against its input: 0.5, 1 or 2.
        residual: Whether it adds a residual to its input.
        activated: Whether it stores its input as activated.
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
        """Height and width of what is cut into tiles, in pixels."""
        shrink = 2 if self.scale < 1 else 1
        return self.size[0] // shrink, self.size[1] // shrink

    @property
    def bytes_in(self) -> int:
        """Bytes read."""
        return math.prod(self.size) * self.into * _BYTES * (1 + self.residual)

    @property
    def bytes_out(self) -> int:
        """Bytes written."""
        pixels = math.prod(self.size)
        written = int(pixels * self.scale**2) * self.out + self.activated * pixels * self.into
        return written * _BYTES


def work(
    backend: str, traits: Abi, width: int, height: int, multiprocessors: int
) -> tuple[Work, ...]:
    """The launches of the network, in order.

    Args:
        backend: The name of a row of BACKENDS.
        traits: What the library says of itself.
        width: Of the picture, in pixels.
        height: Of the picture, in pixels.
        multiprocessors: Of the GPU.

    Raises:
        ValueError: The model does not know the backend.
    """
    if backend == "sm90":
        return tuple(_sm90(traits.sm90, (height, width), multiprocessors))
    if backend in ("sm80", "sm80-small"):
        small = backend == "sm80-small"
        return tuple(_sm80(traits.sm80, (height, width), multiprocessors, small))
    raise ValueError(f"the model of time does not know the backend {backend}")


def convolutions(size: tuple[int, int]) -> Iterator[Convolution]:
    """The 3x3 layers of the network for a picture of a height and a width, in order."""
    full = _padded(size)
    half, quarter = (full[0] // 2, full[1] // 2), (full[0] // 4, full[1] // 4)
    yield Convolution("conv2", 32, 64, full, 0.5)
    yield Convolution("conv3", 64, 128, half, 0.5)
    for number in range(1, _RESIDUAL_BLOCKS + 1):
        first = Convolution(f"res{number}.conv1", 128, 128, quarter, activated=True)
        yield replace(first, residual=number > 1)
        yield Convolution(f"res{number}.conv2", 128, 128, quarter)
    yield Convolution("deconv1", 128, 64, quarter, 2, residual=True)
    yield Convolution("deconv2", 64, 32, half, 2)


def _padded(size: tuple[int, int]) -> tuple[int, int]:
    """Height and width that the layers work on: multiples of 4."""
    return -(-size[0] // 4) * 4, -(-size[1] // 4) * 4


def _edge_bytes(size: tuple[int, int]) -> tuple[int, int]:
    """Bytes of the picture, and of the 32 channels beside it."""
    return math.prod(size) * _FRAME_BYTES, math.prod(_padded(size)) * 32 * _BYTES


# sm80: a block for each tile


def _sm80(traits: Sm80, size: tuple[int, int], multiprocessors: int, small: bool) -> Iterator[Work]:
    picture, large = _edge_bytes(size)
    first, last = traits.first, traits.last
    yield _sm80_edge("conv1", "first", first, _padded(size), first.tile_w, (picture, large))
    for conv in convolutions(size):
        kernel = conv_name(traits, conv.into, conv.out, conv.size, 1, multiprocessors, small=small)
        yield _sm80_conv(conv, kernel, traits.convs[kernel])
    wide = last.tile_w + _COLUMNS - 1  # each column of the kernel has outputs of its own
    yield _sm80_edge("deconv3", "last", last, size, wide, (large, picture))


def _sm80_conv(conv: Convolution, kernel: str, traits: Sm80Conv) -> Work:
    tiles = -(-conv.tiled[0] // traits.tile_h) * -(-conv.tiled[1] // traits.tile_w)
    pixels, side = traits.tile_h * traits.tile_w, math.isqrt(traits.taps)
    stride = 2 if conv.scale < 1 else 1
    patch = ((traits.tile_h - 1) * stride + side) * ((traits.tile_w - 1) * stride + side)
    stored = pixels * (conv.out + conv.into * conv.activated)
    return Work(
        conv.name,
        kernel,
        tiles * traits.phases,
        pixels * conv.out * conv.into * traits.taps,
        patch * conv.into * (1 + conv.residual) + stored,
        conv.bytes_in,
        conv.bytes_out,
        traits.threads,
        traits.shared_bytes,
    )


def _sm80_edge(
    layer: str,
    kernel: str,
    traits: Sm80Edge,
    size: tuple[int, int],
    columns: int,
    moved: tuple[int, int],
) -> Work:
    """The first or the last layer, with so many columns in the product of a row of a tile."""
    patch = (traits.tile_h + _COLUMNS - 1) * (traits.tile_w + _COLUMNS - 1)
    pixels = traits.tile_h * traits.tile_w
    first = kernel == "first"
    return Work(
        layer,
        kernel,
        -(-size[0] // traits.tile_h) * -(-size[1] // traits.tile_w),
        traits.tile_h * columns * traits.rows * traits.depth,
        patch * (3 if first else 32) + pixels * (32 if first else 3),
        *moved,
        traits.threads,
        traits.shared_bytes,
    )


# sm90: persistent blocks take turns of a tile each, or of two rows of a strip


def _sm90(traits: Sm90, size: tuple[int, int], multiprocessors: int) -> Iterator[Work]:
    precision = traits.precisions["fp16"]
    picture, large = _edge_bytes(size)
    first = (precision.first, _padded(size), precision.first.width, (picture, large))
    yield _sm90_strips("conv1", "first", traits, *first, multiprocessors)
    for conv in convolutions(size):
        kernel = SM90_CONVS.get((conv.into, conv.out))
        if kernel is None:
            chosen = layout.residual_conv(conv.size, multiprocessors, precision)
            kernel = next(name for name, row in precision.convs.items() if row is chosen)
        yield _sm90_conv(conv, kernel, precision.convs[kernel], multiprocessors)
    wide = precision.last.width + _COLUMNS - 1
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
        pixels * 64 * traits.groups * traits.passes * conv.into * traits.taps,
        patch * conv.into * (1 + conv.residual) + stored,
        conv.bytes_in,
        conv.bytes_out,
        traits.threads,
        traits.shared_bytes,
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
    """The first or the last layer, with so many columns in the product of two rows of a strip."""
    strips = layout.Strips.of(size, strip.width, multiprocessors)
    product = traits.kernel_rows * traits.weight_rows * traits.weight_depth * columns
    return Work(
        layer,
        kernel,
        strips.blocks,
        product * strips.rows // 2,
        columns * (strips.rows + _COLUMNS - 1) * (3 if kernel == "first" else 32)
        + strip.width * strips.rows * (32 if kernel == "first" else 3),
        *moved,
        strip.threads,
        strip.shared_bytes,
    )
