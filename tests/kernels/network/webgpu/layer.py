"""Runs one layer's shaders on random numbers, and computes the same in float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.network.webgpu import product, transform_in, transform_out
from kernels.network.webgpu.convolution import Convolution, convolution, groups
from kernels.network.webgpu.device import Buffer, Copy, Device
from kernels.network.webgpu.layers import MULTIPLE, Layer
from kernels.network.webgpu.moments import EPS, MOMENTS_BYTES, merging
from kernels.network.webgpu.native import Step
from kernels.network.webgpu.steps import tiled
from kernels.network.webgpu.weights import affine, filters, transformed_filters
from kernels.network.webgpu.wgsl import Reading, Shader
from kernels.network.webgpu.winograd import transform_of

Pair = tuple[int, int]  # width and height


@dataclass
class Input:
    """The raw result before a layer, [C, H, W], its norm, [C], and the trunk; in FP32."""

    raw: Tensor
    scale: Tensor
    shift: Tensor
    trunk: Tensor

    def read(self, reading: Reading) -> Tensor:
        """Return the layer's input [1, C, H, W] in float64."""
        if reading.is_picture:
            return self.raw.double()[None]
        by_channel = (-1, 1, 1)
        normed = self.raw.double() * self.scale.double().view(by_channel)
        normed = normed + self.shift.double().view(by_channel)
        return (normed.relu() if reading is Reading.RELU else normed + self.trunk.double())[None]


def random_input(channels: int, size: Pair, reading: Reading, *, half: bool) -> Input:
    wide, high = size
    generator = torch.Generator().manual_seed(100 * wide + high)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    if reading.is_picture:
        colors = torch.randint(0, 256, (3, high, wide), generator=generator).float()
        return Input(colors, normal(3), normal(3), colors)
    raw, trunk = (normal(channels, high, wide) * 2 + 1 for _ in range(2))
    if half:
        raw, trunk = raw.half().float(), trunk.half().float()
    return Input(raw, normal(channels), normal(channels), trunk)


def random_filters(outputs: int, inputs: int, side: int, *, half: bool) -> Tensor:
    generator = torch.Generator().manual_seed(outputs)
    weight = torch.randn(outputs, inputs, side, side, generator=generator) / side
    return weight.half().float() if half else weight


class Bench:
    """Runs shaders on a device, with pictures as [C, H, W] tensors."""

    def __init__(self, device: Device, *, half: bool) -> None:
        self.device, self.half = device, half

    def upload(self, x: Tensor) -> Buffer:
        """Upload [C, H, W] in the order and dtype of activations."""
        dtype = torch.float16 if self.half else torch.float32
        return self.device.upload(x.permute(1, 2, 0).contiguous().to(dtype).numpy())

    def activations(self, channels: int, size: Pair) -> Buffer:
        """Allocate a picture of NaN, so that a pixel without a result shows."""
        return self.upload(torch.full((channels, size[1], size[0]), torch.nan))

    def read(self, buffer: Buffer, channels: int, size: Pair) -> Tensor:
        """Return a picture as [1, C, H, W] in float64."""
        found = self.numbers(buffer, np.float16 if self.half else np.float32)
        return (
            found[: channels * size[0] * size[1]]
            .view(1, size[1], size[0], channels)
            .permute(0, 3, 1, 2)
        )

    def numbers(self, buffer: Buffer, dtype: type) -> Tensor:
        memory = self.device.readback(buffer.size)
        self.device.submit([], [Copy(buffer, memory)])
        with memory.read() as written:
            return torch.from_numpy(written.view(dtype).astype(np.float64))

    def run(
        self,
        shader: Shader,
        sizes: Sequence[Pair],
        workgroups: tuple[int, int, int],
        weights: Buffer = None,
        **buffers: Buffer,
    ) -> None:
        pipeline = self.device.pipeline(shader)
        group = None if weights is None else self.device.bind_weights(pipeline, weights)
        bound = self.device.bind(pipeline, sizes, **buffers)
        self.device.submit([[Step(pipeline, workgroups, bound, group)]])


@dataclass
class Found:
    """The results of a layer.

    Attributes:
        normed: Its result after the norm that it found, [1, K, H, W].
        center: The first pixel of the next layer's input, [K].
        kept: Its input, [1, C, H, W], if it keeps it.
    """

    normed: Tensor
    center: Tensor
    kept: Tensor | None


