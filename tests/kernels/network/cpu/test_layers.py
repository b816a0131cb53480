"""Each layer of the network on the CPU equals PyTorch's in float64, for every size of its edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.network.cpu import weights
from kernels.network.cpu.launchers import Kind, Norm, ValidWeights
from tests.helpers.daily import matrix
from tests.kernels.network.cpu.native import LEVELS, network, threads_of_torch

# Sides in all remainders of the tiles' sides, 3 and 4, and the least; blocks of one and of more.
SIZES = [(4, 4), (5, 7), (6, 10), (9, 8), (11, 67), (18, 21), (35, 28), (64, 49)]
LARGER = [(16, 16), (17, 35), (20, 74), (43, 130)]
SIDES = [3, 5, 9, 11]  # of the filters
WIDTHS = [(16, 32), (32, 48), (48, 16), (64, 128), (128, 64)]
EPS = 1e-5
VALID = {1: Kind.VALID, 2: Kind.VALID_HALVING}  # by stride


class Case(NamedTuple):
    """A layer on random numbers, and the picture that it reads in float64."""

    x: Tensor  # [H, W, C], raw
    norm: Norm
    residual: Tensor | None
    gamma: Tensor
    beta: Tensor

    def read(self) -> Tensor:
        normed = self.x.double() * self.norm.scale.double() + self.norm.shift.double()
        read = normed.relu() if self.residual is None else normed + self.residual.double()
        return read.permute(2, 0, 1)[None]


def case(size: tuple[int, int], width: int, outputs: int, *, residual: bool = False) -> Case:
    generator = torch.Generator().manual_seed(size[0] * 100 + size[1])

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    norm = Norm(normal(width), normal(width))
    added = normal(*size, width) if residual else None
    return Case(normal(*size, width) * 3 + 2, norm, added, normal(outputs), normal(outputs))


def normalized(raw: Tensor, given: Case) -> Tensor:
    """Return the norm of a raw result [1, K, H, W], as PyTorch computes it in float64."""
    return F.instance_norm(raw, None, None, given.gamma.double(), given.beta.double(), eps=EPS)


def run(
    native, kind: Kind, given: Case, prepared: Tensor, size: tuple[int, int], **options
) -> Tensor:
    """Run a layer, and return its result [1, K, H, W] after the norm that it found."""
    outputs = len(given.gamma)
    to = torch.full((*size, outputs), torch.nan)
    found = Norm(torch.full((outputs,), torch.nan), torch.full((outputs,), torch.nan))
    native.layer(
        *(kind, given.x, prepared, to), norm=given.norm, residual=given.residual,
        gamma=given.gamma, beta=given.beta, eps=EPS, following=found, **options,
    )  # fmt: skip
    return (to.double() * found.scale.double() + found.shift.double()).permute(2, 0, 1)[None]


def assert_close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=3e-5)


def filters(outputs: int, inputs: int, side: int = 3) -> Tensor:
    generator = torch.Generator().manual_seed(outputs)
    return torch.randn(outputs, inputs, side, side, generator=generator)


@matrix({"level": LEVELS, "size": SIZES, "widths": WIDTHS, "residual": [False, True]})
def test_a_plain_convolution_equals_pytorch(level, size, widths, residual):
    native, (inputs, outputs) = network(level), widths
    given, weight = case(size, inputs, outputs, residual=residual), filters(outputs, inputs)
    kept = torch.full_like(given.x, torch.nan)
    actual = run(native, Kind.PLAIN, given, weights.plain_weights(weight, native), size, kept=kept)
    read = given.read()
    raw = F.conv2d(F.pad(read, [1] * 4, mode="reflect"), weight.double())
    assert_close(actual, normalized(raw, given))
    torch.testing.assert_close(kept.permute(2, 0, 1)[None].double(), read, rtol=2e-7, atol=3e-6)


@matrix({"level": LEVELS, "size": SIZES, "widths": WIDTHS})
def test_a_convolution_of_stride_two_equals_pytorch(level, size, widths):
    native, (inputs, outputs) = network(level), widths
    given, weight = case(size, inputs, outputs), filters(outputs, inputs)
    half = (size[0] + 1) // 2, (size[1] + 1) // 2
    actual = run(native, Kind.HALVING, given, weights.halving_weights(weight, native), half)
    raw = F.conv2d(F.pad(given.read(), [1] * 4, mode="reflect"), weight.double(), stride=2)
    assert_close(actual, normalized(raw, given))


@matrix({"level": LEVELS, "size": SIZES, "widths": WIDTHS, "residual": [False, True]})
def test_an_enlarging_convolution_equals_pytorch(level, size, widths, residual):
    native, (inputs, outputs) = network(level), widths
    given, weight = case(size, inputs, outputs, residual=residual), filters(outputs, inputs)
    prepared = weights.enlarging_weights(weight, native)
    double = 2 * size[0], 2 * size[1]
    actual = run(native, Kind.ENLARGING, given, prepared, double)
    large = F.interpolate(given.read(), scale_factor=2)
    raw = F.conv2d(F.pad(large, [1] * 4, mode="reflect"), weight.double())
    assert_close(actual, normalized(raw, given))


@matrix({"level": LEVELS, "size": LARGER, "outputs": [16, 32, 48], "side": SIDES})
def test_the_first_layer_equals_pytorch(level, size, outputs, side):
    native = network(level)
    generator = torch.Generator().manual_seed(side)
    picture = torch.rand(*size, 3, generator=generator) * 255
    given = case(size, 3, outputs)._replace(x=picture)
    weight = filters(outputs, 3, side)
    prepared = weights.first_weights(weight, native)
    given = given._replace(norm=Norm(torch.ones(3), torch.zeros(3)))  # the layer reads no norm
    actual = run(native, Kind.FIRST, given, prepared, size, side=side)
    padded = F.pad(picture.double().permute(2, 0, 1)[None], [side // 2] * 4, mode="reflect")
    assert_close(actual, normalized(F.conv2d(padded, weight.double()), given))


@matrix({"level": LEVELS, "size": LARGER, "outputs": [16, 32, 48], "side": SIDES})
def test_the_first_layer_on_a_padded_picture_equals_pytorch(level, size, outputs, side):
    native, weight = network(level), filters(outputs, 3, side)
    generator = torch.Generator().manual_seed(side)
    x = torch.rand(2, 3, size[0] + side, size[1] + side - 1, generator=generator) * 255
    x = x.contiguous(memory_format=torch.channels_last)
    expected = F.conv2d(x.double(), weight.double())
    to = torch.full_like(expected, torch.nan, dtype=torch.float32)
    to = to.contiguous(memory_format=torch.channels_last)
    prepared = ValidWeights(weights.first_weights(weight, native), weights.tap_sums(weight))
    native.convolve(Kind.VALID_FIRST, x, prepared, to, side=side)
    apart = (to.double() - expected).abs().max()
    assert apart < 2e-6 * expected.abs().max() + 1e-4


def test_the_first_layer_on_a_padded_picture_of_one_color_is_one_number_per_channel():
    native, weight = network("x86-64-v2"), filters(32, 3, 9)
    x = torch.tensor([3.0, 250.0, 77.0]).view(1, 3, 1, 1).expand(1, 3, 29, 41)
    prepared = ValidWeights(weights.first_weights(weight, native), weights.tap_sums(weight))
    to = torch.empty(1, 32, 21, 33).contiguous(memory_format=torch.channels_last)
    x = x.contiguous(memory_format=torch.channels_last)
    native.convolve(Kind.VALID_FIRST, x, prepared, to, side=9)
    assert torch.equal(to, to[..., :1, :1].expand_as(to))


@matrix({"level": LEVELS, "size": LARGER, "inputs": [16, 32, 48], "side": SIDES})
def test_the_last_layer_equals_pytorch(level, size, inputs, side):
    native = network(level)
    given, weight = case(size, inputs, 3), filters(3, inputs, side)
    to = torch.full((*size, 3), torch.nan)
    prepared = weights.last_weights(weight)
    native.layer(Kind.LAST, given.x, prepared, to, side=side, norm=given.norm, beta=given.beta)
    padded = F.pad(given.read(), [side // 2] * 4, mode="reflect")
    expected = F.conv2d(padded, weight.double(), given.beta.double())
    apart = (to.double().permute(2, 0, 1)[None] - expected).abs().max()
    assert apart < 1e-6 * expected.abs().max() + 1e-4


@matrix({"level": LEVELS, "kind": [Kind.PLAIN, Kind.HALVING, Kind.ENLARGING]})
def test_the_number_of_threads_changes_no_bit(level, kind):
    native = network(level)
    make: dict[Kind, Callable[[Tensor], Tensor]] = {
        Kind.PLAIN: lambda weight: weights.plain_weights(weight, native),
        Kind.HALVING: lambda weight: weights.halving_weights(weight, native),
        Kind.ENLARGING: lambda weight: weights.enlarging_weights(weight, native),
    }
    size = {Kind.PLAIN: (50, 70), Kind.HALVING: (25, 35), Kind.ENLARGING: (100, 140)}[kind]
    given, prepared = case((50, 70), 48, 32), make[kind](filters(32, 48))
    results = []
    for threads in (1, 2, 3, 5, 8):
        with threads_of_torch(threads):
            results.append(run(native, kind, given, prepared, size))
    assert all(torch.equal(results[0], other) for other in results)


@pytest.mark.parametrize("kind", [Kind.PLAIN, Kind.HALVING, Kind.ENLARGING])
def test_processors_with_fused_products_compute_the_same_bits(kind):
    results = []
    for level in ("x86-64-v3", "x86-64-v4"):
        native = network(level)
        prepared = {
            Kind.PLAIN: weights.plain_weights(filters(48, 32), native),
            Kind.HALVING: weights.halving_weights(filters(48, 32), native),
            Kind.ENLARGING: weights.enlarging_weights(filters(48, 32), native),
        }[kind]
        size = {Kind.PLAIN: (30, 43), Kind.HALVING: (15, 22), Kind.ENLARGING: (60, 86)}[kind]
        results.append(run(native, kind, case((30, 43), 32, 48), prepared, size))
    assert torch.equal(*results)


@matrix({"level": LEVELS, "size": SIZES, "widths": WIDTHS, "stride": [1, 2]})
def test_a_convolution_without_norms_equals_pytorch(level, size, widths, stride):
    native, (inputs, outputs) = network(level), widths
    generator = torch.Generator().manual_seed(size[0])
    x = torch.randn(2, inputs, *size, generator=generator) + 5
    x = x.contiguous(memory_format=torch.channels_last)
    weight = filters(outputs, inputs)
    make = weights.plain_weights if stride == 1 else weights.halving_weights
    prepared = ValidWeights(make(weight, native), weights.tap_sums(weight))
    expected = F.conv2d(x.double(), weight.double(), stride=stride)
    to = torch.full_like(expected, torch.nan, dtype=torch.float32)
    to = to.contiguous(memory_format=torch.channels_last)
    native.convolve(VALID[stride], x, prepared, to)
    apart = (to.double() - expected).abs().max()
    assert apart < 1e-6 * expected.abs().max() + 1e-4


@pytest.mark.parametrize("stride", [1, 2])
def test_a_convolution_of_a_constant_is_one_number_per_channel(stride):
    native, weight = network("x86-64-v2"), filters(48, 32)
    x = torch.linspace(-3, 7, 32).view(1, 32, 1, 1).expand(1, 32, 23, 30)
    make = weights.plain_weights if stride == 1 else weights.halving_weights
    prepared = ValidWeights(make(weight, native), weights.tap_sums(weight))
    to = torch.empty(1, 48, *(((side - 3) // stride + 1) for side in (23, 30)))
    to = to.contiguous(memory_format=torch.channels_last)
    native.convolve(VALID[stride], x.contiguous(memory_format=torch.channels_last), prepared, to)
    assert torch.equal(to, to[..., :1, :1].expand_as(to))


@matrix({"level": LEVELS, "size": LARGER, "inputs": [16, 32], "side": SIDES})
def test_the_last_layer_on_a_padded_picture_equals_pytorch(level, size, inputs, side):
    native, weight = network(level), filters(3, inputs, side)
    generator = torch.Generator().manual_seed(side)
    x = torch.randn(2, inputs, size[0] + side, size[1] + side - 1, generator=generator)
    x = x.contiguous(memory_format=torch.channels_last)
    bias = torch.tensor([5.0, -3.0, 120.0])
    expected = F.conv2d(x.double(), weight.double(), bias.double())
    to = torch.full_like(expected, torch.nan, dtype=torch.float32)
    to = to.contiguous(memory_format=torch.channels_last)
    native.convolve_last(x, weights.last_weights(weight), bias, side, to)
    apart = (to.double() - expected).abs().max()
    assert apart < 1e-6 * expected.abs().max() + 1e-4
