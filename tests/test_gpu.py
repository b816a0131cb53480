"""What only a GPU can show: the engine's pictures, timings and step-down on CUDA."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from app.engine import Engine
from app.frames import Frame
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
    for _ in range(5):
        styled = engine.process(Frame(picture(640, 480)))
    groups = dict(styled.timings.groups)
    assert list(groups) == ["encoder", "residual blocks", "decoder"]
    assert all(ms > 0 for ms in groups.values())
    assert sum(groups.values()) == pytest.approx(styled.timings.network, rel=0.2)


def test_what_runs_names_the_gpu_and_why_the_kernels_are_not_native(engine, gpu):
    engine.configure(gpu)
    running = engine.process(Frame(picture())).running
    assert torch.cuda.get_device_name(0) in running.device
    assert any("CUDA" in remark for remark in running.remarks)


def test_a_broken_half_precision_picture_steps_down_on_the_gpu(
    engine, gpu, notices, monkeypatch
):
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

    first = visit(24)
    assert visit(96) <= first * 1.1