def run_layer(
    device: Device, layer: Layer, given: Input, weight: Tensor, real: Pair, *, half: bool
) -> Found:
    """Run a layer and the shader of its norm, whose weight and bias count up by channel.

    `real` is the size of a picture without its padding.
    """
    bench, form = Bench(device, half=half), layer.form
    size: Pair = given.raw.shape[2], given.raw.shape[1]
    if form.reading.is_picture:
        size = whole(real)
    result_size = result_of(form, size)
    buffers = {"source": _source(bench, given, form.reading)}
    if not form.reading.is_picture:
        center = given.read(form.reading)[0, :, 0, 0].float()
        norm = torch.stack([given.scale, given.shift, center]).view(3, -1, 4).transpose(0, 1)
        buffers["norm"] = device.upload(norm.contiguous().numpy())
    if form.reading is Reading.RESIDUAL:
        buffers["trunk"] = bench.upload(given.trunk)
    if form.keeps:
        buffers["kept"] = bench.activations(form.inputs, size)
    result = bench.activations(form.outputs, result_size)
    if layer.winograd:
        parts, count = _transformed(bench, layer, buffers, weight, (size, result_size), result)
    else:
        parts, count = _direct(bench, layer, buffers, weight, (size, result_size, real), result)
    norm = device.upload(np.full(3 * form.outputs, np.nan, np.float32))
    gamma, beta = norm_after(form.outputs)
    trunk = bench.upload(torch.ones(form.outputs, 1, 1))
    added = {"trunk": trunk} if layer.following is Reading.RESIDUAL else {}
    bench.run(
        merging(form.outputs, layer.following, half),
        [(count, result_size[0] * result_size[1])],
        (form.outputs // 4, 1, 1),
        device.upload(affine(gamma, beta).numpy()),
        **{"parts": parts, "source": result, "norm": norm, **added},
    )
    values = bench.numbers(norm, np.float32).view(-1, 3, 4).transpose(0, 1).reshape(3, -1)
    scale, shift, center = values
    raw = bench.read(result, form.outputs, result_size)
    normed = raw * scale.view(-1, 1, 1) + shift.view(-1, 1, 1)
    kept = bench.read(buffers["kept"], form.inputs, size) if form.keeps else None
    return Found(normed, center, kept)


def norm_after(channels: int) -> tuple[Tensor, Tensor]:
    count = torch.arange(channels).float() / channels
    return 0.5 + count, count - 0.5


def expected(layer: Layer, given: Input, weight: Tensor, padding: int) -> tuple[Tensor, Tensor]:
    """Return the layer's input and its normed result in float64, from filters [K, C, R, R]."""
    read = given.read(layer.form.reading)
    x = F.interpolate(read, scale_factor=2) if layer.form.enlarges else read
    if layer.form.reading.is_picture:
        high, wide = x.shape[2:]
        x = F.pad(x, (0, -wide % 4, 0, -high % 4), mode="reflect")
    x = F.pad(x, [padding] * 4, mode="reflect")
    raw = F.conv2d(x, weight.double(), stride=layer.form.stride)
    gamma, beta = (part.double() for part in norm_after(layer.form.outputs))
    return read, F.instance_norm(raw, None, None, gamma, beta, eps=EPS)


def whole(size: Pair) -> Pair:
    """Return the size of a picture that is padded to multiples of four."""
    wide, high = (-(-side // MULTIPLE) * MULTIPLE for side in size)
    return wide, high


def result_of(form: Convolution, size: Pair) -> Pair:
    wide, high = size
    if form.enlarges:
        return 2 * wide, 2 * high
    return -(-wide // form.stride), -(-high // form.stride)


def _source(bench: Bench, given: Input, reading: Reading) -> Buffer:
    if reading.is_picture:
        dtype = np.uint8 if reading is Reading.PICTURE else np.float32
        pixels = given.raw.permute(1, 2, 0).contiguous().numpy().astype(dtype)
        return bench.device.upload(pixels)
    return bench.upload(given.raw)


def _direct(bench, layer, buffers, weight, sizes, result) -> tuple[Buffer, int]:
    form, tile, device = layer.form, layer.tile, bench.device
    across, down, others = groups(form, tile, sizes[1])
    count = form.phases * across * down
    parts = device.allocate(MOMENTS_BYTES * count * form.outputs // 4)
    packed = filters(weight, form, tile).to(torch.float16 if bench.half else torch.float32)
    shader = convolution(form, tile, bench.half, layer.half_sums)
    bench.run(
        *(shader, (*sizes, (0, down)), (across, down, others)),
        device.upload(packed.numpy()),
        **{**buffers, "result": result, "parts": parts},
    )
    return parts, count


def _transformed(bench, layer, buffers, weight, sizes, result) -> tuple[Buffer, int]:
    form, device, outputs = layer.form, bench.device, layer.form.phases * layer.form.outputs
    transform = transform_of(enlarges=form.enlarges)
    across, down = transform.tiles(sizes[0])
    bands = layer_bands(across * down)
    most = max(tiles for _, tiles in bands)
    element = 2 if bench.half else 4
    inputs, products = (
        device.allocate(element * transform.positions * most * channels)
        for channels in (form.inputs, outputs)
    )
    packed = device.upload(transformed_filters(weight, form, layer.tile).numpy())
    ends = [transform_out.groups(tiles, form.outputs, form.phases) for _, tiles in bands]
    count = sum(parts for parts, *_ in ends)
    parts, part = device.allocate(MOMENTS_BYTES * count * form.outputs // 4), 0
    for (first, tiles), end in zip(bands, ends, strict=True):
        bench.run(
            transform_in.transform_in(
                form.inputs, form.reading, form.keeps, bench.half, form.enlarges
            ),
            [sizes[0], (across, tiles), (first, part)],
            transform_in.groups(tiles, form.inputs),
            **{**buffers, "result": inputs},
        )
        bench.run(
            tiled(layer, bench.half),
            [(across, tiles), (0, 0)],
            product.groups(transform.positions, tiles, outputs, layer.tile),
            packed,
            source=inputs,
            result=products,
        )
        bench.run(
            transform_out.transform_out(form.outputs, bench.half, form.enlarges),
            [sizes[1], (across, tiles), (first, part)],
            end,
            source=products,
            result=result,
            parts=parts,
        )
        part += end[0]
    return parts, count


def layer_bands(tiles: int) -> list[Pair]:
    """Return two bands, the first one of five tiles, or one if there are no more tiles."""
    return [(0, 5), (5, tiles - 5)] if tiles > 5 else [(0, tiles)]
