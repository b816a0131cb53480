"""The tiling of the network's layers on Hopper, and the packing of their weights.

Pure arithmetic on the numbers in the library's description, without a GPU.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from kernels.network.abi import Sm90, Sm90Conv, Sm90Precision, Sm90Strip
from kernels.weight_transforms import as_matrix, phase_weight

OPERANDS = {"float16": torch.float16, "bfloat16": torch.bfloat16}


@dataclass(frozen=True, slots=True)
class Tiles:
    """A picture covered with tiles whose short side is 8 pixels, shared by persistent `blocks`.

    `long` and `short` count tiles along these sides; `across` if the long side is along the width.
    """

    long: int
    short: int
    across: bool
    blocks: int

    @classmethod
    def of(cls, size: tuple[int, int], side: int, blocks: int) -> Tiles:
        """Cover height and width with the fewest tiles of `side` by 8 pixels.

        At most `blocks` persistent blocks share the tiles.
        """
        along, aside = (-(-n // side) for n in size), [-(-n // 8) for n in size]
        down, across = ((a, b) for a, b in zip(along, reversed(aside), strict=True))
        turned = across[0] * across[1] < down[0] * down[1]
        long, short = across if turned else down
        rounds = -(-long * short // blocks)
        return cls(long, short, turned, -(-long * short // rounds))


@dataclass(frozen=True, slots=True)
class Strips:
    """A picture cut into `count` strips side by side, and each into pieces of an even pixel `rows`.

    Each of the `blocks` pieces has a persistent block.
    """

    count: int
    rows: int
    blocks: int

    @classmethod
    def of(cls, size: tuple[int, int], width: int, blocks: int) -> Strips:
        """Cut height and width into at most `blocks` pieces, or one per strip of `width` pixels."""
        count = -(-size[1] // width)
        cuts = max(1, blocks // count)
        rows = 2 * -(-size[0] // (2 * cuts))
        return cls(count, rows, count * -(-size[0] // rows))


def residual_conv(size: tuple[int, int], blocks: int, precision: Sm90Precision) -> Sm90Conv:
    """Return the layer of 128 channels; small tiles if large ones leave multiprocessors idle."""
    small, large = precision.convs["same"], precision.convs["same_large"]

    def pixels_of_a_block(conv: Sm90Conv) -> int:
        tiles = Tiles.of(size, conv.tile_long, blocks)
        return conv.tile_long * math.ceil(tiles.long * tiles.short / blocks)

    return small if pixels_of_a_block(small) < pixels_of_a_block(large) else large


def joined_tiles(
    size: tuple[int, int], samples: int, multiprocessors: int, precision: Sm90Precision
) -> Tiles | None:
    """Return the tiles for all residual layers in one launch; None to launch them separately.

    All blocks of that launch wait for one another, so each needs its own multiprocessor. `size`
    is height and width in pixels, as in `residual_conv`.
    """
    if precision.residual is None:
        return None
    tiles = Tiles.of(size, precision.convs["same"].tile_long, multiprocessors)
    return tiles if tiles.long * tiles.short * samples <= multiprocessors else None


def weight_elements(conv: Sm90Conv, channels: int, precision: Sm90Precision) -> int:
    """Return the size of `layer_weight`'s result for `channels` input channels."""
    return conv.groups * conv.passes * 64 * channels * conv.taps * precision.operand_copies


def layer_weight(
    weight: Tensor, conv: Sm90Conv, precision: Sm90Precision, order: tuple[str, ...]
) -> Tensor:
    """Reorder the weights of a 3x3 layer, [Cout, Cin, 3, 3], as its kernel reads them.

    One contiguous dimension for each axis of `order`: group, pass, block, tap, part, row and
    channel, outermost first. Parts are twice as many if an operand is the sum of two.
    """
    if conv.taps == 4:  # a pass per row of phases, a warpgroup per column
        weight = phase_weight(weight)
    elif conv.taps == 6:
        # Both phases of a row read all three columns; each has zeros in one.
        phases = phase_weight(weight).view(2, 2, weight.shape[0], weight.shape[1], 2, 2)
        wide = phases.new_zeros(2, 2, *phases.shape[2:4], 2, 3)
        wide[:, 0, ..., :2], wide[:, 1, ..., 1:] = phases[:, 0], phases[:, 1]
        weight = wide.view(-1, weight.shape[1], 2, 3)
    blocks = weight.shape[1] // conv.block_k
    axes = ("pass", "group", "row", "block", "part", "channel", "tap")
    shape = conv.passes, conv.groups, 64, blocks, conv.block_k // 8, 8, conv.taps
    packed = weight.reshape(shape).permute([axes.index(axis) for axis in order])
    return _operands(packed, precision)


def first_weight(weight: Tensor, precision: Sm90Precision, traits: Sm90) -> Tensor:
    """Reorder [32, 3, 9, 9] to operands, with the axes of `traits.strip_weight_order`."""
    axes = ("out", "color", "row", "column")
    return _strip_weight(weight, axes, precision.first, precision, traits)


def last_weight(weight: Tensor, precision: Sm90Precision, traits: Sm90) -> Tensor:
    """Reorder [3, 32, 9, 9] to operands, with the axes of `traits.strip_weight_order`."""
    axes = ("color", "channel", "row", "column")
    return _strip_weight(weight, axes, precision.last, precision, traits)


def _strip_weight(
    weight: Tensor,
    axes: tuple[str, ...],
    layer: Sm90Strip,
    precision: Sm90Precision,
    traits: Sm90,
) -> Tensor:
    rows = {axis: size for axis, size in layer.weight_axes.rows.items() if axis != "line"}
    lines, taps = layer.weight_axes.rows["line"], weight.shape[2]
    matrix = as_matrix(weight, axes, {"row": taps, **rows}, layer.weight_axes.depth)
    matrix = matrix.view(taps, -1, matrix.shape[1])
    count, depth = matrix.shape[1:]
    packed = weight.new_zeros(traits.kernel_rows, traits.weight_rows, traits.weight_depth)
    for line in range(lines):
        packed[line : line + taps, line * count : (line + 1) * count, :depth] = matrix
    parts = packed.view(traits.kernel_rows, traits.weight_rows, traits.weight_depth // 8, 8)
    named = ("kernel_row", "row", "part", "channel")
    order = [named.index(axis) for axis in traits.strip_weight_order]
    return _operands(parts.permute(order), precision)


def _operands(weight: Tensor, precision: Sm90Precision) -> Tensor:
    """Convert [..., part, row, 8] to operands; append the rounding error if they are sums."""
    weight = weight.float()
    high = weight.to(OPERANDS[precision.operand])
    if precision.operand_copies == 1:
        return high.contiguous()
    return torch.cat([high, (weight - high.float()).to(high.dtype)], dim=-3).contiguous()
