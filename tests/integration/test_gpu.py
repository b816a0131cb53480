"""Properties that only a GPU shows: the engine's pictures, timings and step-down on CUDA."""

from __future__ import annotations

import itertools
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from app.engine.engine import Engine
from app.engine.post.blending import peak_difference
from app.engine.process_mode import ProcessMode
from app.frame import Frame
from app.styles.catalog import BUILTIN
from kernels.network.dispatch import plan_for, unavailable_reason
from kernels.network.plan import NetworkPlan
from models.checkpoints import load_checkpoint
from models.inference.frame_pipeline import PipelinedRunner, SingleFrameRunner, is_broken
from models.network_config import FULL, LITE, network_config
from models.precision import Precision
from models.transformer_net import VARIANTS, TransformerNetBaseline
from tests.conftest import picture
from tests.kernels.network.ptx import turing_network

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("native_kernels")]


@pytest.fixture
def notices():
    return []


@pytest.fixture
def engine(catalog, notices):
    return Engine(catalog, notices.append)


@pytest.fixture
def gpu(config):
    return replace(config, device="cuda:0", size=None)


@pytest.mark.parametrize("precision", list(Precision), ids=lambda p: p.name)
@pytest.mark.parametrize("kernels", VARIANTS)
def test_the_gpu_paints_what_the_cpu_paints(engine, config, gpu, kernels, precision):
    frame = Frame(picture(199, 131))
    engine.configure(replace(config, kernels="baseline", size=199))
    expected = engine.process(frame).frame.pixels.astype(float)
    engine.configure(replace(gpu, kernels=kernels, precision=precision, size=199))
    actual = engine.process(frame).frame.pixels.astype(float)
    error = np.square(actual - expected).mean()
    psnr = 10 * np.log10(255**2 / error) if error else np.inf
    assert psnr > (48 if precision is Precision.fp32 else 33), psnr


@pytest.mark.parametrize("kernels", VARIANTS)
def test_a_sharper_size_is_painted_as_on_the_cpu(engine, config, gpu, kernels, monkeypatch):
    """The network alternates between two sizes: one plan must not overwrite the other's picture."""
    frame, made = Frame(picture(1280, 720)), []
    for each in (config, gpu, gpu):
        engine.configure(replace(each, kernels=kernels, size=None))
        engine.process(frame, ProcessMode.SINGLE)
        styled = engine.process(frame, ProcessMode.REFINE)
        assert styled.size == (1280, 720)
        made.append(styled.frame.pixels.astype(float))
    error = np.square(made[1] - made[0]).mean()
    assert 10 * np.log10(255**2 / error) > 48
    assert np.array_equal(made[1], made[2]), "bit-equal from run to run"


@pytest.mark.parametrize("precision", list(Precision), ids=lambda p: p.name)
def test_baseline_and_fused_agree_within_the_stated_bound(engine, gpu, precision):
    engine.configure(replace(gpu, precision=precision, compare=True))
    comparison = engine.process(Frame(picture(320, 240))).comparison
    assert comparison.agrees, (comparison.difference, comparison.psnr, comparison.bound)


@pytest.mark.parametrize("network", ["full", "lite"])
def test_a_difference_is_measured_on_the_gpu_and_is_that_of_the_cpu(
    engine, gpu, network, monkeypatch
):
    compared: list[tuple[torch.Tensor, torch.Tensor]] = []

    def watched(a: torch.Tensor, b: torch.Tensor) -> tuple[float, float]:
        compared.append((a, b))
        return peak_difference(a, b)

    monkeypatch.setattr("app.engine.comparison.peak_difference", watched)
    engine.configure(replace(gpu, network=network, precision=Precision.fp16, compare=True))
    comparison = engine.process(Frame(picture(640, 480))).comparison
    assert all(each.is_cuda for pair in compared for each in pair)
    on_the_cpu = [peak_difference(a.cpu(), b.cpu()) for a, b in compared]
    assert comparison.difference == max(largest for largest, _ in on_the_cpu)
    assert comparison.psnr == pytest.approx(min(psnr for _, psnr in on_the_cpu), rel=1e-5)


def test_the_groups_come_from_events_and_add_up_to_the_network(engine, gpu):
    engine.configure(gpu)
    styled = [engine.process(Frame(picture(640, 480))) for _ in range(5)][-1]
    groups = dict(styled.timings.groups)
    assert list(groups) == ["encoder", "residual blocks", "decoder"]
    assert all(ms > 0 for ms in groups.values())
    assert sum(groups.values()) == pytest.approx(styled.timings.network, rel=0.2)


