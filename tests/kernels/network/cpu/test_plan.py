"""The whole network on the CPU: right at every size, on flat and broken pictures, bit by bit."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from kernels.network.cpu.plan import CpuPlan, unsupported
from kernels.network.shapes import FULL, LITE, NetworkShape
from kernels.self_test.network import random_weights, reference
from models.pictures import padded
from tests.helpers.daily import matrix, some_daily
from tests.kernels.network.cpu.native import LEVELS, available, network, threads_of_torch

SHAPES = {
    "full": replace(FULL, num_residual_blocks=2),
    "lite": replace(LITE, num_residual_blocks=3),
}
SIZES = [(16, 16), (16, 20), (24, 28), (32, 36), (40, 44), (52, 64), (68, 48), (36, 160)]


@pytest.fixture(params=LEVELS)
def native(request):
    return network(request.param)


class Painter:
    """A network with random weights, on the library and in float64."""

    def __init__(self, native, shape: NetworkShape) -> None:
        self.weights = random_weights(shape, torch.Generator().manual_seed(1))
        self.weights["deconv3.conv2d.weight"] *= 60  # a picture of the size of photographs
        self.weights["deconv3.conv2d.bias"] = torch.full((3,), 120.0)
        self._shape, self._plan = shape, CpuPlan(native, shape)
        self.marked: list[str] = []

    def __call__(self, x: Tensor) -> Tensor:
        with torch.inference_mode():
            prepare = lambda name, make: make(self.weights[name])  # noqa: E731
            return self._plan(self.weights, prepare, x, self.marked.append)

    def in_bytes(self, frames: Tensor) -> tuple[Tensor, Tensor]:
        with torch.inference_mode():
            prepare = lambda name, make: make(self.weights[name])  # noqa: E731
            return self._plan.paint_bytes(self.weights, prepare, frames, self.marked.append)

    def exact(self, x: Tensor) -> Tensor:
        exact = {name: weight.double() for name, weight in self.weights.items()}
        return reference(exact, self._shape.num_residual_blocks, x)


def frame(height: int, width: int, seed: int = 0) -> Tensor:
    return picture(height, width, seed).permute(0, 2, 3, 1).to(torch.uint8).contiguous()


def of_floats(painter: Painter, frames: Tensor) -> tuple[Tensor, Tensor]:
    """Return what `in_bytes` returns, by the network on floats and PyTorch's rounding."""
    raw = painter(padded(frames.permute(0, 3, 1, 2).float(), 4))
    raw = raw[..., : frames.shape[1], : frames.shape[2]].permute(0, 2, 3, 1)
    limits = torch.stack([torch.stack(torch.aminmax(each)) for each in raw])
    return (raw.clamp(0, 255) + 0.5).to(torch.uint8), limits


def picture(height: int, width: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (1, 3, height, width), generator=generator).float()


@matrix({"level": LEVELS, "shape": SHAPES, "size": SIZES})
def test_the_network_equals_pytorch_in_float64(level, shape, size):
    painter = Painter(network(level), SHAPES[shape])
    x = picture(*size)
    apart = (painter(x).double() - painter.exact(x)).abs().max()
    assert apart < 0.005


@pytest.mark.parametrize("seed", some_daily(range(60), *range(6)))
def test_random_networks_of_random_sizes_are_right(seed):
    draw = random.Random(seed)
    widths = [16 * draw.randint(1, 7) for _ in range(3)]
    shape = NetworkShape((widths[0], widths[1], widths[2]), draw.randrange(1, 16, 2))
    painter = Painter(
        network(draw.choice(available())), replace(shape, num_residual_blocks=draw.randint(1, 4))
    )
    x = picture(4 * draw.randint(4, 25), 4 * draw.randint(4, 40), seed)
    with threads_of_torch(draw.randint(1, 4)):
        painted = painter(x)
    assert (painted.double() - painter.exact(x)).abs().max() < 0.005


@pytest.mark.parametrize("shape", SHAPES)
def test_pictures_of_one_color_are_exact(native, shape):
    painter = Painter(native, SHAPES[shape])
    # A norm turns a constant into its bias, and the last layer sums its weights. PyTorch's rounding
    # differs from pixel to pixel, and each norm multiplies it by 1 / sqrt(eps), even in float64.
    filters = painter.weights["deconv3.conv2d.weight"].double().sum((2, 3))
    expected = filters @ painter.weights["in5.bias"].double().relu() + 120
    for color in ((0, 0, 0), (255, 255, 255), (255, 0, 0), (37, 90, 201)):
        x = torch.tensor(color).float().view(1, 3, 1, 1).expand(1, 3, 40, 52)
        assert (painter(x).double() - expected.view(1, 3, 1, 1)).abs().max() < 0.0005


@pytest.mark.parametrize("shape", SHAPES)
def test_a_step_of_one_level_is_right_to_a_hundredth(native, shape):
    painter = Painter(native, SHAPES[shape])
    x = torch.full((1, 3, 40, 52), 128.0)
    x[..., 20:] = 129
    assert (painter(x).double() - painter.exact(x)).abs().max() < 0.01


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_pixel_that_is_no_number_spoils_the_picture_and_not_the_next(native, value):
    painter = Painter(native, SHAPES["lite"])
    x = picture(32, 36)
    before = painter(x)
    broken = x.clone()
    broken[0, 1, 30, 5] = value
    assert painter(broken).isnan().all()
    assert torch.equal(painter(x), before)


