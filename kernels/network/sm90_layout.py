"""The network's layers on Hopper: which kernel of network_sm90.cu, how it is tiled, its weights."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_float, c_int, c_void_p
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kernels.weight_transforms import phase_weight

# What network_sm90.cu calls the arithmetic: FP32 is EXACT, or SINGLE where TF32 is allowed.
HALF, BRAIN, SINGLE, EXACT = range(4)
# ... and the layers.
DOWN_1, DOWN_2, SAME, SAME_LARGE, UP_1, UP_2 = range(6)
MOST_GROUPS = 12  # kMostGroups in running_statistics.cuh
KERNEL_ROWS = 10


class Norm(Structure):
    _fields_ = [
        *((name, c_void_p) for name in ("groups", "gamma", "beta")),
        ("count", c_int),
        ("eps", c_float),
    ]


class Entries(Structure):
    _fields_ = [
        *((name, c_void_p) for name in ("entries", "groups", "tickets")),
        ("group", c_int),
    ]


class Layer(Structure):
    _fields_ = [
        ("x", c_void_p),
        ("norm", Norm),
        *((name, c_void_p) for name in ("residual", "activated", "weight", "y")),
        ("statistics", Entries),
        *(
            (name, c_int)
            for name in (
                "height", "width", "out_height", "out_width",
                "tiles_long", "tiles_short", "across",
            )
        ),
    ]  # fmt: skip


class Ends(Structure):
    _fields_ = [
        ("x", c_void_p),
        ("norm", Norm),
        *((name, c_void_p) for name in ("weight", "bias", "y")),
        ("statistics", Entries),
        ("range", c_void_p),
        *(
            (name, c_int)
            for name in ("height", "width", "padded_height", "padded_width", "strips", "rows")
        ),
    ]


@dataclass(frozen=True, slots=True)
class Tiles:
    """Tiles of `long` x 8 pixels, their long side along the width where `across`."""

    long: int
    short: int
    across: bool
    blocks: int

    @classmethod
    def of(cls, size: tuple[int, int], side: int, blocks: int) -> Tiles:
        """The fewest tiles with a side of `side` that cover `size`, shared out evenly among at
        most `blocks` blocks."""
        along, aside = (-(-n // side) for n in size), [-(-n // 8) for n in size]
        down, across = ((a, b) for a, b in zip(along, reversed(aside), strict=True))
        turned = across[0] * across[1] < down[0] * down[1]
        long, short = across if turned else down
        rounds = -(-long * short // blocks)
        return cls(long, short, turned, -(-long * short // rounds))


@dataclass(frozen=True, slots=True)
class Strips:
    """Strips side by side, each cut into blocks of `rows` rows."""

    count: int
    rows: int
    blocks: int

    @classmethod
    def of(cls, size: tuple[int, int], width: int, blocks: int) -> Strips:
        """Strips of `width` pixels over `size`, as many blocks as fit in `blocks` if they do."""
        count = -(-size[1] // width)
        cuts = max(1, blocks // count)
        rows = 2 * -(-size[0] // (2 * cuts))
        return cls(count, rows, count * -(-size[0] // rows))


def tile_side(kind: int, mode: int) -> int:
    """The long side of a tile, in pixels."""
    if kind == UP_2:
        return 16 if mode == EXACT else 32
    return 32 if kind in (DOWN_1, SAME_LARGE) else 16


def slice_of(kind: int, mode: int) -> int:
    """Channels multiplied in one step."""
    return (32 if kind in (DOWN_1, DOWN_2) else 64) // (2 if mode == EXACT else 1)


def strip_width(mode: int) -> int:
    """Pixels side by side in a strip of the first or the last layer."""
    return 64 if mode == EXACT else 128


def residual_kind(size: tuple[int, int], blocks: int) -> int:
    """Small tiles where large ones would leave multiprocessors idle."""
    small, large = (
        side * -(-tiles.long * tiles.short // blocks)
        for side, tiles in ((side, Tiles.of(size, side, blocks)) for side in (16, 32))
    )
    return SAME if small < large else SAME_LARGE


def layer_weight(weight: Tensor, kind: int, mode: int) -> Tensor:
    """[Cout, Cin, 3, 3] in the order the kernel reads: warpgroup, pass, slice, tap, part, row,
    channel."""
    step = slice_of(kind, mode)
    groups, passes = 1 if kind == DOWN_1 else 2, 1
    if kind == UP_1:
        weight, passes = phase_weight(weight), 2
    elif kind == UP_2:
        # Both phases of a row look at all three columns; each has zeros in one.
        phases = phase_weight(weight).view(2, 2, weight.shape[0], weight.shape[1], 2, 2)
        wide = phases.new_zeros(2, 2, *phases.shape[2:4], 2, 3)
        wide[:, 0, ..., :2], wide[:, 1, ..., 1:] = phases[:, 0], phases[:, 1]
        weight = wide.view(-1, weight.shape[1], 2, 3)
    parts = weight.reshape(passes, groups, 64, weight.shape[1] // step, step // 8, 8, -1)
    return _operands(parts.permute(1, 0, 3, 6, 4, 2, 5), mode)


def first_weight(weight: Tensor, mode: int) -> Tensor:
    """[32, 3, 9, 9]: row of the kernel, part, row of the picture and channel, value."""
    rows = weight.new_zeros(KERNEL_ROWS, 2, 32, 32)  # the 27 values of a row padded to 32
    values = weight.permute(2, 0, 3, 1).reshape(9, 32, 27)
    rows[:9, 0, :, :27] = rows[1:, 1, :, :27] = values
    return _operands(rows.view(KERNEL_ROWS, 64, 4, 8).transpose(1, 2), mode)


def last_weight(weight: Tensor, mode: int) -> Tensor:
    """[3, 32, 9, 9]: row of the kernel, part, row of the picture and column and colour, channel."""
    rows = weight.new_zeros(KERNEL_ROWS, 64, 32)
    values = weight.permute(2, 3, 0, 1).reshape(9, 27, 32)
    rows[:9, :27] = rows[1:, 27:54] = values
    return _operands(rows.view(KERNEL_ROWS, 64, 4, 8).transpose(1, 2), mode)


def _operands(weight: Tensor, mode: int) -> Tensor:
    """[..., part, row, 8] as what is multiplied; in full precision what rounding took follows."""
    weight = weight.float()
    high = weight.to(torch.bfloat16 if mode == BRAIN else torch.float16)
    if mode != EXACT:
        return high.contiguous()
    return torch.cat([high, (weight - high.float()).half()], dim=-3).contiguous()


def declared(library: ctypes.CDLL) -> Any:
    """`library` with the types of its launchers told."""
    for name, count, arguments in (
        ("styleforge_hopper_conv", 2, Layer),
        ("styleforge_hopper_first", 2, Ends),
        ("styleforge_hopper_last", 2, Ends),
    ):
        function = getattr(library, name)
        function.restype = c_int
        function.argtypes = [*[c_int] * count, POINTER(arguments), c_int, c_int, c_void_p]
    return library
