"""The traits to try for each layer of the general path, by their C++ names.

A candidate has the shapes that `mma.sync` multiplies and fits a multiprocessor's threads and
registers. The compiler checks a kernel's other requirements, and reports its shared memory
(compiling.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from kernels.network.shapes import Dimensions

NAMESPACE = "styleforge::sm80::"
ROWS = COLUMNS = 16  # a warp's product has multiples of both
REGISTERS = 65536  # per multiprocessor, for every capability
OTHER_REGISTERS = 16  # per thread, at least, besides accumulators and fragments
MOST_REGISTERS = 255  # per thread
# Accumulators per thread, by whether a layer has many channels. With fewer, warps load more than
# they multiply; with few channels, more blocks, which hide memory latency, matter more.
LEAST_ACCUMULATORS = {True: 32, False: 16}
MANY_CHANNELS = 64
LEAST_THREADS = 256  # per multiprocessor
FP16_SUMS = f"{NAMESPACE}In16BitsFp16Sums"  # see network/cuda/sm80/traits.cuh
# Some cards of these capabilities multiply FP16 at half the rate if sums are FP32.
CAPABILITIES_OF_FP16_SUMS = ((8, 6), (8, 9), (12, 0))
BLOCKS = (1, 2, 3, 4)  # per multiprocessor

TILES = ((4, 16), (8, 8), (8, 16), (16, 8), (16, 16))
WARPS = ((1, 4), (2, 2), (4, 1), (2, 4), (4, 2), (8, 1))  # along rows and columns of the product
CHUNKS = (16, 32)  # input channels
# Taps per step and stages of weights; with no stage, all weights stay.
RINGS = {9: ((1, 0), (1, 3), (3, 3)), 4: ((1, 0), (1, 2), (1, 4))}  # by the taps of the kernel

END_TILES = ((8, 16), (8, 32), (16, 16), (16, 32))
FIRST_WARPS = (2, 4, 8)
LAST_WARPS = (4, 5, 6, 8, 9, 10, 12)


@dataclass(frozen=True, slots=True)
class Conv:
    """The computation of a 3x3 layer.

    `upsample` enlarges its input by two first; `residual` adds a residual to its input.
    """

    into: int
    out: int
    stride: int = 1
    upsample: bool = False
    residual: bool = False


def convs(network: Dimensions) -> dict[str, Conv]:
    """Return the 3x3 layers of a network, by role."""
    outer, middle, inner = network.widths
    return {
        "down1": Conv(outer, middle, stride=2),
        "down2": Conv(middle, inner, stride=2),
        "same": Conv(inner, inner, residual=True),
        "up1": Conv(inner, middle, upsample=True, residual=True),
        "up2": Conv(middle, outer, upsample=True),
    }


def candidates(
    network: Dimensions, role: str, threads: int, *, fp16_sums: bool = False
) -> list[str]:
    """Return traits of a layer by their C++ names in NAMESPACE: "ConvTraits<32, 64, ...>".

    `role` is one of ROLES in tuned.py; a multiprocessor has at most `threads`. `fp16_sums` includes
    3x3 layers that sum in FP16.
    """
    if role == "first":
        return list(_first(network, threads))
    if role == "last":
        return list(_last(network, threads))
    found = list(_conv(convs(network)[role], threads))
    if not fp16_sums:
        return found
    return found + [f"{traits.removesuffix('>')}, {FP16_SUMS}>" for traits in found]


def sums_in_fp16(traits: str) -> bool:
    return FP16_SUMS in traits


def _conv(layer: Conv, most_threads: int) -> Iterator[str]:
    phases, taps = (4, 4) if layer.upsample else (1, 9)
    columns = layer.out * phases
    for (height, width), (warps_m, warps_n), chunk, (step, stages), blocks in itertools.product(
        TILES, WARPS, CHUNKS, RINGS[taps], BLOCKS
    ):
        threads, of_warp = warps_m * warps_n * 32, columns // warps_n
        if (
            height * width % (warps_m * ROWS)
            or columns % (warps_n * COLUMNS)
            or layer.out % of_warp  # a warp has one phase
            or layer.into % chunk
            or threads < layer.out
            # Two of each: the next fragments are loaded while these are multiplied.
            or not _fits(
                height * width // warps_m,
                of_warp,
                threads,
                blocks,
                most_threads,
                fragments=2,
                many=max(layer.into, layer.out) >= MANY_CHANNELS,
            )
        ):
            continue
        flags = [str(flag).lower() for flag in (layer.upsample, layer.residual)]
        numbers = f"{height}, {width}, {warps_m}, {warps_n}, {chunk}, {step}, {stages}, {blocks}"
        yield (
            f"ConvTraits<{layer.into}, {layer.out}, {layer.stride}, {flags[0]}, {numbers}, "
            f"{flags[1]}>"
        )


def _first(network: Dimensions, most_threads: int) -> Iterator[str]:
    out = network.widths[0]
    for (height, width), warps, blocks in itertools.product(END_TILES, FIRST_WARPS, BLOCKS):
        rows = height * width // warps
        if height * width % (warps * ROWS) == 0 and _fits(
            rows, out, warps * 32, blocks, most_threads
        ):
            side = network.end_kernel
            yield f"FirstConvTraits<{out}, {side}, {height}, {width}, {warps}, {blocks}>"


def _last(network: Dimensions, most_threads: int) -> Iterator[str]:
    into, side = network.widths[0], network.end_kernel
    for (height, width), warps, blocks in itertools.product(END_TILES, LAST_WARPS, BLOCKS):
        pixels = height * (width + side - 1)
        if pixels % (warps * ROWS) == 0 and _fits(
            pixels // warps, side * 3, warps * 32, blocks, most_threads
        ):
            yield f"LastConvTraits<{into}, {side}, {height}, {width}, {warps}, {blocks}>"


def _fits(
    rows: int,
    columns: int,
    threads: int,
    blocks: int,
    most_threads: int,
    *,
    fragments: int = 1,
    many: bool = False,
) -> bool:
    """Return whether blocks whose warps multiply rows by columns can share a multiprocessor.

    A warp has `fragments` of each operand at once; `threads` are a block's.
    """
    accumulators = rows * columns // 32
    needed = accumulators + fragments * (rows + columns) // 4 + OTHER_REGISTERS
    return (
        LEAST_THREADS <= threads * blocks <= most_threads
        and accumulators >= LEAST_ACCUMULATORS[many]
        and needed <= min(MOST_REGISTERS, REGISTERS // (threads * blocks))
    )
