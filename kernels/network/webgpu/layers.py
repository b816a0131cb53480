"""The layers of a network as shaders: forms, tiles, readings, and the way of residual layers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

from kernels.network.shapes import Dimensions
from kernels.network.webgpu.convolution import Convolution, fitting
from kernels.network.webgpu.tiles import DEFAULT, Tile, Tiles, fitted
from kernels.network.webgpu.wgsl import Reading
from kernels.network.webgpu.winograd import transform_of
from utils.translation.texts import tr

CHANNELS = 16  # every width of a layer is a multiple of this
MULTIPLE = 4  # pictures are padded to multiples of this
MIN_SIDE = 16  # pixels
# The most bytes of each of the two buffers between Winograd's shaders. On an H200, whole layers of
# 1920x1080 pictures, in 211 MB, take 3 % less time than in bands of 64 MB.
BAND_BYTES = 256 << 20
BAND_MULTIPLE = 64  # tiles of a band, so that its products fill workgroups
ENLARGING_FROM = 128  # channels of residual layers: with fewer, the transforms cost what they gain

Sums = Literal["fp32", "fp16"]


@dataclass(frozen=True, slots=True)
class Layer:
    """A convolution and the norm after it.

    Attributes:
        name: With its group, as in "residual blocks/res1.conv1".
        norm: The norm's name in the state dict.
        following: How the next layer reads the result.
        winograd: Whether the three shaders of kernels.network.webgpu.winograd compute it.
        half_sums: Whether the shader sums some products in FP16.
    """

    name: str
    norm: str
    form: Convolution
    tile: Tile
    following: Reading
    winograd: bool = False
    half_sums: bool = False

    @property
    def convolution(self) -> str:
        """The convolution's name in the state dict, as in "res1.conv1"."""
        return self.name.rpartition("/")[2]


class Band(NamedTuple):
    """Some tiles of a layer by Winograd's transforms, in rows: a first one, and their number."""

    first: int
    tiles: int


