"""The engine changes precision, network and sizes by itself, and says so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import app.engine.network_selector
import app.engine.resolution
from app.engine.adaptation import Adaptation, Variant
from app.engine.config import EngineConfig
from app.engine.post.blending import fit_to
from app.engine.process_mode import ProcessMode
from app.frame import Frame
from models.families.keys import ANY_STYLE, FEED_FORWARD
from models.precision import Precision
from models.transformer_net import TransformerNetBaseline
from tests.app.engine.conftest import shown
from tests.conftest import picture
from tests.helpers.daily import some_daily
from tests.helpers.errors import mentions
from tests.helpers.precisions import offer_all, offer_bf16
from utils.opencv import cv2


@pytest.mark.parametrize(("fault", "steps"), some_daily([("nan", 2), ("constant", 2)], 1))
def test_a_broken_half_precision_picture_steps_down_and_says_so_once(
    engine, config, frame, notices, monkeypatch, fault, steps
):
    """FP16 falls back to BF16, then FP32, with a network that fails in every reduced precision."""
    forward = TransformerNetBaseline.forward

    def failing(self, x, mark=None):
        y = forward(self, x, mark)
        if x.dtype is torch.float32:
            return y
        return torch.full_like(y, torch.nan if fault == "nan" else 7.0)

    monkeypatch.setattr(TransformerNetBaseline, "forward", failing)
    offer_all(monkeypatch)
    engine.configure(replace(config, kernels="baseline", precision=Precision.fp16))
    styled = [engine.process(frame) for _ in range(3)][-1]
    assert styled.running.precision is Precision.fp32
    assert mentions(str(styled.running), "FP16", "broken")
    assert len(notices) == steps
    assert np.ptp(styled.frame.pixels) > 0


def test_a_black_frame_is_no_reason_to_step_down(engine, config, notices, monkeypatch):
    offer_bf16(monkeypatch)
    engine.configure(replace(config, precision=Precision.bf16))
    styled = engine.process(Frame(np.zeros((48, 64, 3), np.uint8)))
    assert styled.running.precision is Precision.bf16
    assert not notices


def test_a_fixed_size_is_kept_and_the_automatic_one_fits_the_frame(engine, config):
    big = Frame(picture(320, 240))
    assert engine.process(big).size == (64, 48)
    engine.configure(replace(config, size=None))
    width, height = engine.process(big).size
    assert 16 <= height <= 240
    assert width <= 320


@pytest.mark.full
def test_a_sharper_size_keeps_the_strokes_where_they_are(engine, config, monkeypatch):
    """Simply enlarging a network's input would paint different, narrower strokes."""
    frame = Frame(picture(640, 360))
    engine.configure(replace(config, size=None))
    plain = engine.process(frame, ProcessMode.SINGLE)
    assert plain.size == (384, 216)
    sharper = engine.process(frame, ProcessMode.REFINE)
    assert sharper.size == (640, 360)
    engine.configure(replace(config, size=640))
    narrower = engine.process(frame, ProcessMode.SINGLE)

    def coarse(styled):
        size = (384, 216)
        pixels = fit_to(styled.frame.pixels, size, np.empty((0, 0, 3), np.uint8))
        return cv2.GaussianBlur(pixels, (0, 0), 2).astype(int)

    changed = np.abs(coarse(sharper) - coarse(plain)).mean()
    assert changed < 0.5 * np.abs(coarse(narrower) - coarse(plain)).mean()
    assert sharper.timings.network > 0


def test_a_broken_mix_steps_down_by_its_own_name(engine, pair, frame, notices, monkeypatch):
    forward = TransformerNetBaseline.forward

    def failing(self, x, mark=None):
        y = forward(self, x, mark)
        return y if x.dtype is torch.float32 else torch.full_like(y, torch.nan)

    monkeypatch.setattr(TransformerNetBaseline, "forward", failing)
    offer_bf16(monkeypatch)
    shown(engine, replace(pair, kernels="baseline", precision=Precision.bf16), frame)
    (notice,) = notices
    assert mentions(notice, "BF16", "First 60 %, Second 40 %", "FP32")


def test_automatic_takes_lite_only_for_a_stream_that_is_too_slow(
    engine, pair, frame, notices, monkeypatch
):
    monkeypatch.setattr(app.engine.network_selector, "LEAST_FPS", 1e6)  # no network reaches that
    monkeypatch.setattr(app.engine.network_selector, "FLUID_FPS", 1e6)
    auto = replace(pair, mix=None, network="auto")
    engine.configure(auto)
    styled = [engine.process(frame) for _ in range(8)]
    assert [s.running.lite for s in styled] == [False] * 6 + [True] * 2
    assert "the full network reaches" in str(styled[-1].running)
    assert len(notices) == 1
    assert "the fast version" in notices[0]
    assert notices[0].endswith(" fps otherwise)")
    assert not engine.process(frame, ProcessMode.SEQUENCE).running.lite
    assert not engine.process(frame, ProcessMode.SINGLE).running.lite
    engine.compile_kernels(True)
    engine.compile_kernels(False)
    assert not engine.process(frame).running.lite, "kernels came, which may be faster"


