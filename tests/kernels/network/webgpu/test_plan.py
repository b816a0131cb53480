"""The whole network on a GPU: right at every size, on flat and broken pictures, for every style."""

from __future__ import annotations

import random
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from kernels.network.shapes import FULL, LITE, NetworkShape
from kernels.network.webgpu import convolution, last, layers, moments, transform_in, wgsl
from kernels.network.webgpu.adapters import Adapter
from kernels.network.webgpu.device import Device
from kernels.network.webgpu.layers import Network
from kernels.network.webgpu.library import WebGpuError
from kernels.network.webgpu.plan import WebGpuPlan, buffer_sizes, unsupported
from kernels.network.webgpu.weights import Weights
from kernels.self_test.network import random_weights, reference
from tests.helpers.daily import matrix, some_daily

SHAPES = {
    "full": replace(FULL, num_residual_blocks=2),
    "lite": replace(LITE, num_residual_blocks=3),
}
FASTEST_FIRST = [*SHAPES][::-1]
SIZES = [(16, 16), (19, 17), (37, 50), (67, 16), (40, 34)]  # width, height
WAYS = [(True, False), (False, False), (True, True)]  # residual and enlarging layers by Winograd
SMALL = NetworkShape((16, 16, 16), 3, 1)  # compiles fast


class Painter:
    """A network with random weights, on a GPU and in float64. Pictures are [N, H, W, 3]."""

    def __init__(
        self,
        device: Device,
        shape: NetworkShape,
        *,
        half: bool = False,
        winograd: bool = True,
        enlarging: bool = False,
    ) -> None:
        self.state = state_of(shape)
        self.device, self._blocks = device, shape.num_residual_blocks
        self.network = Network.of(shape, half=half, winograd=winograd, enlarging_winograd=enlarging)
        self.weights = Weights(device, self.network, self.state)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self.plan(x)(self.weights, x)

    def plan(self, x: np.ndarray) -> WebGpuPlan:
        return WebGpuPlan(self.device, self.network, (x.shape[2], x.shape[1]))

    def exact(self, x: np.ndarray) -> np.ndarray:
        exact = {name: weight.double() for name, weight in self.state.items()}
        pictures = torch.from_numpy(x).permute(0, 3, 1, 2)
        return reference(exact, self._blocks, pictures).permute(0, 2, 3, 1).numpy()


def state_of(shape: NetworkShape, seed: int = 1) -> dict[str, Tensor]:
    weights = random_weights(shape, torch.Generator().manual_seed(seed))
    weights["deconv3.conv2d.weight"] *= 60  # a picture of the size of photographs
    weights["deconv3.conv2d.bias"] = torch.full((3,), 120.0)
    return weights


def picture(wide: int, high: int, *, count: int = 1, dtype: type = np.uint8) -> np.ndarray:
    numbers = np.random.default_rng(wide).integers(0, 256, (count, high, wide, 3))
    return numbers.astype(dtype)


@matrix(
    {"shape": FASTEST_FIRST, "size": SIZES, "winograd": [True, False], "enlarging": [True, False]},
    meeting=1,
)
def test_the_network_equals_pytorch_in_float64(device, shape, size, winograd, enlarging):
    painter = Painter(device, SHAPES[shape], winograd=winograd, enlarging=enlarging)
    x = picture(*size)
    exact = painter.exact(x)
    assert np.abs(painter(x.astype(np.float32)) - exact).max() < 0.005
    assert np.abs(painter(x) - exact.clip(0, 255)).max() < 0.505


@matrix(
    {"shape": FASTEST_FIRST, "size": SIZES, "winograd": [True, False], "enlarging": [True, False]},
    meeting=1,
)
def test_the_network_in_fp16_is_near_float64(device, shape, size, winograd, enlarging):
    if not device.adapter.half:
        pytest.skip("this GPU has no FP16 in shaders")
    painter = Painter(device, SHAPES[shape], half=True, winograd=winograd, enlarging=enlarging)
    x = picture(*size)
    error = np.square(painter(x.astype(np.float32)) - painter.exact(x)).mean()
    assert 10 * np.log10(255**2 / error) > (56 if winograd else 60), "dB"
    assert np.abs(painter(x) - painter.exact(x).clip(0, 255)).max() < 3


@pytest.mark.parametrize("winograd", [False, True])
def test_sums_in_fp16_are_near_float64(device, winograd):
    if not device.adapter.half:
        pytest.skip("this GPU has no FP16 in shaders")
    painter = Painter(device, SMALL, half=True, winograd=winograd)
    x = picture(37, 50, dtype=np.float32)
    plain = painter(x)
    painter.network = replace(painter.network, sums="fp16")
    painter.weights = Weights(device, painter.network, painter.state)
    found = painter(x)
    assert not np.array_equal(found, plain)
    error = np.square(found - painter.exact(x)).mean()
    assert 10 * np.log10(255**2 / error) > 55, "dB"


