"""The description of the network's library, and ctypes mirrors of its structs.

The C++ headers define tile shapes, thread counts, shared memory and the numbering of layers, dtypes
and precisions. `parse` reads them from network_abi.cu and refuses a library whose structs differ
from the classes here.
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


# Keyed by the library's name for a struct.
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
    """The axes of weights as rows and depth of a matrix, outermost first, with padded sizes."""

    rows: Mapping[str, int]
    depth: Mapping[str, int]

    @classmethod
    def parse(cls, text: str) -> ProductAxes:
        """Read "axis:size ... | axis:size ...", the headers' notation for rows | depth."""
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
    block_k: int  # input channels per step
    taps: int
    phases: int  # 4 after upsampling
    threads: int
    blocks: int  # per multiprocessor, if its shared memory allows
    shared_bytes: int
    occupied_bytes: int  # in the multiprocessor, with the part that CUDA reserves
    kernels: Mapping[str, Mapping[str, str]]  # C++ names, by precision and variant, see `variant`


@dataclass(frozen=True, slots=True)
class Sm80Edge:
    """The first or the last layer of network_sm80.cu."""

    tile_h: int
    tile_w: int
    depth: int  # padded depth of the matrix product
    rows: int  # padded rows of the product
    weight_order: ProductAxes  # order of the weights in memory
    threads: int
    blocks: int
    shared_bytes: int
    occupied_bytes: int
    kernels: Mapping[str, Mapping[str, str]]  # by precision, and "values" or "bytes"


@dataclass(frozen=True, slots=True)
class Sm80Network:
    """The layers of one network in network_sm80.cu; shared memory in bytes per block."""

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
    required_shared_bytes_small: int  # with the small layers; the same if none needs less


@dataclass(frozen=True, slots=True)
class TunedLayers:
    """All layers of a network, some chosen for one GPU and pictures of `pixels`; see tuned.py.

    `small` tells whether they are the layers that need less shared memory.
    """

    network: str
    small: bool
    pixels: int
    layers: Sm80Network


@dataclass(frozen=True, slots=True)
class Sm80:
    """The description of network_sm80.cu, network_sm75.cu, or a source for FP32."""

    source: str  # relative to `kernels/`
    target: str  # minimum architecture, in CUDA's notation
    until: str  # first architecture with other kernels instead; empty if none
    precisions: Mapping[str, int]  # their numbers; "tf32" and "fp32" are FP32 in memory
    operand_copies: int  # 2 if an operand is the sum of two
    channel_order: tuple[int, ...]  # order of sixteen input channels in the depth of a product
    weight_order: tuple[str, ...]  # axes of a 3x3 layer's weights, outermost first
    max_groups: int  # groups of blocks whose statistics the next layer merges
    networks: Mapping[str, Sm80Network]  # keyed by the names in shapes.py
    tuned: tuple[TunedLayers, ...] = ()  # for this GPU

    def layers(self, network: str, shape: tuple[int, int, int], *, small: bool) -> Sm80Network:
        """Return the layers for pictures [N, H, W]: tuned ones for the nearest size, if any."""
        found = [row for row in self.tuned if (row.network, row.small) == (network, small)]
        if not found:
            return self.networks[network]
        pixels = math.prod(shape)
        return min(found, key=lambda row: abs(math.log(pixels / row.pixels))).layers


@dataclass(frozen=True, slots=True)
class Sm80Int8:
    """The description of network_sm80_int8.cu: 3x3 layers of the full network.

    Weights are stored as bytes. FP32 factors for the sums of each output of each phase follow, and
    then the reciprocal range of each input.
    """

    source: str
    target: str
    precisions: Mapping[str, int]  # as in Sm80, like the next two
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
    groups: int  # warpgroups with their own weights
    passes: int
    taps: int
    threads: int
    shared_bytes: int
    kernels: Mapping[str, str]  # C++ names, by variant, see `variant`


@dataclass(frozen=True, slots=True)
class Sm90Residual:
    """All layers of the residual blocks in one launch, with the tiles of layer "same"."""

    threads: int
    shared_bytes: int
    sums_bytes: int  # bytes through which the blocks exchange a layer's statistics
    kernels: Mapping[str, str]  # one kernel, "all"


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
    operand_copies: int  # 2 if an operand is the sum of two
    convs: Mapping[str, Sm90Conv]
    first: Sm90Strip
    last: Sm90Strip
    residual: Sm90Residual | None = None  # None if the precision has no such kernel


@dataclass(frozen=True, slots=True)
class Sm90:
    """The description of network_sm90.cu."""

    source: str
    target: str
    precisions: Mapping[str, Sm90Precision]
    weight_order: tuple[str, ...]  # axes of a 3x3 layer's weights, outermost first
    strip_weight_order: tuple[str, ...]  # axes of the first and last layer's weights
    weight_rows: int  # rows of a product
    weight_depth: int  # padded depth in the first and last layer
    kernel_rows: int
    max_groups: int


@dataclass(frozen=True, slots=True)
class Abi:
    """The description of a library, by source."""

    sm75: Sm80
    sm80: Sm80
    sm80_tf32: Sm80
    sm80_fp32: Sm80
    sm80_int8: Sm80Int8
    sm90: Sm90

    @property
    def of_mma_sync(self) -> tuple[Sm80, ...]:
        """The sources for GPUs from 8.0 on with the layers of network_sm80.cu."""
        return self.sm80, self.sm80_tf32, self.sm80_fp32

    def sm80_in(self, precision: str) -> Sm80:
        """Return the source in `of_mma_sync` that has a precision.

        Raises:
            KeyError: If no source has this precision.
        """
        for source in self.of_mma_sync:
            if precision in source.precisions:
                return source
        raise KeyError(precision)


def parse(told: Mapping[str, Any]) -> Abi:
    """Read the result of network_abi.cu, see kernels/driver/compiling.py.

    Raises:
        BuildError: If a struct's layout differs from its mirror here; the message names the
            struct.
    """
    structs = {
        f"{namespace}.{name}": layout
        for namespace, layouts in told["structs"].items()
        for name, layout in layouts.items()
    }
    check(structs, STRUCTURES, "kernels/network/abi.py")
    return traits(told)


def traits(told: Mapping[str, Any]) -> Abi:
    """Read the layers of a description without its structs, which only a launch needs."""
    return Abi(
        _sm80(told["sm75"]),
        _sm80(told["sm80"]),
        _sm80(told["sm80_tf32"]),
        _sm80(told["sm80_fp32"]),
        _sm80_int8(told["sm80_int8"]),
        _sm90(told["sm90"]),
    )


def variant(*, residual: bool, activated: bool) -> str:
    """Return the name of a 3x3 kernel that adds a residual, stores its activated input, or both."""
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
