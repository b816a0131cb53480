"""The engine styles frames as configured, and reports what ran or why it cannot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from app.engine.engine import Engine, EngineError
from app.engine.post.guided_upsampling import GuidedUpsampler
from app.errors import StyleForgeError
from app.frame import Frame
from app.styles.pack import StyleError
from models.checkpoints import save_checkpoint
from models.precision import BF16_IS_NO_GAIN, Precision
from models.transformer_net import VARIANTS, TransformerNetBaseline
from tests.conftest import picture
from tests.helpers.daily import some_daily
from tests.helpers.precisions import offer_all, offer_bf16, set_bf16_gains
from utils.opencv import cv2


@pytest.mark.parametrize("shape", [(48, 64), (49, 67), (16, 16), (100, 31)], ids=str)
@pytest.mark.parametrize("kernels", VARIANTS)
def test_the_result_has_the_frames_size(engine, config, kernels, shape):
    engine.configure(replace(config, kernels=kernels, size=None))
    height, width = shape
    styled = engine.process(Frame(picture(width, height), index=7))
    assert styled.frame.pixels.shape == (height, width, 3)
    assert styled.frame.index == 7
    assert styled.config.kernels == kernels
    assert styled.running.kernels == VARIANTS[kernels].title


@pytest.mark.parametrize("kernels", VARIANTS)
def test_the_picture_is_the_networks_own(engine, catalog, config, frame, kernels):
    from models.checkpoints import load_checkpoint

    net = TransformerNetBaseline()
    net.load_state_dict(load_checkpoint(catalog.get("candy").weights))
    x = torch.from_numpy(frame.pixels.copy()).permute(2, 0, 1)[None].float()
    with torch.inference_mode():
        expected = net(x)[0].permute(1, 2, 0).clamp(0, 255).numpy()
    engine.configure(replace(config, kernels=kernels))
    actual = engine.process(frame).frame.pixels.astype(float)
    assert np.abs(actual - expected).max() <= 0.5 + 0.05


def test_timings_cover_the_network_and_its_groups(engine, frame):
    timings = engine.process(replace(frame, read_ms=3.5)).timings
    assert timings.read == 3.5
    assert [name for name, _ in timings.groups] == ["encoder", "residual blocks", "decoder"]
    assert 0 < sum(ms for _, ms in timings.groups) <= timings.network <= timings.total


def test_layers_are_timed_while_that_is_wanted_and_never_in_a_comparison(engine, config, frame):
    assert engine.process(frame).timings.layers == ()
    engine.time_layers(True)
    timings = engine.process(frame).timings
    layers, groups = dict(timings.layers), dict(timings.groups)
    assert [name for name in layers if name.startswith("encoder/")] == [
        f"encoder/conv{number}" for number in (1, 2, 3)
    ]
    assert min(layers.values()) > 0
    for group, ms in groups.items():
        parts = [spent for name, spent in layers.items() if name.startswith(f"{group}/")]
        assert sum(parts) == pytest.approx(ms)
    assert 0.9 * timings.network <= sum(layers.values()) <= timings.network
    engine.configure(replace(config, compare=True))
    compared = engine.process(frame).timings
    assert compared.layers == ()
    assert len(compared.groups) == 3
    engine.configure(config)
    assert engine.process(frame).timings.layers
    engine.time_layers(False)
    assert engine.process(frame).timings.layers == ()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"style": "cundy"}, "did you mean candy"),
        ({"device": "cuda:7"}, "no device 'cuda:7'"),
        ({"kernels": "magic"}, "'magic' is not a value of kernels"),
    ],
)
def test_a_choice_that_cannot_be_had_is_refused_and_the_old_one_stays(
    engine, config, frame, change, complaint
):
    with pytest.raises(StyleForgeError, match=complaint):
        engine.configure(replace(config, **change))
    assert engine.process(frame).config == config


def test_weights_that_were_tampered_with_are_refused(catalog, config, tmp_path):
    source = tmp_path / "a.safetensors"
    save_checkpoint(source, TransformerNetBaseline(1).state_dict(), {})
    style = catalog.install(source, "Mine")
    content = bytearray(style.weights.read_bytes())
    content[-1] ^= 1
    style.weights.write_bytes(bytes(content))
    with pytest.raises(EngineError, match="sha256"):
        Engine(catalog).configure(replace(config, style=style.key))


def test_a_style_that_vanished_from_disk_says_so(catalog, config, tmp_path):
    source = tmp_path / "a.safetensors"
    save_checkpoint(source, TransformerNetBaseline(1).state_dict(), {})
    style = catalog.install(source, "Mine")
    style.weights.unlink()
    with pytest.raises((EngineError, StyleError), match=r"weights\.safetensors"):
        Engine(catalog).configure(replace(config, style=style.key))


def test_without_a_style_it_says_so(catalog, frame):
    with pytest.raises(EngineError, match="no style"):
        Engine(catalog).process(frame)


def test_what_runs_is_said_in_words_with_the_reason(engine, config, frame):
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    engine.configure(replace(config, device="auto"))
    assert str(engine.process(frame).running).startswith("Fused, FP32, CPU: ")


@pytest.mark.parametrize("what", ["network", "strokes", "upsampling"])
def test_a_name_that_is_in_no_table_is_refused(engine, config, what):
    with pytest.raises(EngineError, match=f"'odd' .*{what}"):
        engine.configure(replace(config, **{what: "odd"}))


@pytest.mark.parametrize(
    "fault",
    [
        MemoryError("Unable to allocate 9 GiB"),
        cv2.error("Failed to allocate 9000000000 bytes"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_want_of_memory_after_the_network_is_one_sentence_too(engine, frame, monkeypatch, fault):
    def enlarge(*_: object, **__: object) -> None:
        raise fault

    with monkeypatch.context() as patch:
        patch.setattr(GuidedUpsampler, "enlarge", enlarge)
        with pytest.raises(EngineError, match=r"memory .*64x48"):
            engine.process(frame)
    assert engine.process(frame).frame.pixels.shape == (48, 64, 3)


@pytest.mark.parametrize("kernels", VARIANTS)
def test_the_network_that_was_chosen_is_the_one_that_runs(engine, config, frame, modules, kernels):
    engine.configure(replace(config, kernels=kernels))
    engine.process(frame)
    assert modules == [VARIANTS[kernels]]


@pytest.mark.parametrize("precision", some_daily(Precision, 0, 2, 5), ids=lambda p: p.name)
def test_a_network_computes_in_the_precision_that_was_chosen(
    engine, config, frame, monkeypatch, precision
):
    seen: list = []
    forward = TransformerNetBaseline.forward

    def watched(self, x, mark=None):
        seen.append((x.dtype, next(self.parameters()).dtype, torch.is_autocast_enabled("cpu")))
        return forward(self, x, mark)

    monkeypatch.setattr(TransformerNetBaseline, "forward", watched)
    offer_all(monkeypatch)
    engine.configure(replace(config, kernels="baseline", precision=precision))
    engine.process(frame)
    dtype = precision.value.dtype
    assert seen == [(dtype, dtype, precision.value.autocast)]


def test_another_style_is_another_picture(engine, catalog, config, frame):
    candy = engine.process(frame).frame.pixels
    mosaic = replace(config, style="mosaic")
    engine.configure(mosaic)
    changed = engine.process(frame).frame.pixels
    fresh = Engine(catalog)
    fresh.configure(mosaic)
    np.testing.assert_array_equal(changed, fresh.process(frame).frame.pixels)
    engine.configure(config)
    np.testing.assert_array_equal(engine.process(frame).frame.pixels, candy)
    assert (changed != candy).any()


@pytest.mark.parametrize("precision", [Precision.tf32, Precision.fp16])
def test_a_stored_precision_that_the_cpu_refuses_runs_in_fp32_and_the_result_says_why(
    engine, config, frame, precision
):
    exact = engine.process(frame)
    stored = replace(config, precision=precision)
    engine.configure(stored)
    styled = engine.process(frame)
    assert styled.running.precision is Precision.fp32
    assert precision.refusal(torch.device("cpu")) in styled.running.limitations
    assert styled.config.precision is precision, "the choice is kept for a GPU"
    np.testing.assert_array_equal(styled.frame.pixels, exact.frame.pixels)


@pytest.mark.parametrize("faster", [False, True])
def test_a_stored_bf16_runs_on_the_cpu_only_where_it_is_faster(
    engine, config, frame, monkeypatch, faster
):
    offer_bf16(monkeypatch)
    set_bf16_gains(monkeypatch, 1.2 if faster else 0.8)
    engine.configure(replace(config, precision=Precision.bf16))
    running = engine.process(frame).running
    assert running.precision is (Precision.bf16 if faster else Precision.fp32)
    assert (BF16_IS_NO_GAIN in running.limitations) is not faster