@pytest.mark.parametrize("network", ["full", "lite"])
@pytest.mark.parametrize("mode", [ProcessMode.LIVE, ProcessMode.REFINE], ids=str)
def test_every_layer_is_timed_on_request_and_the_picture_is_the_same(engine, gpu, network, mode):
    frame = Frame(picture(640, 480))
    engine.configure(replace(gpu, network=network, size=640, precision=Precision.fp16))
    expected = engine.process(frame, mode).frame.pixels
    engine.time_layers(True)
    styled = [engine.process(frame, mode) for _ in range(3)][-1]
    layers, groups = dict(styled.timings.layers), dict(styled.timings.groups)
    assert np.array_equal(styled.frame.pixels, expected)
    assert list(layers)[:3] == [f"encoder/conv{number}" for number in (1, 2, 3)]
    assert list(layers)[-3:] == [f"decoder/deconv{number}" for number in (1, 2, 3)]
    assert all(ms > 0 for ms in layers.values())
    assert sum(layers.values()) == pytest.approx(sum(groups.values()))
    assert sum(layers.values()) == pytest.approx(styled.timings.network, rel=0.2)
    engine.time_layers(False)
    after = engine.process(frame, mode)
    assert after.timings.layers == ()
    assert np.array_equal(after.frame.pixels, expected)


def test_a_launch_of_the_native_network_is_a_row(engine, gpu):
    if unavailable_reason(FULL, torch.device("cuda:0"), torch.float16):
        pytest.skip("no native network for this GPU")
    engine.configure(replace(gpu, network="full", size=640, precision=Precision.fp16))
    engine.time_layers(True)
    layers = dict(engine.process(Frame(picture(640, 480))).timings.layers)
    assert len(layers) == 16
    assert "residual blocks/res5.conv2" in layers


def test_what_runs_names_the_gpu_and_why_nothing_faster_does(engine, gpu, native_kernels):
    for precision in Precision:
        engine.configure(replace(gpu, precision=precision))
        running = engine.process(Frame(picture())).running
        assert torch.cuda.get_device_name(0) in running.device
        reason = unavailable_reason(FULL, torch.device("cuda:0"), precision.value.dtype)
        remark = precision.remark(torch.device("cuda:0")) if precision is Precision.int8 else ""
        assert running.limitations == tuple(filter(None, (reason, remark)))


STYLES = sorted(folder.name for folder in BUILTIN.iterdir() if (folder / "style.toml").exists())


def network_of(style, variant, dtype, weights="weights") -> Any:
    state = load_checkpoint(BUILTIN / style / f"{weights}.safetensors")
    network = VARIANTS[variant](**asdict(network_config(state)))
    network.load_state_dict(state)
    return network.requires_grad_(False).to("cuda", dtype)


@pytest.fixture(scope="module")
def candy():
    return partial(network_of, "candy")


@pytest.fixture
def full_precision(monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)


def pictures(count, height, width):
    stack = [torch.from_numpy(picture(width, height, seed)) for seed in range(count)]
    return torch.stack(stack).permute(0, 3, 1, 2).cuda()


WEIGHTS = ["weights", "lite"]  # a style's files: its full and its lite network


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    "shape", [(1, 16, 16), (1, 17, 35), (3, 64, 96), (1, 131, 199), (1, 480, 640)], ids=str
)
def test_the_native_network_is_as_near_to_float64_as_pytorch(
    candy, native_kernels, shape, dtype, weights
):
    x, fused = pictures(*shape), candy("fused", dtype, weights)
    with torch.inference_mode():
        exact = candy("baseline", torch.float64, weights)(x.double())
        theirs = candy("baseline", dtype, weights)(x.to(dtype)).double()
        ours = fused(x.to(dtype).contiguous(memory_format=torch.channels_last))
        assert isinstance(fused.plan(shape, x.device), NetworkPlan)
    assert unavailable_reason(fused.shape, x.device, dtype) == ""
    assert ours.shape == exact.shape
    ours = ours.double()
    assert (ours - exact).abs().max() <= 2 * (theirs - exact).abs().max() + 1e-3
    assert (ours - exact).square().mean() <= 2 * (theirs - exact).square().mean()


FP32_BOUNDS = pytest.mark.parametrize(
    ("tf32", "bound"), [(False, 2e-4), (True, 1e-2)], ids=["FP32", "TF32"]
)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("style", STYLES)
@FP32_BOUNDS
def test_in_fp32_every_value_is_within_its_bound(
    style, native_kernels, monkeypatch, tf32, bound, weights
):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", tf32)
    x, fused = pictures(1, 203, 330), network_of(style, "fused", torch.float32, weights)
    with torch.inference_mode():
        expected = network_of(style, "baseline", torch.float64, weights)(x.double())
        actual = fused(x.float()).double()
        assert isinstance(fused.plan((1, 203, 330), x.device), NetworkPlan)
    assert (actual - expected).abs().max() <= bound * expected.abs().max()