def test_sums_in_fp16_need_a_network_in_fp16():
    with pytest.raises(ValueError, match="FP16"):
        Network.of(SMALL, sums="fp16")


@pytest.mark.full
@pytest.mark.parametrize("seed", some_daily(range(40), 0))
def test_random_networks_of_random_sizes_are_right(device, seed):
    draw = random.Random(seed)
    widths = [16 * draw.randint(1, 7) for _ in range(3)]
    shape = NetworkShape(
        (widths[0], widths[1], widths[2]), draw.randrange(1, 16, 2), draw.randint(1, 4)
    )
    ways = [draw.random() < 0.5 for _ in range(2)]
    painter = Painter(device, shape, winograd=ways[0], enlarging=ways[1])
    x = picture(draw.randint(16, 70), draw.randint(16, 50), dtype=np.float32)
    assert np.abs(painter(x) - painter.exact(x)).max() < 0.01


@pytest.mark.parametrize(("winograd", "enlarging"), WAYS)
@pytest.mark.parametrize("shape", some_daily(SHAPES, 1))
def test_pictures_of_one_color_are_exact(device, shape, winograd, enlarging):
    painter = Painter(device, SHAPES[shape], winograd=winograd, enlarging=enlarging)
    # A norm turns a constant into its bias, and the last layer sums its weights. PyTorch's rounding
    # differs from pixel to pixel, and each norm multiplies it by 1 / sqrt(eps), even in float64.
    filters = painter.state["deconv3.conv2d.weight"].double().sum((2, 3))
    expected = (filters @ painter.state["in5.bias"].double().relu() + 120).numpy()
    for color in ((0, 0, 0), (255, 255, 255), (37, 90, 201)):
        x = np.full((1, 38, 53, 3), color, np.float32)
        assert np.abs(painter(x) - expected).max() < 0.0005


@pytest.mark.parametrize(("winograd", "enlarging"), WAYS)
@pytest.mark.parametrize("shape", some_daily(SHAPES, 1))
def test_a_step_of_one_level_is_right_to_a_hundredth(device, shape, winograd, enlarging):
    painter = Painter(device, SHAPES[shape], winograd=winograd, enlarging=enlarging)
    x = np.full((1, 40, 52, 3), 128, np.float32)
    x[:, :, 20:] = 129
    assert np.abs(painter(x) - painter.exact(x)).max() < 0.01