def test_what_is_measured_while_kernels_compile_is_neither_told_nor_kept(
    engine, pair, frame, notices, monkeypatch
):
    monkeypatch.setattr(app.engine.network_selector, "LEAST_FPS", 1e6)
    monkeypatch.setattr(app.engine.network_selector, "FLUID_FPS", 1e6)
    engine.compile_kernels(True)
    engine.configure(replace(pair, mix=None, network="auto"))
    styled = [engine.process(frame) for _ in range(8)][-1]
    assert styled.running.lite, "the stream is kept fluent meanwhile"
    assert "fps" not in str(styled.running)
    assert "kernels are being compiled" in str(styled.running)
    assert notices == []
    engine.compile_kernels(False)
    assert not engine.process(frame).running.lite


def test_while_it_is_held_neither_size_nor_network_changes(engine, pair, frame, monkeypatch):
    monkeypatch.setattr(app.engine.network_selector, "LEAST_FPS", 1e6)
    monkeypatch.setattr(app.engine.network_selector, "FLUID_FPS", 1e6)
    engine.configure(replace(pair, mix=None, network="auto", size=None))
    engine.hold(True)
    assert {(s.size, s.running.lite) for s in (engine.process(frame) for _ in range(12))} == {
        ((64, 48), False)
    }
    engine.hold(False)
    assert [engine.process(frame) for _ in range(2)][-1].running.lite


def test_automatic_says_why_a_slow_stream_stays_with_the_full_network(
    engine, pair, frame, notices, monkeypatch
):
    monkeypatch.setattr(app.engine.network_selector, "LEAST_FPS", 1e6)
    monkeypatch.setattr(app.engine.network_selector, "FLUID_FPS", 1e6)
    engine.configure(replace(pair, style="second", mix=None, network="auto"))
    styled = [engine.process(frame) for _ in range(8)][-1]
    assert not styled.running.lite
    assert mentions(str(styled.running), "Second", "no lite network")
    assert notices == []


@pytest.mark.parametrize(("strokes", "size"), [("fine", (96, 72)), ("bold", (38, 28))])
def test_strokes_change_the_networks_size_and_not_the_results(engine, config, strokes, size):
    styled = shown(engine, replace(config, strokes=strokes), Frame(picture(320, 240)))
    assert styled.size == size
    assert styled.frame.pixels.shape == (240, 320, 3)


@pytest.mark.parametrize(("family", "long_side"), [(FEED_FORWARD, 256), (ANY_STYLE, 384)])
def test_the_lite_network_of_style_pictures_keeps_a_size_rather_than_15_frames(family, long_side):
    """The network takes 60 ms at 256 px, 86 at 320 and 115 at 384."""
    adaptation = Adaptation(300.0, lambda _: None)
    variant = Variant("fused", Precision.fp32, torch.device("cpu"), family)
    config, frame = EngineConfig(), Frame(np.zeros((512, 512, 3), np.uint8))
    side = 0
    for _ in range(6):
        sizes = adaptation.sizes(variant, config, frame, ProcessMode.LIVE, lite=True)
        side = sizes.detail[0]
        adaptation.record(
            variant, config, ProcessMode.LIVE, sizes,
            network_ms=60 * (side / 256) ** 1.6, around_ms=0.0, lite=True,
        )  # fmt: skip
    assert side == long_side


def test_a_still_of_a_picture_style_is_refined_as_of_any_other():
    adaptation, frame = Adaptation(50.0, print), Frame(np.zeros((720, 1280, 3), np.uint8))
    config, cpu = EngineConfig(size=None), torch.device("cpu")
    chosen = {}
    for family in (FEED_FORWARD, ANY_STYLE):
        variant = Variant("fused", Precision.fp32, cpu, family)
        lite = adaptation.use_lite(variant, config, frame, ProcessMode.REFINE, "")
        sizes = [
            adaptation.sizes(variant, config, frame, mode, lite=lite)
            for mode in (ProcessMode.SINGLE, ProcessMode.REFINE)
        ]
        chosen[family] = lite, *sizes
    lite, first, refined = chosen[ANY_STYLE]
    assert not lite
    assert refined.detail > first.detail
    assert chosen[FEED_FORWARD] == chosen[ANY_STYLE]
