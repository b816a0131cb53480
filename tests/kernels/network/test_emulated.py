"""Run thread by thread on the CPU, the mma.sync kernels paint the same pictures as PyTorch.

This cannot show concurrent blocks or speed.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from ctypes import c_void_p
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from app.sources.scene import render
from kernels.driver.compiling import sources_of
from kernels.driver.driver import Driver
from kernels.jit.libraries import FOLDER, LIBRARIES
from kernels.network import launchers, sm80
from kernels.network.calibration import ranges
from kernels.network.ends import Sm80Ends
from kernels.network.gpu import Gpu
from kernels.network.launchers import Network
from kernels.network.shapes import WITH_KERNELS
from kernels.network.sm80 import Sm80Plan
from kernels.network.sm80_int8 import Sm80Int8Plan
from kernels.self_test.network import random_weights, reference
from models.checkpoints import load_checkpoint
from models.inference.vit.native_plan import NativeVitPlan, dimensions, end_weights
from models.inference.vit.parts import VitParts
from models.inference.vit.plan import CODE
from models.inference.vit.weights import prepare
from models.vit_config import VitConfig
from models.vit_style_transfer import StyleForgeTransformer
from tests.kernels.driver.standins import write_images
from tests.kernels.network import int8_reference
from tests.kernels.network.emulated import (
    SOURCES,
    EmulatedKernels,
    EmulatedLibrary,
    with_fp16_sums,
)

# On a busy machine, a test waits a minute for the compiler.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

SHAPE = 2, 21, 38  # pictures, height, width: none is a multiple of a tile
BLOCKS = 2
# By precision: the dtype of activations, and the minimum PSNR against float64. FP32 is less exact
# on a GPU, whose tensor cores truncate sums.
PRECISIONS = {
    "fp16": (torch.float16, 55),
    "bf16": (torch.bfloat16, 37),
    "tf32": (torch.float32, 58),
    "fp32": (torch.float32, 109),
    "int8": (torch.float16, 21),  # for white noise; see below for pictures
}
# Network, precision, and layers: "wide" has the wide tiles, "small" needs less shared memory. Other
# cases compile other kernels, for seconds each.
CASES = [
    ("lite", "fp16", "sm80"),
    ("lite", "fp16", "wide"),
]
OTHER_CASES = [
    ("lite", "fp32", "sm80"),
    ("lite", "fp16", "sm75"),
    ("lite", "bf16", "sm80"),
    ("lite", "tf32", "sm80"),
    ("full", "fp16", "wide"),
    ("full", "fp16", "small"),
    ("full", "tf32", "wide"),
    ("full", "fp32", "small wide"),
    ("full", "int8", "sm80"),
    ("full", "int8", "small wide"),
    ("lite", "fp16", "Fp16Sums"),
    ("full", "fp16", "wide Fp16Sums"),
    ("full", "fp16", "sm80"),
    ("full", "fp16", "sm75"),
    ("full", "tf32", "sm80"),
    ("full", "tf32", "small"),
    ("full", "fp32", "sm80"),
    ("full", "fp32", "wide"),
    ("full", "fp32", "small"),
    ("full", "int8", "wide"),
]
CASES += [pytest.param(*case, marks=pytest.mark.full) for case in OTHER_CASES]
CPU = torch.device("cpu")
STYLES = FOLDER.parent / "assets" / "styles"


@pytest.fixture(scope="module")
def kernels(description, tmp_path_factory):
    sources = {source.name: source for source in sources_of(LIBRARIES["network"], description)}
    found = [kernel for source in SOURCES for kernel in sources[source].kernels]
    large = [kernel for kernel in found if "Small" not in kernel and "sm75" not in kernel]
    names = dict.fromkeys((*found, *map(with_fp16_sums, large)))
    return EmulatedKernels(tmp_path_factory.mktemp("emulated"), names)


@pytest.fixture
def emulated(kernels, monkeypatch):
    library = EmulatedLibrary(kernels)
    monkeypatch.setattr(launchers, "DriverLibrary", lambda *_: library)
    monkeypatch.setattr(torch.cuda, "device", lambda _device: nullcontext())
    return library


@pytest.fixture
def network(emulated, description, stub_path, tmp_path):
    images, driver = write_images("network", description, tmp_path), Driver(str(stub_path))
    return Network(images, tmp_path, (9, 0), 0, driver)


@pytest.fixture
def plan_of(network, monkeypatch):
    # Few multiprocessors, so that a block computes several tiles.
    gpu = Gpu((8, 0), 166_912, 167_936, 1)
    monkeypatch.setattr(Gpu, "of", lambda _device: gpu)

    def made(name, precision, layers="sm80"):
        monkeypatch.setattr(sm80, "COST_OF_WIDE_TILE", 0 if "wide" in layers else math.inf)
        shape = replace(WITH_KERNELS[name], num_residual_blocks=BLOCKS)
        weights = random_weights(shape, torch.Generator().manual_seed(0))
        # Pictures from dark to bright.
        weights["deconv3.conv2d.weight"] *= 120
        weights["deconv3.conv2d.bias"] += 100
        dtype, tf32 = PRECISIONS[precision][0], precision == "tf32"
        if precision == "int8":
            return Sm80Int8Plan(weights, shape, SHAPE, CPU, network, "small" in layers), weights
        told = network.abi.sm75 if layers == "sm75" else None
        arguments = weights, shape, SHAPE, dtype, CPU, network, "small" in layers, tf32, told
        return Sm80Plan(*arguments), weights

    return made


def frames() -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randint(0, 256, (*SHAPE, 3), dtype=torch.uint8, generator=generator)


def run(plan: Sm80Plan, in_bytes: bool) -> None:
    plan.frames.copy_(frames())
    plan._x.copy_(frames())
    for step in plan.steps():
        step(c_void_p(), in_bytes)


def exact(weights: dict[str, torch.Tensor]) -> torch.Tensor:
    doubled = {name: weight.double() for name, weight in weights.items()}
    return reference(doubled, BLOCKS, frames().permute(0, 3, 1, 2)).permute(0, 2, 3, 1)


@pytest.mark.parametrize(("name", "precision", "layers"), CASES, ids=str)
@torch.inference_mode()
def test_a_network_is_right_to_its_rounding(plan_of, emulated, name, precision, layers):
    plan, weights = plan_of(name, precision, layers)
    emulated.fp16_sums = "Fp16Sums" in layers
    run(plan, False)
    expected = exact(weights)
    error = float((plan._y.double() - expected).square().mean() / expected.square().mean())
    assert -10 * math.log10(error) > PRECISIONS[precision][1]
    words = {"Wide": "wide", "Small": "small", "sm75": "sm75", "Fp16Sums": "Fp16Sums"}
    for word, of in words.items():
        assert any(word in kernel for kernel in emulated.launched) == (of in layers)


@pytest.mark.parametrize(
    "precision",
    ["fp16", *(pytest.param(name, marks=pytest.mark.full) for name in ("tf32", "fp32"))],
)
@torch.inference_mode()
def test_bytes_are_the_rounded_picture_and_its_range_is_told(plan_of, precision):
    plan, _ = plan_of("lite", precision)
    run(plan, False)
    run(plan, True)
    painted = plan._y.float()
    assert painted.min() < 0 < 255 < painted.max()
    assert (plan.pictures.float() - painted.clamp(0, 255)).abs().max() <= 0.51
    told = [value if value >= 0 else value ^ 0x7FFFFFFF for value in plan.ranges[0, :2].tolist()]
    low, high = torch.tensor(told, dtype=torch.int32).view(torch.float32).tolist()
    assert low == pytest.approx(float(painted[0].min()), rel=1e-3)
    assert high == pytest.approx(float(painted[0].max()), rel=1e-3)


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "precision", "layers"),
    [
        ("lite", "fp16", "sm80"),
        *(
            pytest.param(*case, marks=pytest.mark.full)
            for case in (
                ("lite", "bf16", "sm80"),
                ("lite", "tf32", "sm80"),
                ("lite", "fp32", "sm80"),
                ("full", "int8", "sm80"),
                ("full", "int8", "wide"),
                ("lite", "fp16", "sm75"),
                ("full", "fp16", "sm75"),
            )
        ),
    ],
)
@torch.inference_mode()
def test_the_order_of_warps_and_earlier_runs_change_no_bit(
    plan_of, emulated, name, precision, layers
):
    plan, _ = plan_of(name, precision, layers)
    run(plan, False)
    first = plan._y.clone()
    emulated.in_turn = True
    run(plan, False)
    assert torch.equal(plan._y, first)


@pytest.mark.full
@pytest.mark.parametrize(("style", "wide"), [("candy", False), ("starry_night", True)])
@torch.inference_mode()
def test_a_style_in_integers_is_near_the_exact_one(network, plan_of, monkeypatch, style, wide):
    monkeypatch.setattr(sm80, "COST_OF_WIDE_TILE", 0 if wide else math.inf)
    weights = load_checkpoint(STYLES / style / "weights.safetensors")
    frame = torch.from_numpy(render(0.3, 64, 64))[None]
    plan = Sm80Int8Plan(weights, WITH_KERNELS["full"], (1, 64, 64), CPU, network)
    plan._x.copy_(frame)
    for step in plan.steps():
        step(c_void_p(), False)
    painted = plan._y.permute(0, 3, 1, 2)
    doubled = {name: weight.double() for name, weight in weights.items()}
    x = frame.permute(0, 3, 1, 2).double()
    assert int8_reference.psnr(painted, int8_reference.paint(doubled, None, 5, x)) > 40
    # Closer to PyTorch with the same integers, except for values next to a half.
    found = ranges(weights, WITH_KERNELS["full"], CPU)
    integers = int8_reference.paint(doubled, found, 5, x)
    assert int8_reference.psnr(painted, integers) > 44


@pytest.mark.full
@torch.inference_mode()
def test_weights_that_are_not_finite_show_in_the_picture_of_integers(plan_of):
    plan, weights = plan_of("full", "int8")
    weights["res1.conv1.conv2d.weight"][0, 0, 0, 0] = torch.inf
    plan.set_weights(weights)
    run(plan, True)
    assert plan.ranges[:, 2].tolist() == [1, 1]


@pytest.mark.full
@torch.inference_mode()
def test_other_weights_are_followed(plan_of):
    plan, weights = plan_of("lite", "fp32")
    run(plan, False)
    before = plan._y.clone()
    plan.set_weights({name: weight * 0.9 for name, weight in weights.items()})
    run(plan, False)
    assert not torch.equal(plan._y, before)
    plan.set_weights(weights)
    run(plan, False)
    assert torch.equal(plan._y, before)


@pytest.mark.full
@pytest.mark.parametrize(("precision", "least"), [("fp16", 50), ("bf16", 31)])
@torch.inference_mode()
def test_an_any_style_network_between_these_layers_is_right_to_its_rounding(
    network, monkeypatch, precision, least
):
    gpu = Gpu((8, 0), 166_912, 167_936, 1)
    monkeypatch.setattr(Gpu, "of", lambda _device: gpu)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=0))
    config = VitConfig(32, 2, 48, 1, 2, 16)  # with the widths of the native network
    torch.manual_seed(0)
    painter = StyleForgeTransformer(config).requires_grad_(False)
    for parameter in painter.parameters():
        parameter.add_(0.02 * torch.randn_like(parameter))
    dtype = PRECISIONS[precision][0]
    weights = prepare(painter.state_dict(), config, dtype, CPU)
    ends = Sm80Ends(end_weights(weights), dimensions(config), SHAPE, dtype, CPU, network)
    plan = NativeVitPlan(VitParts(config, weights), ends)
    code = torch.randn(2, 1, 16)
    for style in (0, 1):
        plan.set_weights({CODE: code[style]})
        plan.frames.copy_(frames())
        plan._x.copy_(frames())
        expected = painter.double().stylize(
            frames().permute(0, 3, 1, 2).double(), code[style].double()
        )
        for in_bytes in (False, True):
            plan._prepared("", in_bytes)()
        painted = plan._y.double().permute(0, 3, 1, 2)
        error = float((painted - expected).square().mean() / expected.square().mean())
        assert -10 * math.log10(error) > least
        apart = plan.pictures.double() - plan._y.double().clamp(0, 255)
        assert float(apart.abs().max()) <= 0.51 if precision == "fp16" else 1.1