@pytest.mark.parametrize(("winograd", "enlarging"), WAYS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_pixel_that_is_no_number_spoils_the_picture_and_not_the_next(
    device, value, winograd, enlarging
):
    painter = Painter(device, SMALL, winograd=winograd, enlarging=enlarging)
    x = picture(36, 32, dtype=np.float32)
    plan = painter.plan(x)
    before = plan(painter.weights, x)
    broken = x.copy()
    broken[0, 30, 5, 1] = value
    assert np.isnan(plan(painter.weights, broken)).all()
    assert np.array_equal(plan(painter.weights, x), before)


@pytest.fixture
def relu_by_max(monkeypatch):
    """Compute every ReLU by max(), which drops a NaN, as NVIDIA's driver does."""
    shaders = (*(transform_in.transform_in, convolution.convolution, last.last, moments.merging),)
    code = "fn relu(x: vec4<f32>) -> vec4<f32> { return max(x, vec4<f32>()); }"
    for module in (wgsl, moments):
        monkeypatch.setattr(module, "RELU", code)
    for shader in shaders:
        shader.cache_clear()
    yield
    for shader in shaders:
        shader.cache_clear()


@pytest.mark.parametrize(("winograd", "enlarging"), WAYS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_relu_that_drops_nan_does_not_heal_a_picture(
    device, relu_by_max, value, winograd, enlarging
):
    painter = Painter(device, SMALL, winograd=winograd, enlarging=enlarging)
    x = picture(36, 32, dtype=np.float32)
    assert np.isfinite(painter(x)).all()
    x[0, 30, 5, 1] = value
    assert np.isnan(painter(x)).all()


def test_bytes_of_no_number_are_zero(device):
    painter = Painter(device, SMALL)
    painter.state["in1.weight"][3] = torch.nan
    broken = Weights(device, painter.network, painter.state)
    x = picture(16, 20)
    assert not painter.plan(x)(broken, x).any()


def test_a_batch_is_its_pictures(device):
    painter, x = Painter(device, SMALL), picture(21, 18, count=3)
    batch = painter(x)
    assert batch.shape == x.shape
    assert np.array_equal(batch, np.concatenate([painter(each[None]) for each in x]))


def test_layers_in_submissions_of_their_own_change_no_bit(device):
    painter, x = Painter(device, SMALL), picture(21, 18, count=3)
    plan = painter.plan(x)
    by_layer = WebGpuPlan(device, painter.network, (21, 18), longest=0.0)
    assert np.array_equal(plan(painter.weights, x), by_layer(painter.weights, x))


@pytest.mark.full
def test_other_weights_and_other_sizes_need_no_new_pipelines(device):
    painter, x = Painter(device, SMALL), picture(21, 18)
    plan = painter.plan(x)
    before = plan(painter.weights, x)
    compiled = len(device._pipelines)
    state = state_of(SMALL, seed=2)
    other = Weights(device, painter.network, state)
    painted = plan(other, x)
    painter.state = state
    assert np.abs(painted - painter.exact(x).clip(0, 255)).max() < 0.505
    assert np.array_equal(plan(painter.weights, x), before)
    painter(picture(40, 33))
    assert len(device._pipelines) == compiled


def test_two_threads_share_a_device_and_weights(device):
    painter = Painter(device, SMALL)
    pictures = [picture(36, 24), picture(29, 40)]
    alone = [painter(x) for x in pictures]
    wrong = []

    def paint(x: np.ndarray, expected: np.ndarray) -> None:
        plan = painter.plan(x)
        wrong.extend(n for n in range(15) if (plan(painter.weights, x) != expected).any())

    threads = [
        threading.Thread(target=paint, args=pair) for pair in zip(pictures, alone, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.full
def test_checked_shaders_paint_the_same_bits(adapter, device):
    x = picture(21, 18)
    checked = Device(adapter, trusted=False)
    try:
        assert np.array_equal(Painter(checked, SMALL)(x), Painter(device, SMALL)(x))
    finally:
        checked.close()


def test_times_are_measured_by_group_and_by_layer(device):
    if not device.adapter.timed:
        pytest.skip("this GPU does not measure times")
    painter, x = Painter(device, SMALL), picture(21, 18)
    plan = painter.plan(x)
    plan(painter.weights, x)
    groups = plan.times(painter.weights)
    assert [*groups] == ["encoder", "residual blocks", "decoder"]
    assert all(each > 0 for each in groups.values())
    assert [*plan.times(painter.weights, str)] == [*plan.layers]
    assert plan.layers == (
        *("encoder/conv1", "encoder/conv2", "encoder/conv3"),
        *("residual blocks/res1.conv1", "residual blocks/res1.conv2"),
        *("decoder/deconv1", "decoder/deconv2", "decoder/deconv3"),
    )


def test_a_lost_device_is_an_error_in_words(adapter, caplog):
    lost = Device(adapter)
    painter, x = Painter(lost, SMALL), picture(16, 16)
    plan = painter.plan(x)
    plan(painter.weights, x)
    lost.close()
    with pytest.raises(WebGpuError, match="lost"):
        plan(painter.weights, x)
    caplog.clear()  # wgpu logs it


class Limited(Device):
    """A device with another adapter's description; it must not be used."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter


def test_unsupported_pictures_and_gpus_are_refused_in_words(adapter):
    small, full = Network.of(SMALL), Network.of(FULL)
    device = Limited(adapter)
    assert unsupported(small, (16, 16), device) == ""
    assert "16 pixels" in unsupported(small, (15, 200), device)
    without = Limited(replace(adapter, half=False))
    assert "FP16" in unsupported(replace(small, half=True), (16, 16), without)
    limit = buffer_sizes(full, (640, 480), None)["full"]
    assert unsupported(full, (640, 480), Limited(replace(adapter, binding_bytes=limit))) == ""
    tight = Limited(replace(adapter, binding_bytes=limit - 1))
    assert "too large" in unsupported(full, (640, 480), tight)
    with pytest.raises(ValueError, match="too large"):
        WebGpuPlan(tight, full, (640, 480))


@pytest.mark.parametrize("half", some_daily([False, True], 1))
def test_bands_paint_the_picture_of_whole_layers(device, monkeypatch, half):
    painter = Painter(device, SMALL, half=half, enlarging=True)
    x = picture(200, 131)
    whole = painter(x)
    monkeypatch.setattr("kernels.network.webgpu.plan.BAND_BYTES", 1)
    assert np.abs(painter(x).astype(int) - whole).max() <= 1


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("tiles", [1, 64, 65, 1000, 14651])
def test_bands_have_each_tile_once_and_fit_their_buffers(tiles, half):
    network = Network.of(FULL, half=half)
    assert network.bands(network.decoder[1], tiles, None) == [(0, tiles)]
    for layer, of_tile in ((network.blocks[0][0], 36 * 128), (network.decoder[1], 25 * 128)):
        for most in (1 << 21, 1 << 24, 1 << 40):
            bands = network.bands(layer, tiles, most)
            places = [place for first, count in bands for place in range(first, first + count)]
            assert places == [*range(tiles)]
            assert max(count for _, count in bands) * of_tile * (2 if half else 4) <= most


def test_other_widths_are_refused_in_words(adapter):
    assert layers.unsupported(FULL) == layers.unsupported(LITE) == ""
    narrow = NetworkShape((20, 64, 128), 9)
    assert "widths" in layers.unsupported(narrow)
    assert "widths" in unsupported(Network.of(narrow), (16, 16), Limited(adapter))
