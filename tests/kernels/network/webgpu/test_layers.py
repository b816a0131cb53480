"""Each layer's shaders equal PyTorch's float64, for sizes in all remainders of their tiles."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from kernels.network.shapes import FULL, LITE, NetworkShape
from kernels.network.webgpu.convolution import Convolution, fitting
from kernels.network.webgpu.last import filters_are_uniform, groups, last, limits_bytes
from kernels.network.webgpu.layers import Layer, Network
from kernels.network.webgpu.steps import tiled
from kernels.network.webgpu.tiles import CANDIDATES, DEFAULT, fitted
from kernels.network.webgpu.weights import last_filters
from kernels.network.webgpu.wgsl import Reading
from tests.helpers import daily
from tests.helpers.daily import some_daily
from tests.kernels.network.webgpu.layer import (
    Bench,
    expected,
    random_filters,
    random_input,
    run_layer,
    whole,
)

# Widths and heights of a layer's input in all remainders of 4, and the least. One test runs them
# all, because one pipeline does.
SIZES = [(4, 4), (5, 7), (6, 9), (7, 6), (8, 5), (17, 33), (18, 16), (35, 20), (67, 10)]
PICTURES = [(16, 16), (17, 35), (18, 21), (19, 20), (67, 16), (33, 22)]
SLOW = WIDENING, NARROWING = (64, 128), (128, 64)  # take seconds
WIDE = [128, 144]  # so do they
WIDTHS = [(16, 32), (32, 48), (48, 16), WIDENING, NARROWING]
SIDES = [3, 5, 9, 15]
RESULTS = [Reading.RELU, Reading.RESIDUAL]

# A software GPU compiles a shader for seconds.
matrix = partial(daily.matrix, meeting=1)


def check(
    device,
    form: Convolution,
    tile,
    sizes,
    *,
    half,
    following=Reading.RELU,
    winograd=False,
    error=0.0,
):
    """Check a layer; with an `error`, it sums some products in FP16."""
    side = 3 if form.enlarges else form.side
    weight = random_filters(form.outputs, form.inputs, side, half=half and not winograd)
    if form.enlarges and half:
        weight = (weight * 64).round() / 64  # the phases' sums are then exact
    tile = fitted(tile, form.inputs, (form.phases if winograd else 1) * form.outputs)
    tile = tile if winograd else fitting(form, tile)
    layer = Layer("", "", form, tile, following, winograd, half_sums=error > 0)
    for size in sizes:
        given = random_input(form.inputs, size, form.reading, half=half)
        found = run_layer(device, layer, given, weight, size, half=half)
        read, normed = expected(layer, given, weight, side // 2)
        most = error or ((2e-2 if winograd else 8e-3) if half else 3e-5)
        torch.testing.assert_close(found.normed, normed, rtol=0, atol=most)
        first = found.normed[0, :, 0, 0]
        center = first.relu() if following is Reading.RELU else first + 1
        torch.testing.assert_close(found.center, center, rtol=1e-5, atol=1e-5)
        if form.keeps:
            most = 1e-3 if half else 1e-6
            torch.testing.assert_close(found.kept, read, rtol=most, atol=most)


@matrix({"inputs, outputs": WIDTHS, "reading": RESULTS, "half": [False, True]}, later=SLOW)
def test_a_plain_convolution_equals_pytorch(device, inputs, outputs, reading, half):
    form = Convolution(inputs, outputs, 3, reading, keeps=True)
    check(device, form, DEFAULT.plain, SIZES, half=half, following=Reading.RESIDUAL)


@matrix({"channels": [16, 48, *WIDE], "reading": RESULTS, "half": [False, True]}, later=WIDE)
def test_winograds_convolution_equals_pytorch(device, channels, reading, half):
    form = Convolution(channels, channels, 3, reading, keeps=reading is Reading.RESIDUAL)
    check(device, form, DEFAULT.product, SIZES, half=half, winograd=True)


@pytest.mark.full
@pytest.mark.parametrize("half", [True])
@pytest.mark.parametrize("winograd", [False, True])
def test_sums_in_fp16_are_near_pytorch(device, winograd, half):
    form = Convolution(128, 128, 3, Reading.RELU, keeps=True)
    tile = DEFAULT.product if winograd else DEFAULT.plain
    error = 4e-2 if winograd else 8e-3
    check(device, form, tile, SIZES[4:], half=half, winograd=winograd, error=error)


@matrix({"inputs, outputs": WIDTHS, "half": [False, True]})
def test_a_convolution_of_stride_two_equals_pytorch(device, inputs, outputs, half):
    check(
        device,
        Convolution(inputs, outputs, 3, Reading.RELU, stride=2),
        DEFAULT.halving,
        SIZES,
        half=half,
    )


@matrix(
    {
        "inputs, outputs": WIDTHS,
        "reading": RESULTS,
        "tile": ["narrow", "wide"],
        "half": [False, True],
    },
    later=SLOW,
)
def test_an_enlarging_convolution_equals_pytorch(device, inputs, outputs, reading, tile, half):
    check(
        device,
        Convolution(inputs, outputs, 2, reading, enlarges=True),
        getattr(DEFAULT, tile),
        SIZES,
        half=half,
    )


@matrix({"inputs, outputs": WIDTHS, "reading": RESULTS, "half": [False, True]}, later=SLOW)
def test_winograds_enlarging_convolution_equals_pytorch(device, inputs, outputs, reading, half):
    form = Convolution(inputs, outputs, 2, reading, enlarges=True)
    check(device, form, DEFAULT.phases, SIZES, half=half, winograd=True)


@matrix({
    "outputs": [16, 32, 48], "side": SIDES, "reading": [Reading.PICTURE, Reading.NUMBERS],
    "half": [False, True],
})  # fmt: skip
def test_the_first_layer_equals_pytorch(device, outputs, side, reading, half):
    form = Convolution(3, outputs, side, reading)
    check(device, form, replace(DEFAULT.first, taps=side), PICTURES, half=half)


FORMS = {  # by a field of Tiles
    "first": Convolution(3, 32, 9, Reading.PICTURE),
    "halving": Convolution(32, 64, 3, Reading.RELU, stride=2),
    "plain": Convolution(64, 64, 3, Reading.RESIDUAL, keeps=True),
    "product": Convolution(64, 64, 3, Reading.RESIDUAL, keeps=True),
    "narrow": Convolution(64, 64, 2, Reading.RESIDUAL, enlarges=True),
    "wide": Convolution(64, 32, 2, Reading.RELU, enlarges=True),
    "phases": Convolution(64, 32, 2, Reading.RELU, enlarges=True),
}
TRIED = [(field, tile) for field, tiles in CANDIDATES.items() for tile in tiles]


@pytest.mark.parametrize(("field", "tile"), some_daily(TRIED, 3, 7, 18, 27, 48))
def test_every_tile_computes_the_same(device, field, tile):
    form = FORMS[field]
    tile = replace(tile, taps=form.side) if field == "first" else tile
    sizes = PICTURES if field == "first" else SIZES
    check(device, form, tile, sizes, half=False, winograd=field in ("product", "phases"))


@pytest.mark.parametrize("channels", [16, 48, 80, 144])
def test_every_tile_fits_every_width(channels):
    for tile in (tile for tiles in CANDIDATES.values() for tile in tiles):
        found = fitted(tile, channels, channels)
        assert channels % found.outputs == channels % found.depth == 0
        assert found.depth % 4 == 0


@matrix({
    "inputs": [16, 32, 112], "side": SIDES, "in_bytes": [False, True], "half": [False, True],
})  # fmt: skip
def test_the_last_layer_equals_pytorch(device, inputs, side, in_bytes, half):
    bench = Bench(device, half=half)
    weight = random_filters(3, inputs, side, half=False)
    bias = torch.tensor([120.0, -5.5, 260.0])
    uniform = filters_are_uniform(inputs, side)
    packed = device.upload(last_filters(weight, bias).numpy(), uniform=uniform)
    for real in PICTURES:
        size = whole(real)
        given = random_input(inputs, size, Reading.RELU, half=half)
        norm = torch.stack([given.scale, given.shift, given.shift]).view(3, -1, 4).transpose(0, 1)
        pitch = size[0]
        pixels = 3 * pitch * real[1] * (1 if in_bytes else 4)
        behind = limits_bytes(side, real) if in_bytes else 0
        result = device.allocate(pixels + behind)
        bench.run(
            *(last(inputs, side, in_bytes, half), [size, real, (0, 0)], groups(side, real), packed),
            source=bench.upload(given.raw), result=result,
            norm=device.upload(norm.contiguous().numpy()),
        )  # fmt: skip
        dtype = np.uint8 if in_bytes else np.float32
        found = bench.numbers(result, dtype)[: 3 * pitch * real[1]].view(real[1], pitch, 3)
        x = torch.nn.functional.pad(given.read(Reading.RELU), [side // 2] * 4, mode="reflect")
        exact = torch.nn.functional.conv2d(x, weight.double(), bias.double())[0].permute(1, 2, 0)
        exact = exact[: real[1], : real[0]]
        apart = (found[:, : real[0]] - (exact.clamp(0, 255) if in_bytes else exact)).abs().max()
        assert apart < (0.5 if in_bytes else 0) + 1e-4 + 3e-6 * exact.abs().max()
        if in_bytes:
            limits = bench.numbers(result, np.uint8)[pixels:].numpy().astype(np.uint8)
            least, most = limits.view(np.float32).reshape(-1, 2).T
            assert abs(least.min() - exact.min()) < 1e-4 + 3e-6 * exact.abs().max()
            assert abs(most.max() - exact.max()) < 1e-4 + 3e-6 * exact.abs().max()


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("winograd", [False, True])
@pytest.mark.parametrize("shape", [
    FULL, LITE, NetworkShape((16, 16, 16), 1), NetworkShape((112, 80, 272), 15),
    NetworkShape((4096, 4096, 4096), 3),
])  # fmt: skip
def test_shaders_keep_within_the_limits_of_every_webgpu(shape, winograd, half):
    sums = ("fp32", "fp16") if half else ("fp32",)
    networks = [
        Network.of(shape, half=half, winograd=winograd, sums=each, enlarging_winograd=winograd)
        for each in sums
    ]
    for layer in (layer for network in networks for layer in network.normed):
        phases = layer.form.phases if layer.winograd else 1
        assert phases * layer.form.outputs % layer.tile.outputs == 0
        assert layer.tile.threads <= 256
        # A Shader with more threads or memory is refused as it is made.
        assert len(tiled(layer, half).buffers) + 1 <= 8, "buffers of all bind groups"
    last(shape.widths[0], shape.end_kernel, True, half)