@pytest.mark.parametrize("weights", WEIGHTS)
def test_amp_runs_the_native_network(candy, native_kernels, full_precision, weights):
    x, fused = pictures(1, 203, 330).float(), candy("fused", torch.float32, weights)
    with torch.inference_mode():
        expected = candy("baseline", torch.float64, weights)(x.double())
        with torch.autocast("cuda", torch.float16):
            actual = fused(x).double()
            assert isinstance(fused.plan((1, 203, 330), x.device), NetworkPlan)
    assert (actual - expected).abs().max() <= 1e-2 * expected.abs().max()


# Every bundled style, against float64 on 0-255. Without a native network for the GPU, it runs layer
# by layer.


@pytest.mark.parametrize("size", [(240, 320), (203, 331)], ids=str)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("style", STYLES)
def test_every_style_is_right_end_to_end(style, weights, size, native_kernels, full_precision):
    x = pictures(1, *size)

    def painted(variant, dtype):
        with torch.inference_mode():
            picture = network_of(style, variant, dtype, weights)(x.to(dtype))
        return picture.double().clamp(0, 255)

    exact = painted("baseline", torch.float64)
    assert (painted("fused", torch.float32) - exact).abs().max() <= 0.07
    for dtype, least_db in ((torch.float16, 45), (torch.bfloat16, 38)):
        error = float((painted("fused", dtype) - exact).square().mean())
        assert 10 * np.log10(255**2 / error) >= least_db, dtype


# The weights file and the backend, by default the fastest.
PLANS = {
    "fastest": ("weights", ""),
    "sm80": ("weights", "sm80"),
    "sm80-small": ("weights", "sm80-small"),
    "sm75": ("weights", "sm75"),
    "lite": ("lite", ""),
    "lite sm75": ("lite", "sm75"),
}


def state_of(plan):
    return load_checkpoint(BUILTIN / "candy" / f"{PLANS[plan][0]}.safetensors")


def made(plan, shape, dtype=torch.float16, state=None, *, tf32=False):
    """Return a plan of Candy, or of another state dict for the same network."""
    state = state or state_of(plan)
    network, device, backend = network_config(state), torch.device("cuda:0"), PLANS[plan][1]
    library = turing_network() if backend == "sm75" else None
    if backend == "sm75" and dtype is not torch.float16:
        pytest.skip("the layers for Turing run in FP16")
    return plan_for(state, network, shape, dtype, device, library, tf32=tf32, backend=backend)


@pytest.mark.parametrize(
    ("dtype", "tf32"),
    [(torch.float16, False), (torch.float32, True), (torch.float32, False)],
    ids=["FP16", "TF32", "FP32"],
)
@pytest.mark.parametrize("plan", PLANS)
def test_bytes_are_the_rounded_picture(native_kernels, plan, dtype, tf32):
    x = pictures(2, 131, 199)
    with torch.inference_mode():
        plan = made(plan, (2, 131, 199), dtype, tf32=tf32)
        expected = plan(x.to(dtype)).permute(0, 2, 3, 1).float().clamp(0, 255)
        plan.frames.copy_(x.permute(0, 2, 3, 1))
        plan.replay()
    assert (plan.pictures.float() - expected).abs().max() <= 0.51
    assert not is_broken(plan.ranges.cpu())


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 0.0])
def test_a_broken_picture_is_told_from_its_range(native_kernels, plan, bad):
    state = dict(state_of(plan))
    for part in ("weight", "bias"):  # zero makes the whole picture constant
        name = f"deconv3.conv2d.{part}"
        state[name] = torch.full_like(state[name], bad)
    with torch.inference_mode():
        shape = 1, 64, 96
        plan = made(plan, shape, state=state)
        plan.frames.copy_(pictures(*shape).permute(0, 2, 3, 1))
        plan.replay()
    assert is_broken(plan.ranges.cpu())


@pytest.mark.parametrize(
    ("plan", "dtype"),
    [
        *itertools.product(["sm80", "sm80-small"], [torch.float16, torch.bfloat16]),
        ("sm75", torch.float16),
    ],
    ids=str,
)
@pytest.mark.parametrize("shape", [(1, 17, 35), (3, 64, 96), (1, 480, 640)], ids=str)
def test_the_general_network_is_as_near_to_float64_as_pytorch(
    candy, native_kernels, plan, shape, dtype
):
    x = pictures(*shape)
    with torch.inference_mode():
        exact = candy("baseline", torch.float64)(x.double())
        theirs = candy("baseline", dtype)(x.to(dtype)).double()
        ours = made(plan, shape, dtype)(x.to(dtype)).double()
    assert (ours - exact).abs().max() <= 2 * (theirs - exact).abs().max() + 1e-3
    assert (ours - exact).square().mean() <= 2 * (theirs - exact).square().mean()


