"""The tiling of the layers and the layout of their weights; testing them needs no GPU."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.network import sm90_layout as layout
from kernels.network.abi import Abi, ProductAxes
from kernels.network.sm90_layout import Strips, Tiles

ROUNDING = {"fp16": 1e-3, "bf16": 8e-3, "tf32": 1e-3, "fp32": 1e-6}
SIZES = [(4, 4), (16, 16), (33, 50), (128, 128), (180, 320), (270, 480), (540, 960), (2, 4000)]


def dense(packed: Tensor, copies: int) -> Tensor:
    """Unpack [warpgroup, pass, slice, tap, part, row, 8] to float64 [pass, row, channel, tap]."""
    packed = packed.double()
    if copies == 2:  # the rounded weight and the rounding error
        high, low = packed.chunk(2, dim=4)
        packed = high + low
    return packed.permute(1, 0, 5, 2, 4, 6, 3).flatten(1, 2).flatten(2, 4)


def packed_layer(weight: Tensor, conv: str, name: str, described: Abi) -> Tensor:
    sm90 = described.sm90
    precision = sm90.precisions[name]
    traits = precision.convs[conv]
    packed = layout.layer_weight(weight, traits, precision, sm90.weight_order)
    assert packed.numel() == layout.weight_elements(traits, weight.shape[1], precision)
    return dense(packed, precision.operand_copies)


@pytest.mark.parametrize("name", ROUNDING)
@pytest.mark.parametrize(
    ("conv", "into", "out"),
    [("down1", 32, 64), ("down2", 64, 128), ("same", 128, 128), ("same_large", 128, 128)],
)
def test_a_layer_of_nine_taps_keeps_its_weights(conv, into, out, name, described):
    weight = torch.randn(out, into, 3, 3)
    packed = packed_layer(weight, conv, name, described)
    assert torch.allclose(packed[0].view_as(weight), weight.double(), ROUNDING[name], 1e-7)


@pytest.mark.parametrize("name", ROUNDING)
@pytest.mark.parametrize(("conv", "into", "out"), [("up1", 128, 64), ("up2", 64, 32)])
def test_phases_are_the_enlarged_convolution(conv, into, out, name, described):
    weight, x = torch.randn(out, into, 3, 3), torch.randn(1, into, 5, 6, dtype=torch.float64)
    packed = packed_layer(weight, conv, name, described)
    enlarged = F.pad(F.interpolate(x, scale_factor=2), (1, 1, 1, 1), mode="reflect")
    expected = F.conv2d(enlarged, weight.double())
    actual = torch.empty_like(expected)
    patch = F.pad(x, (1, 1, 1, 1), mode="replicate")
    for a in (0, 1):
        for b in (0, 1):
            if conv == "up1":  # one pass per row, warpgroups for the columns
                taps, place = packed[a, b * 64 : b * 64 + 64].unflatten(-1, (2, 2)), (a, b)
            else:  # warpgroups for the rows, all three columns for both phases
                rows = slice((a * 2 + b) * 32, (a * 2 + b) * 32 + 32)
                taps, place = packed[0, rows].unflatten(-1, (2, 3)), (a, 0)
            phase = F.conv2d(patch, taps)[..., place[0] : place[0] + 5, place[1] : place[1] + 6]
            actual[..., a::2, b::2] = phase
    assert (actual - expected).abs().max() <= ROUNDING[name] * expected.abs().max()


@pytest.mark.parametrize("name", ROUNDING)
def test_ten_rows_of_the_kernel_serve_two_rows_of_the_first_layer(name, described):
    weight = torch.randn(32, 3, 9, 9)
    precision, rows_of_kernel = described.sm90.precisions[name], described.sm90.kernel_rows
    packed = layout.first_weight(weight, precision, described.sm90)[None, None, :, None]
    packed = dense(packed, precision.operand_copies)
    rows = packed[0].unflatten(0, (2, 32)).unflatten(2, (rows_of_kernel, 32))
    for below in (0, 1):
        own = rows[below].flatten(1, 2).view(32, rows_of_kernel, 32)
        values = own[:, below : below + 9, :27].unflatten(2, (9, 3)).permute(0, 3, 1, 2)
        assert torch.allclose(values, weight.double(), ROUNDING[name], 1e-7)
        assert own.count_nonzero() == weight.count_nonzero()


@pytest.mark.parametrize("name", ROUNDING)
def test_ten_rows_of_the_kernel_serve_two_rows_of_the_last_layer(name, described):
    weight = torch.randn(3, 32, 9, 9)
    precision, rows_of_kernel = described.sm90.precisions[name], described.sm90.kernel_rows
    packed = layout.last_weight(weight, precision, described.sm90)[None, None, :, None]
    packed = dense(packed, precision.operand_copies)
    rows = packed[0].flatten(1).view(64, rows_of_kernel, 32)
    for below in (0, 1):
        own = rows[below * 27 : below * 27 + 27]
        values = own[:, below : below + 9].unflatten(0, (9, 3)).permute(1, 3, 2, 0)
        assert torch.allclose(values, weight.double(), ROUNDING[name], 1e-7)
        assert own.count_nonzero() == weight.count_nonzero()
    assert rows[54:].count_nonzero() == 0


def test_the_library_decides_the_order_of_the_first_and_the_last_layers_weights(described):
    sm90, precision = described.sm90, described.sm90.precisions["fp16"]
    weight = torch.randn(32, 3, 9, 9)
    packed = layout.first_weight(weight, precision, sm90)
    assert packed.shape == (sm90.kernel_rows, 4, 64, 8)
    turned = replace(sm90, strip_weight_order=("part", "kernel_row", "row", "channel"))
    assert torch.equal(layout.first_weight(weight, precision, turned), packed.transpose(0, 1))
    axes = ProductAxes.parse("line:2 out:32 | color:3 column:9")
    first = replace(precision, first=replace(precision.first, weight_axes=axes))
    depth = packed.transpose(1, 2).flatten(2)[..., :27].unflatten(-1, (9, 3)).transpose(-1, -2)
    got = layout.first_weight(weight, first, sm90).transpose(1, 2).flatten(2)
    assert torch.equal(got[..., :27].unflatten(-1, (3, 9)), depth)


@pytest.mark.parametrize("blocks", [1, 46, 132])
@pytest.mark.parametrize("side", [16, 32])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_tiles_cover_a_picture_and_are_shared_out_evenly(size, side, blocks):
    tiles = Tiles.of(size, side, blocks)
    height, width = (8, side) if tiles.across else (side, 8)
    down, wide = (tiles.short, tiles.long) if tiles.across else (tiles.long, tiles.short)
    assert (down - 1) * height < size[0] <= down * height
    assert (wide - 1) * width < size[1] <= wide * width
    assert 1 <= tiles.blocks <= blocks
    # No block computes more than one tile more than the others.
    assert -(-tiles.long * tiles.short // tiles.blocks) == -(-tiles.long * tiles.short // blocks)


@pytest.mark.parametrize("blocks", [1, 46, 132])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_strips_cover_a_picture(size, blocks):
    strips = Strips.of(size, 128, blocks)
    assert (strips.count - 1) * 128 < size[1] <= strips.count * 128
    assert strips.rows % 2 == 0
    cuts = strips.blocks // strips.count
    assert (cuts - 1) * strips.rows < size[0] <= cuts * strips.rows
    assert strips.blocks <= max(blocks, strips.count)


def test_small_pictures_get_small_tiles(described):
    precision = described.sm90.precisions["fp16"]
    small = layout.residual_conv((128, 128), 132, precision)
    large = layout.residual_conv((270, 480), 132, precision)
    assert (small, large) == (precision.convs["same"], precision.convs["same_large"])


def test_layers_are_joined_where_every_tile_has_a_multiprocessor(described):
    fp16 = described.sm90.precisions["fp16"]
    assert layout.joined_tiles((128, 128), 1, 132, fp16) == Tiles(8, 16, False, 128)
    assert layout.joined_tiles((128, 128), 1, 127, fp16) is None
    assert layout.joined_tiles((128, 128), 2, 132, fp16) is None, "two pictures have 256 tiles"
    assert layout.joined_tiles((64, 128), 2, 132, fp16) == Tiles(4, 16, False, 64)
    assert layout.joined_tiles((180, 320), 1, 132, fp16) is None


@pytest.mark.parametrize("name", ["bf16", "tf32", "fp32"])
def test_layers_are_joined_in_fp16_alone(name, described):
    """They exchange statistics in fixed point, which has the range of FP16."""
    precision = described.sm90.precisions[name]
    assert precision.residual is None
    assert layout.joined_tiles((128, 128), 1, 132, precision) is None