@pytest.mark.parametrize("height", some_daily(range(16, 68), 0, 1, 18, 35, 51))
def test_bytes_are_the_rounded_floats(native, height):
    painter = Painter(native, SHAPES["lite" if height % 2 else "full"])
    painter.weights["deconv3.conv2d.weight"] *= 4  # beyond black and white
    for width in (height, 16 + (height * 7 + 1) % 52, 67 - height % 4):
        frames = torch.cat([frame(height, width, seed) for seed in (width, width + 1)])
        expected = of_floats(painter, frames)
        assert expected[0].min() == 0
        assert expected[0].max() == 255
        for threads in (1, 2, 3):
            with threads_of_torch(threads):
                painted, limits = painter.in_bytes(frames)
            assert torch.equal(painted, expected[0])
            assert torch.equal(limits, expected[1])


def test_floats_of_other_sides_are_padded_and_cropped(native):
    painter = Painter(native, SHAPES["lite"])
    for height, width in ((17, 35), (18, 34), (19, 33), (20, 39)):
        x = picture(height, width)
        expected = painter(padded(x, 4))[..., :height, :width]
        assert torch.equal(painter(x), expected)


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_a_color_that_is_no_number_shows_in_the_limits(native, value):
    painter = Painter(native, SHAPES["lite"])
    painter.weights["deconv3.conv2d.bias"][1] = value
    painted, limits = painter.in_bytes(frame(33, 38))
    assert limits.isnan().all()
    assert torch.equal(painted[..., 1], torch.full((1, 33, 38), 255 * (value == torch.inf)))


def test_one_channel_that_is_no_number_shows_in_the_limits(native):
    painter, frames = Painter(native, SHAPES["lite"]), frame(41, 53)
    good = painter.in_bytes(frames)
    weight = painter.weights["deconv3.conv2d.weight"]
    weight[0, 0] = torch.nan
    painted, limits = painter.in_bytes(frames)
    assert limits.isnan().all()
    assert torch.equal(painted[..., 1:], good[0][..., 1:])
    assert not painted[..., 0].any()


def test_a_picture_of_one_value_has_equal_limits(native):
    painter = Painter(native, SHAPES["lite"])
    painter.weights["deconv3.conv2d.weight"].zero_()
    painter.weights["deconv3.conv2d.bias"] = torch.full((3,), -7.25)
    painted, limits = painter.in_bytes(frame(22, 19))
    assert limits.tolist() == [[-7.25, -7.25]]
    assert not painted.any()


@pytest.mark.parametrize("value", [-1e30, -0.5, 0.499, 0.5, 1.5, 254.499, 254.5, 255.5, 1e30])
def test_values_are_rounded_as_pytorch_does(native, value):
    painter = Painter(native, SHAPES["lite"])
    painter.weights["deconv3.conv2d.weight"].zero_()
    painter.weights["deconv3.conv2d.bias"] = torch.tensor([value, value, 7.0])
    frames = frame(16, 16)
    painted, limits = painter.in_bytes(frames)
    expected = of_floats(painter, frames)
    assert torch.equal(painted, expected[0])
    assert torch.equal(limits, expected[1])


def test_threads_and_runs_change_no_bit(native):
    painter, x = Painter(native, SHAPES["full"]), picture(84, 92)
    results = []
    for threads in (1, 2, 3, 4, 8, 1):
        with threads_of_torch(threads):
            results.append(painter(x))
    assert all(torch.equal(results[0], other) for other in results)


@pytest.mark.parametrize("shape", SHAPES)
def test_processors_with_fused_products_paint_the_same_bits(shape):
    x = picture(60, 84)
    first, second = (
        Painter(network(level), SHAPES[shape])(x) for level in ("x86-64-v3", "x86-64-v4")
    )
    assert torch.equal(first, second)


def test_a_batch_is_its_pictures(native):
    painter, x = Painter(native, SHAPES["lite"]), torch.cat([picture(20, 24, n) for n in range(3)])
    batch = painter(x)
    assert torch.equal(batch, torch.cat([painter(each[None]) for each in x]))
    assert batch.is_contiguous(memory_format=torch.channels_last)


def test_layers_are_marked_in_order(native):
    painter = Painter(native, SHAPES["full"])
    painter(picture(16, 16))
    assert painter.marked == [
        *("encoder/conv1", "encoder/conv2", "encoder/conv3"),
        *("residual blocks/res1.conv1", "residual blocks/res1.conv2"),
        *("residual blocks/res2.conv1", "residual blocks/res2.conv2"),
        *("decoder/deconv1", "decoder/deconv2", "decoder/deconv3"),
    ]


def test_a_result_outlives_the_next_picture_and_another_size(native):
    painter = Painter(native, SHAPES["lite"])
    first = painter(picture(24, 24))
    kept = first.clone()
    painter(picture(48, 20))
    again = painter(picture(24, 24))
    assert torch.equal(first, kept)
    assert torch.equal(again, kept)


def test_other_widths_are_refused_in_words():
    assert unsupported(FULL) == unsupported(LITE) == ""
    assert "widths" in unsupported(NetworkShape((24, 64, 128), 9))