@FP32_BOUNDS
@pytest.mark.parametrize("shape", [(1, 17, 35), (3, 64, 96), (1, 480, 640)], ids=str)
@pytest.mark.parametrize("plan", ["sm80", "sm80-small"])
def test_in_fp32_every_value_of_the_sm80_network_is_within_its_bound(
    candy, native_kernels, plan, shape, tf32, bound
):
    x = pictures(*shape)
    with torch.inference_mode():
        expected = candy("baseline", torch.float64)(x.double())
        actual = made(plan, shape, torch.float32, tf32=tf32)(x.float()).double()
    assert (actual - expected).abs().max() <= bound * expected.abs().max()


@pytest.mark.parametrize("tf32", [False, True], ids=["FP32", "TF32"])
@pytest.mark.parametrize("plan", ["sm80", "sm80-small", "lite"])
def test_two_runs_of_the_sm80_network_in_fp32_are_bit_equal(native_kernels, plan, tf32):
    x = pictures(1, 200, 312).float()
    with torch.inference_mode():
        plan = made(plan, (1, 200, 312), torch.float32, tf32=tf32)
        first = plan(x).clone()
        assert all(torch.equal(first, plan(x)) for _ in range(20))


@pytest.mark.parametrize("plan", ["fastest", "lite"])
def test_overlapped_frames_are_those_of_one_after_another(native_kernels, plan):
    frames = [picture(200, 120, seed) for seed in range(12)]
    with torch.inference_mode():
        plan = made(plan, (1, 120, 200))
        path = SingleFrameRunner(plan)
        expected = [path.style(frame).pixels for frame in frames]
        overlapped = [result.pixels.copy() for result in PipelinedRunner(plan).styled(frames)]
    assert len(overlapped) == len(frames)
    for one, other in zip(expected, overlapped, strict=True):
        assert np.array_equal(one, other)


DTYPES = [
    ("weights", torch.float16),
    ("weights", torch.bfloat16),
    ("weights", torch.float32),
    ("lite", torch.float16),
    ("lite", torch.bfloat16),
    ("lite", torch.float32),
]


@pytest.mark.parametrize(("weights", "dtype"), DTYPES, ids=str)
def test_two_runs_are_bit_equal(candy, native_kernels, weights, dtype):
    network, x = candy("fused", dtype, weights), pictures(1, 200, 312).to(dtype)
    with torch.inference_mode():
        first = network(x).clone()
        assert all(torch.equal(first, network(x)) for _ in range(20))


@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_native_network_follows_its_weights(candy, native_kernels, weights):
    network, x = candy("fused", torch.float16, weights), pictures(1, 64, 64).half()
    with torch.inference_mode():
        before = network(x)
    network.load_state_dict({k: v * 0.9 for k, v in network.state_dict().items()})
    other = VARIANTS["baseline"](**asdict(network.shape)).cuda().half()
    other.load_state_dict(network.state_dict())
    with torch.inference_mode():
        after, expected = network(x), other(x)
    assert not torch.equal(before, after)
    assert (after - expected).abs().max() < 2


@pytest.mark.parametrize("network", [FULL, LITE], ids=["full", "lite"])
@pytest.mark.parametrize("blocks", [1, 2, 7])
def test_the_native_network_has_any_number_of_residual_blocks(native_kernels, blocks, network):
    torch.manual_seed(blocks)
    config = asdict(replace(network, num_residual_blocks=blocks))
    baseline = VARIANTS["baseline"](**config).requires_grad_(False).cuda().half()
    fused = VARIANTS["fused"](**config).requires_grad_(False).cuda().half()
    fused.load_state_dict(baseline.state_dict())
    x = pictures(1, 72, 104).half()
    with torch.inference_mode():
        expected, actual = baseline(x), fused(x)
    assert (actual - expected).abs().max() <= 0.02 * expected.abs().max()


def test_gradients_go_through_pytorch(candy, native_kernels):
    network = candy("fused", torch.float16).requires_grad_(True)
    network(pictures(1, 32, 32).half()).mean().backward()
    assert network.conv2.conv2d.weight.grad is not None


def test_a_broken_half_precision_picture_steps_down_on_the_gpu(engine, gpu, notices, monkeypatch):
    forward = TransformerNetBaseline.forward
    monkeypatch.setattr(
        TransformerNetBaseline,
        "forward",
        lambda self, x, mark=None: (
            forward(self, x, mark) * (torch.nan if x.dtype is torch.float16 else 1)
        ),
    )
    engine.configure(replace(gpu, kernels="baseline", precision=Precision.fp16))
    styled = engine.process(Frame(picture()))
    assert styled.running.precision is Precision.bf16
    assert len(notices) == 1
