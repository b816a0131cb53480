"""What the network's library says of itself, and the ctypes mirror of its structs.

Tile shapes, thread counts, shared memory and the numbering of layers, dtypes and precisions are
stated in the C++ headers; `parse` reads them as network_abi.cu tells them. It refuses a library
whose structs differ from the classes here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from ctypes import Structure, c_float, c_int, c_void_p
from dataclasses import dataclass
from typing import Any

from kernels.driver.layouts import check


class NormParams(Structure):
    """Mirror of NormParams in include/common/welford.cuh."""

    _fields_ = [
        *((name, c_void_p) for name in ("groups", "gamma", "beta")),
        ("count", c_int),
        ("eps", c_float),
    ]


class StatisticsParams(Structure):
    """Mirror of StatisticsParams in include/common/welford.cuh."""

    _fields_ = [
        *((name, c_void_p) for name in ("entries", "groups", "tickets")),
        ("group", c_int),
    ]


class Tiling(Structure):
    """Mirror of sm80::Tiling."""

    _fields_ = [(name, c_int) for name in ("height", "width", "rows", "columns")]


class Sm80ConvParams(Structure):
    """Mirror of sm80::ConvParams."""

    _fields_ = [
        ("x", c_void_p),
        ("norm", NormParams),
        *((name, c_void_p) for name in ("residual", "activated", "weight", "y")),
        ("statistics", StatisticsParams),
        ("tiling", Tiling),
        *((name, c_int) for name in ("height", "width")),
    ]


class FirstLayerParams(Structure):
    """Mirror of sm80::FirstLayerParams."""

    _fields_ = [
        *((name, c_void_p) for name in ("x", "weight", "y")),
        ("statistics", StatisticsParams),
        ("tiling", Tiling),
        *((name, c_int) for name in ("height", "width")),
        ("range", c_void_p),
    ]


class LastLayerParams(Structure):
    """Mirror of sm80::LastLayerParams."""

    _fields_ = [
        ("x", c_void_p),
        ("norm", NormParams),
        *((name, c_void_p) for name in ("weight", "bias", "y")),
        ("tiling", Tiling),
        *((name, c_int) for name in ("padded_h", "padded_w")),
        ("range", c_void_p),
    ]


class Sm90ConvParams(Structure):
    """Mirror of sm90::ConvParams."""

    _fields_ = [
        ("x", c_void_p),
        ("norm", NormParams),
        *((name, c_void_p) for name in ("residual", "activated", "weight", "y")),
        ("statistics", StatisticsParams),
        *((name, c_int) for name in ("height", "width", "out_height", "out_width")),
        *((name, c_int) for name in ("tiles_long", "tiles_short", "across")),
    ]


class ResidualParams(Structure):
    """Mirror of sm90::ResidualParams."""

    _fields_ = [
        ("x", c_void_p),
        ("norm", NormParams),
        *((name, c_void_p) for name in ("weight", "gamma", "beta")),
        *((name, c_void_p) for name in ("inside", "outside", "activated")),
        ("statistics", StatisticsParams),
        *((name, c_void_p) for name in ("sums", "halves")),
        ("eps", c_float),
        *((name, c_int) for name in ("layers", "height", "width")),
        *((name, c_int) for name in ("tiles_long", "tiles_short", "across")),
    ]


class EdgeConvParams(Structure):
    """Mirror of sm90::EdgeConvParams."""

    _fields_ = [
        ("x", c_void_p),
        ("norm", NormParams),
        *((name, c_void_p) for name in ("weight", "bias", "y")),
        ("statistics", StatisticsParams),
        ("range", c_void_p),
        *((name, c_int) for name in ("height", "width", "padded_height", "padded_width")),
        *((name, c_int) for name in ("strips", "rows")),
    ]


# By the library's name for a struct.
STRUCTURES: dict[str, type[Structure]] = {
    "common.NormParams": NormParams,
    "common.StatisticsParams": StatisticsParams,
    "sm80.Tiling": Tiling,
    "sm80.ConvParams": Sm80ConvParams,
    "sm80.FirstLayerParams": FirstLayerParams,
    "sm80.LastLayerParams": LastLayerParams,
    "sm90.ConvParams": Sm90ConvParams,
    "sm90.ResidualParams": ResidualParams,
    "sm90.EdgeConvParams": EdgeConvParams,
}


@dataclass(frozen=True, slots=True)
class ProductAxes:
    """The axes of weights as a matrix, outermost first, each with the size it is padded to.

    Attributes:
        rows: The axes that the rows of the matrix product run over.
        depth: Those that its depth runs over.
    """

    rows: Mapping[str, int]
    depth: Mapping[str, int]

    @classmethod
    def parse(cls, text: str) -> ProductAxes:
        """Read "axis:size ... | axis:size ...", as the headers state it: rows | depth."""
        rows, depth = (
            {axis: int(size) for axis, _, size in (part.partition(":") for part in side.split())}
            for side in text.split("|")
        )
        return cls(rows, depth)


@dataclass(frozen=True, slots=True)
class Sm80Conv:
    """A 3x3 layer of network_sm80.cu; tiles in pixels, shared memory in bytes."""

    kind: int
    tile_h: int
    tile_w: int
    block_k: int  # input channels of a step
    taps: int
    phases: int  # 4 after upsampling
    threads: int
    blocks: int  # on a multiprocessor, where its shared memory allows
    shared_bytes: int
    occupied_bytes: int  # of the multiprocessor's, with what CUDA keeps
    kernels: Mapping[str, Mapping[str, str]]  # in C++, by precision and variant, see `variant`


@dataclass(frozen=True, slots=True)
class Sm80Edge:
    """The first or the last layer of network_sm80.cu."""

    tile_h: int
    tile_w: int
    depth: int  # of the matrix product, padded
    rows: int  # of the product, padded
    weight_order: ProductAxes  # of the weights in memory
    threads: int
    blocks: int
    shared_bytes: int
    occupied_bytes: int
    kernels: Mapping[str, Mapping[str, str]]  # by precision, and "values" or "bytes"


@dataclass(frozen=True, slots=True)
class Sm80Network:
    """The layers of one network of network_sm80.cu; shared memory in bytes, of a block."""

    number: int
    widths: tuple[int, ...]  # channels at full, half and quarter size
    end_kernel: int
    convs: Mapping[str, Sm80Conv]
    first: Sm80Edge
    last: Sm80Edge
    first_small: (
        Sm80Edge  # this and the next with less shared memory; the same where it needs little
    )
    last_small: Sm80Edge
    required_shared_bytes: int
    required_shared_bytes_small: int  # by the layers that need less; the same where none does


@dataclass(frozen=True, slots=True)
class TunedLayers:
    """Layers of a network, some of which were chosen for one GPU; see tuned.py.

    Attributes:
        network: Its name.
        small: Whether they are those that need less shared memory.
        pixels: Of the pictures that they were chosen for.
        layers: All layers of the network, in place of the library's.
    """

    network: str
    small: bool
    pixels: int
    layers: Sm80Network


@dataclass(frozen=True, slots=True)
class Sm80:
    """Everything network_sm80.cu says of itself, or network_sm75.cu, or a source for FP32."""

    source: str  # relative to `kernels/`
    target: str  # the least architecture, as CUDA calls it
    until: str  # the first that has other kernels in their place; empty for none
    precisions: Mapping[str, int]  # their numbers; "tf32" and "fp32" are FP32 in memory
    operand_copies: int  # 2 where an operand is the sum of two
    channel_order: tuple[int, ...]  # of sixteen input channels in the depth of a product
    weight_order: tuple[str, ...]  # axes of a 3x3 layer's weights, outermost first
    max_groups: int  # of blocks, whose statistics the next layer merges
    networks: Mapping[str, Sm80Network]  # by the names of kernels/network/shapes.py
    tuned: tuple[TunedLayers, ...] = ()  # for this GPU

    def layers(self, network: str, shape: tuple[int, int, int], *, small: bool) -> Sm80Network:
        """The layers that run pictures of a size: tuned ones for the size that is nearest.

        Args:
            network: Its name.
            shape: N, H, W of the pictures.
            small: Whether to run the layers that need less shared memory.
        """
        found = [row for row in self.tuned if (row.network, row.small) == (network, small)]
        if not found:
            return self.networks[network]
        pixels = math.prod(shape)
        return min(found, key=lambda row: abs(math.log(pixels / row.pixels))).layers


@dataclass(frozen=True, slots=True)
class Sm80Int8:
    """Everything network_sm80_int8.cu says of itself: 3x3 layers of the full network.

    Weights lie in memory as bytes; behind them, in FP32, what the sums of each output of each phase
    are multiplied by, and the reciprocal range of each input.
    """

    source: str
    target: str
    precisions: Mapping[str, int]  # as those of Sm80, as the next two
    channel_order: tuple[int, ...]
    weight_order: tuple[str, ...]
    convs: Mapping[str, Sm80Conv]
    required_shared_bytes: int


@dataclass(frozen=True, slots=True)
class Sm90Conv:
    """A 3x3 layer of network_sm90.cu in one precision."""

    kind: int
    tile_long: int  # pixels; the short side has 8
    block_k: int
    groups: int  # warpgroups that have weights of their own
    passes: int
    taps: int
    threads: int
    shared_bytes: int
    kernels: Mapping[str, str]  # in C++, by variant, see `variant`


@dataclass(frozen=True, slots=True)
class Sm90Residual:
    """All layers of the residual blocks in one launch, with tiles of the layer "same"."""

    threads: int
    shared_bytes: int
    sums_bytes: int  # of the memory in which the blocks exchange a layer's statistics
    kernels: Mapping[str, str]  # the one, as "all"


@dataclass(frozen=True, slots=True)
class Sm90Strip:
    """The first or the last layer of network_sm90.cu; `width` in pixels."""

    width: int
    weight_axes: ProductAxes
    threads: int
    shared_bytes: int
    kernels: Mapping[str, str]  # by "values" or "bytes"


@dataclass(frozen=True, slots=True)
class Sm90Precision:
    """The layers of network_sm90.cu in one precision."""

    number: int
    operand: str  # dtype that the tensor cores multiply
    operand_copies: int  # 2 where an operand is the sum of two
    convs: Mapping[str, Sm90Conv]
    first: Sm90Strip
    last: Sm90Strip
    residual: Sm90Residual | None = None  # where the precision has such a kernel


@dataclass(frozen=True, slots=True)
class Sm90:
    """Everything network_sm90.cu says of itself."""

    source: str
    target: str
    precisions: Mapping[str, Sm90Precision]
    weight_order: tuple[str, ...]  # axes of a 3x3 layer's weights, outermost first
    strip_weight_order: tuple[str, ...]  # and those of the first and the last layer's
    weight_rows: int  # rows of a product
    weight_depth: int  # of the first and the last layer's, padded
    kernel_rows: int
    max_groups: int


@dataclass(frozen=True, slots=True)
class Abi:
    """What a library describes, by source."""

    sm75: Sm80
    sm80: Sm80
    sm80_tf32: Sm80
    sm80_fp32: Sm80
    sm80_int8: Sm80Int8
    sm90: Sm90

    @property
    def of_mma_sync(self) -> tuple[Sm80, ...]:
        """The sources for GPUs from 8.0 on whose layers are those of network_sm80.cu."""
        return self.sm80, self.sm80_tf32, self.sm80_fp32

    def sm80_in(self, precision: str) -> Sm80:
        """The one of `of_mma_sync` that has a precision; KeyError if none has."""
        for source in self.of_mma_sync:
            if precision in source.precisions:
                return source
        raise KeyError(precision)


def parse(told: Mapping[str, Any]) -> Abi:
    """Read the description of the network's library.

    Args:
        told: What network_abi.cu returns, see kernels/driver/compiling.py.

    Returns:
        The numbers its C++ headers state.

    Raises:
        BuildError: A struct has another layout than its mirror here; the message names it.
    """
    structs = {
        f"{namespace}.{name}": layout
        for namespace, layouts in told["structs"].items()
        for name, layout in layouts.items()
    }
    check(structs, STRUCTURES, "kernels/network/abi.py")
    return traits(told)


def traits(told: Mapping[str, Any]) -> Abi:
    """Read the layers of a description, without its structs, which only a launch needs.

    Args:
        told: Has the sources as `parse` takes them.
    """
    return Abi(
        _sm80(told["sm75"]),
        _sm80(told["sm80"]),
        _sm80(told["sm80_tf32"]),
        _sm80(told["sm80_fp32"]),
        _sm80_int8(told["sm80_int8"]),
        _sm90(told["sm90"]),
    )


def variant(*, residual: bool, activated: bool) -> str:
    """The kernel of a 3x3 layer that adds a residual, or stores what it activated, or both."""
    given = (("residual", residual), ("activated", activated))
    return " ".join(name for name, is_given in given if is_given) or "plain"


def _sm80(told: Mapping[str, Any]) -> Sm80:
    return Sm80(
        source=told["source"],
        target=told["target"],
        until=told.get("until", ""),
        precisions=told["precisions"],
        operand_copies=told["operand_copies"],
        channel_order=tuple(map(int, told["channel_order"].split())),
        weight_order=tuple(told["weight_order"].split()),
        max_groups=told["max_groups"],
        networks={name: _sm80_network(network) for name, network in told["networks"].items()},
        tuned=tuple(
            TunedLayers(**dict[str, Any](row, layers=_sm80_network(row["layers"])))
            for row in told.get("tuned", ())
        ),
    )


def _sm80_int8(told: Mapping[str, Any]) -> Sm80Int8:
    return Sm80Int8(
        source=told["source"],
        target=told["target"],
        precisions=told["precisions"],
        channel_order=tuple(map(int, told["channel_order"].split())),
        weight_order=tuple(told["weight_order"].split()),
        convs={name: Sm80Conv(**conv) for name, conv in told["convs"].items()},
        required_shared_bytes=told["required_shared_bytes"],
    )


def _sm80_network(told: Mapping[str, Any]) -> Sm80Network:
    return Sm80Network(
        number=told["number"],
        widths=tuple(map(int, told["widths"].split())),
        end_kernel=told["end_kernel"],
        convs={name: Sm80Conv(**conv) for name, conv in told["convs"].items()},
        first=_sm80_edge(told["first"]),
        last=_sm80_edge(told["last"]),
        first_small=_sm80_edge(told["first_small"]),
        last_small=_sm80_edge(told["last_small"]),
        required_shared_bytes=told["required_shared_bytes"],
        required_shared_bytes_small=told["required_shared_bytes_small"],
    )


def _sm80_edge(told: Mapping[str, Any]) -> Sm80Edge:
    order = ProductAxes.parse(told["weight_order"])
    return Sm80Edge(**dict[str, Any](told, weight_order=order))


def _sm90_strip(told: Mapping[str, Any]) -> Sm90Strip:
    axes = ProductAxes.parse(told["weight_axes"])
    return Sm90Strip(**dict[str, Any](told, weight_axes=axes))


def _sm90(told: Mapping[str, Any]) -> Sm90:
    return Sm90(
        source=told["source"],
        target=told["target"],
        precisions={
            name: Sm90Precision(
                number=precision["number"],
                operand=precision["operand"],
                operand_copies=precision["operand_copies"],
                convs={conv: Sm90Conv(**row) for conv, row in precision["convs"].items()},
                first=_sm90_strip(precision["first"]),
                last=_sm90_strip(precision["last"]),
                residual=Sm90Residual(**precision["residual"]) if "residual" in precision else None,
            )
            for name, precision in told["precisions"].items()
        },
        weight_order=tuple(told["weight_order"].split()),
        strip_weight_order=tuple(told["strip_weight_order"].split()),
        weight_rows=told["weight_rows"],
        weight_depth=told["weight_depth"],
        kernel_rows=told["kernel_rows"],
        max_groups=told["max_groups"],
    )