@dataclass(frozen=True)
class Network:
    """The dimensions of a network, and how its shaders compute.

    Attributes:
        half: Whether activations and filters are FP16 in memory.
        winograd: Whether residual layers use Winograd's transforms, with a quarter of the products.
        enlarging_winograd: Whether enlarging layers use them, with 2.56 times fewer products.
        sums: "fp32", or with `half` "fp16": residual layers then sum some products in FP16, and all
            such sums in FP32.
    """

    widths: tuple[int, int, int]
    end_kernel: int
    num_residual_blocks: int
    half: bool = False
    winograd: bool = True
    tiles: Tiles = DEFAULT
    sums: Sums = "fp32"
    enlarging_winograd: bool = False

    def __post_init__(self) -> None:
        if self.sums == "fp16" and not self.half:
            raise ValueError("sums in FP16 need a network in FP16")

    @classmethod
    def of(
        cls,
        network: Dimensions,
        *,
        half: bool = False,
        winograd: bool = True,
        tiles: Tiles = DEFAULT,
        sums: Sums = "fp32",
        enlarging_winograd: bool | None = None,
    ) -> Network:
        """Return the network; it must be supported, see `unsupported`.

        Args:
            enlarging_winograd: None for what is faster with these widths.

        Raises:
            ValueError: If sums are FP16 and `half` is not set.
        """
        sizes = network.widths, network.end_kernel, network.num_residual_blocks
        if enlarging_winograd is None:
            enlarging_winograd = winograd and network.widths[2] >= ENLARGING_FROM
        return cls(
            *sizes,
            half=half,
            winograd=winograd,
            tiles=tiles,
            sums=sums,
            enlarging_winograd=enlarging_winograd,
        )

    def bands(self, layer: Layer, tiles: int, most: int | None) -> list[Band]:
        """Divide the tiles of a layer, whose shaders then need smaller buffers.

        Args:
            most: The most bytes of a buffer between the shaders; None for one band.
        """
        if most is None:
            return [Band(0, tiles)]
        form = layer.form
        channels = max(form.inputs, form.phases * form.outputs)
        positions = transform_of(enlarges=form.enlarges).positions
        of_tile = positions * channels * (2 if self.half else 4)
        # Both count in BAND_MULTIPLE tiles.
        room, needed = most // (of_tile * BAND_MULTIPLE), -(-tiles // BAND_MULTIPLE)
        each = -(-needed // -(-needed // max(room, 1))) * BAND_MULTIPLE
        return [Band(first, min(each, tiles - first)) for first in range(0, tiles, each)]

    @cached_property
    def encoder(self) -> tuple[Layer, ...]:
        outer, middle, inner = self.widths
        side = self.end_kernel
        first = Convolution(3, outer, side, Reading.PICTURE)
        second = Convolution(outer, middle, 3, Reading.RELU, stride=2)
        third = Convolution(middle, inner, 3, Reading.RELU, stride=2)
        return (
            _layer("encoder/conv1", "in1", first, replace(self.tiles.first, taps=side)),
            _layer("encoder/conv2", "in2", second, self.tiles.halving),
            _layer("encoder/conv3", "in3", third, self.tiles.halving),
        )

    @cached_property
    def blocks(self) -> tuple[tuple[Layer, Layer], ...]:
        """The residual blocks. The first block's input has a ReLU and no residual."""
        inner = self.widths[2]
        pairs: list[tuple[Layer, Layer]] = []
        for number in range(1, self.num_residual_blocks + 1):
            reading = Reading.RESIDUAL if pairs else Reading.RELU
            name, norm = f"residual blocks/res{number}.conv", f"res{number}.in"
            first = Convolution(inner, inner, 3, reading, keeps=True)
            second = Convolution(inner, inner, 3, Reading.RELU)
            tile = self.tiles.product if self.winograd else self.tiles.plain
            layers = (
                replace(
                    _layer(f"{name}{part}", f"{norm}{part}", form, tile, winograd=self.winograd),
                    following=following,
                    half_sums=self.sums == "fp16",
                )
                for part, form, following in (
                    (1, first, Reading.RELU),
                    (2, second, Reading.RESIDUAL),
                )
            )
            pairs.append((next(layers), next(layers)))
        return tuple(pairs)

    @cached_property
    def decoder(self) -> tuple[Layer, ...]:
        """The enlarging layers, without the last layer."""
        outer, middle, inner = self.widths
        first = Convolution(inner, middle, 2, Reading.RESIDUAL, enlarges=True)
        second = Convolution(middle, outer, 2, Reading.RELU, enlarges=True)
        winograd = self.enlarging_winograd
        up, out = (
            self.tiles.phases if winograd else self.tiles.enlarging(outputs)
            for outputs in (middle, outer)
        )
        return (
            _layer("decoder/deconv1", "in4", first, up, winograd=winograd),
            _layer("decoder/deconv2", "in5", second, out, winograd=winograd),
        )

    @cached_property
    def normed(self) -> tuple[Layer, ...]:
        """All layers except the last one, in order."""
        return (*self.encoder, *(layer for pair in self.blocks for layer in pair), *self.decoder)

    @property
    def layers(self) -> tuple[str, ...]:
        """The names of all layers, with their groups, in order."""
        return (*(layer.name for layer in self.normed), LAST)


LAST = "decoder/deconv3"


def unsupported(network: Dimensions) -> str:
    """Return why the shaders do not run a network of these dimensions; "" if they do."""
    if any(width % CHANNELS for width in network.widths):
        return tr(
            "the shaders only support widths that are multiples of {channels}", channels=CHANNELS
        )
    return ""


def _layer(name: str, norm: str, form: Convolution, tile: Tile, *, winograd: bool = False) -> Layer:
    if winograd:  # one product has all phases
        tile = fitted(tile, form.inputs, form.phases * form.outputs)
    else:
        tile = fitting(form, fitted(tile, form.inputs, form.outputs))
    return Layer(name, norm, form, tile, Reading.RELU, winograd)
