"""What only a GPU can show: the engine's pictures, timings and step-down on CUDA."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from app.engine import Engine
from app.frames import Frame
from app.styles import BUILTIN
from kernels.network_plan import why_not
from models.checkpoints import load_checkpoint
from models.precision import Precision
from models.transformer_net import VARIANTS, TransformerNetBaseline
from tests.conftest import picture

pytestmark = pytest.mark.gpu


@pytest.fixture
def notices():
    return []


@pytest.fixture
def engine(library, notices):
    return Engine(library, notices.append)


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


@pytest.mark.parametrize("precision", list(Precision), ids=lambda p: p.name)
def test_baseline_and_fused_agree_within_the_stated_bound(engine, gpu, precision):
    engine.configure(replace(gpu, precision=precision, compare=True))
    comparison = engine.process(Frame(picture(320, 240))).comparison
    assert comparison.agrees, (comparison.difference, comparison.psnr, comparison.bound)


def test_the_groups_come_from_events_and_add_up_to_the_network(engine, gpu):
    engine.configure(gpu)
    styled = [engine.process(Frame(picture(640, 480))) for _ in range(5)][-1]
    groups = dict(styled.timings.groups)
    assert list(groups) == ["encoder", "residual blocks", "decoder"]
    assert all(ms > 0 for ms in groups.values())
    assert sum(groups.values()) == pytest.approx(styled.timings.network, rel=0.2)


def test_what_runs_names_the_gpu_and_why_fp32_is_not_native(engine, gpu, native_kernels):
    engine.configure(gpu)
    running = engine.process(Frame(picture())).running
    assert torch.cuda.get_device_name(0) in running.device
    assert any("FP32" in remark for remark in running.remarks)
    engine.configure(replace(gpu, precision=Precision.fp16))
    assert engine.process(Frame(picture())).running.remarks == ()


@pytest.fixture(scope="module")
def candy():
    state = load_checkpoint(BUILTIN / "candy" / "weights.safetensors")

    def build(variant, dtype):
        network = VARIANTS[variant]()
        network.load_state_dict(state)
        return network.requires_grad_(False).to("cuda", dtype)

    return build


def pictures(count, height, width):
    stack = [torch.from_numpy(picture(width, height, seed)) for seed in range(count)]
    return torch.stack(stack).permute(0, 3, 1, 2).cuda()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    "shape", [(1, 16, 16), (1, 17, 35), (3, 64, 96), (1, 131, 199), (1, 480, 640)], ids=str
)
def test_the_native_network_is_as_near_to_float64_as_pytorch(candy, native_kernels, shape, dtype):
    x = pictures(*shape)
    with torch.inference_mode():
        exact = candy("baseline", torch.float64)(x.double())
        theirs = candy("baseline", dtype)(x.to(dtype)).double()
        ours = candy("fused", dtype)(x.to(dtype).contiguous(memory_format=torch.channels_last))
    assert why_not(x.device, dtype) == ""
    assert ours.shape == exact.shape
    ours = ours.double()
    assert (ours - exact).abs().max() <= 2 * (theirs - exact).abs().max() + 1e-3
    assert (ours - exact).square().mean() <= 2 * (theirs - exact).square().mean()


def test_two_runs_are_bit_equal(candy, native_kernels):
    network, x = candy("fused", torch.float16), pictures(1, 200, 312).half()
    with torch.inference_mode():
        assert torch.equal(network(x), network(x))


def test_the_native_network_follows_its_weights(candy, native_kernels):
    network, x = candy("fused", torch.float16), pictures(1, 64, 64).half()
    with torch.inference_mode():
        before = network(x)
    network.load_state_dict({k: v * 0.9 for k, v in network.state_dict().items()})
    other = VARIANTS["baseline"]().cuda().half()
    other.load_state_dict(network.state_dict())
    with torch.inference_mode():
        after, expected = network(x), other(x)
    assert not torch.equal(before, after)
    assert (after - expected).abs().max() < 2


@pytest.mark.parametrize("blocks", [1, 2, 7])
def test_the_native_network_has_any_number_of_residual_blocks(native_kernels, blocks):
    torch.manual_seed(blocks)
    baseline = VARIANTS["baseline"](blocks).requires_grad_(False).cuda().half()
    fused = VARIANTS["fused"](blocks).requires_grad_(False).cuda().half()
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


def test_memory_does_not_grow_while_sizes_styles_and_precisions_change(engine, gpu):
    def visit(count):
        for n in range(count):
            change = {
                "kernels": ("baseline", "norm", "fused")[n % 3],
                "precision": list(Precision)[n % 4],
                "size": (96, 128, 160)[n % 3],
            }
            engine.configure(replace(gpu, **change))
            engine.process(Frame(picture(160, 120, n % 5)))
        torch.cuda.synchronize()
        return torch.cuda.memory_allocated()

    first = visit(48)  # ends as the next round does
    assert visit(96) <= first * 1.01
