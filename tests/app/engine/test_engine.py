"""The engine styles frames, says what ran, and mends itself in the open."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

import app.engine.network_selector
import app.engine.resolution
from app.engine.blending import fit_to, peak_difference
from app.engine.config import EngineConfig
from app.engine.engine import Engine, EngineError
from app.engine.guided_upsampling import GuidedUpsampler
from app.engine.network_pool import Network
from app.engine.process_mode import ProcessMode
from app.errors import StyleForgeError
from app.frame import Frame
from app.styles.pack import StyleError
from models.checkpoints import save_checkpoint
from models.network_config import NetworkConfig
from models.precision import Precision
from models.transformer_net import VARIANTS, TransformerNetBaseline
from tests.conftest import add_style, picture
from utils.opencv import cv2


@pytest.fixture
def notices():
    return []


@pytest.fixture
def engine(library, config, notices, native_kernels):
    engine = Engine(library, notices.append)
    engine.configure(config)
    return engine


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
def test_the_picture_is_the_networks_own(engine, library, config, frame, kernels):
    from models.checkpoints import load_checkpoint

    net = TransformerNetBaseline()
    net.load_state_dict(load_checkpoint(library.get("candy").weights))
    x = torch.from_numpy(frame.pixels.copy()).permute(2, 0, 1)[None].float()
    with torch.inference_mode():
        expected = net(x)[0].permute(1, 2, 0).clamp(0, 255).numpy()
    engine.configure(replace(config, kernels=kernels))
    actual = engine.process(frame).frame.pixels.astype(float)
    assert np.abs(actual - expected).max() <= 0.5 + 0.05


@pytest.mark.parametrize("precision", list(Precision), ids=lambda p: p.name)
def test_every_precision_gives_the_same_picture_within_its_bound(engine, config, frame, precision):
    engine.configure(replace(config, precision=precision, compare=True))
    comparison = engine.process(frame).comparison
    assert comparison is not None
    assert comparison.agrees, (comparison.difference, comparison.psnr)


def test_timings_cover_the_network_and_its_groups(engine, frame):
    timings = engine.process(replace(frame, read_ms=3.5)).timings
    assert timings.read == 3.5
    assert [name for name, _ in timings.groups] == ["encoder", "residual blocks", "decoder"]
    assert 0 < sum(ms for _, ms in timings.groups) <= timings.network <= timings.total


def test_strength_zero_is_the_source(engine, config, frame):
    engine.configure(replace(config, strength=0.0))
    np.testing.assert_array_equal(engine.process(frame).frame.pixels, frame.pixels)


def test_a_slider_moved_during_the_frame_is_in_the_picture(engine, config, frame):
    moved = replace(config, strength=0.0)
    styled = engine.finish(engine.infer(frame), moved)
    assert styled.config == moved
    np.testing.assert_array_equal(styled.frame.pixels, frame.pixels)


def test_a_style_chosen_during_the_frame_waits_for_the_next(engine, config, frame):
    other = replace(config, kernels="baseline")
    assert engine.finish(engine.infer(frame), other).config == config


def test_comparing_shows_both_pictures_their_paces_and_the_ratio(engine, config, frame):
    engine.configure(replace(config, compare=True))
    comparison = [engine.process(frame) for _ in range(4)][-1].comparison
    assert comparison.baseline.pixels.shape == frame.pixels.shape
    assert comparison.frames == 3  # the first of a pairing only warms up
    assert comparison.difference < 0.05
    assert comparison.ratio == comparison.baseline_pace.median / comparison.fused_pace.median
    assert comparison.baseline_pace.p95 >= comparison.baseline_pace.median > 0


def test_the_ratio_is_withheld_when_the_pictures_differ(engine, config, frame):
    engine.configure(replace(config, compare=True))
    comparison = replace(engine.process(frame).comparison, agrees=False)
    assert comparison.ratio is None
    assert "0.5" in comparison.bound


def test_a_ratio_below_one_is_shown(engine, config, frame):
    engine.configure(replace(config, compare=True))
    comparison = engine.process(frame).comparison
    slow = replace(comparison, fused_pace=replace(comparison.fused_pace, median=1e6))
    assert 0 < slow.ratio < 1


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"style": "cundy"}, "did you mean candy"),
        ({"device": "cuda:7"}, "no device 'cuda:7'"),
        ({"kernels": "magic"}, "no kernels 'magic'"),
    ],
)
def test_a_choice_that_cannot_be_had_is_refused_and_the_old_one_stays(
    engine, config, frame, change, complaint
):
    with pytest.raises(StyleForgeError, match=complaint):
        engine.configure(replace(config, **change))
    assert engine.process(frame).config == config


def test_weights_that_were_tampered_with_are_refused(library, config, tmp_path):
    source = tmp_path / "a.safetensors"
    save_checkpoint(source, TransformerNetBaseline(1).state_dict(), {})
    style = library.install(source, "Mine")
    content = bytearray(style.weights.read_bytes())
    content[-1] ^= 1
    style.weights.write_bytes(bytes(content))
    with pytest.raises(EngineError, match="sha256"):
        Engine(library).configure(replace(config, style=style.key))


def test_a_style_that_vanished_from_disk_says_so(library, config, tmp_path):
    source = tmp_path / "a.safetensors"
    save_checkpoint(source, TransformerNetBaseline(1).state_dict(), {})
    style = library.install(source, "Mine")
    style.weights.unlink()
    with pytest.raises((EngineError, StyleError), match=r"weights\.safetensors"):
        Engine(library).configure(replace(config, style=style.key))


def test_without_a_style_it_says_so(library, frame):
    with pytest.raises(EngineError, match="no style"):
        Engine(library).process(frame)


@pytest.mark.parametrize(("fault", "steps"), [("nan", 2), ("constant", 2)])
def test_a_broken_half_precision_picture_steps_down_and_says_so_once(
    engine, config, frame, notices, monkeypatch, fault, steps
):
    """FP16 to BF16 to FP32, with a network that fails in every reduced precision."""
    forward = TransformerNetBaseline.forward

    def failing(self, x, mark=None):
        y = forward(self, x, mark)
        if x.dtype is torch.float32:
            return y
        return torch.full_like(y, torch.nan if fault == "nan" else 7.0)

    monkeypatch.setattr(TransformerNetBaseline, "forward", failing)
    engine.configure(replace(config, kernels="baseline", precision=Precision.fp16))
    styled = [engine.process(frame) for _ in range(3)][-1]
    assert styled.running.precision is Precision.fp32
    assert "FP16 gave a broken picture" in str(styled.running)
    assert len(notices) == steps
    assert np.ptp(styled.frame.pixels) > 0


def test_a_black_frame_is_no_reason_to_step_down(engine, config, notices):
    engine.configure(replace(config, precision=Precision.bf16))
    styled = engine.process(Frame(np.zeros((48, 64, 3), np.uint8)))
    assert styled.running.precision is Precision.bf16
    assert not notices


def test_what_runs_is_said_in_words_with_the_reason(engine, config, frame):
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    engine.configure(replace(config, device="auto"))
    assert str(engine.process(frame).running).startswith("Fused, FP32, CPU: ")


def test_a_fixed_size_is_kept_and_the_automatic_one_fits_the_frame(engine, config):
    big = Frame(picture(320, 240))
    assert engine.process(big).size == (64, 48)
    engine.configure(replace(config, size=None))
    width, height = engine.process(big).size
    assert 16 <= height <= 240
    assert width <= 320


def test_a_sharper_size_keeps_the_strokes_where_they_are(engine, config, monkeypatch):
    """What a plain larger network's input would not: it paints other, narrower strokes."""
    monkeypatch.setattr(app.engine.resolution, "STILL_BUDGET_MS", 1e9)
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


# Mixing, lite networks, strokes, smoothing

SMALL, LITE = NetworkConfig(1, (8, 8, 8), 5), NetworkConfig(1, (4, 4, 4), 3)


@pytest.fixture
def pair(library, tmp_path):
    """Two small styles that can be mixed; the first has a lite network."""
    add_style(tmp_path, "first", 1, SMALL, lite=LITE)
    add_style(tmp_path, "second", 2, SMALL)
    library.reload()
    return EngineConfig("first", device="cpu", size=64, mix="second", mix_amount=0.4)


def shown(engine, config, frame, **how):
    engine.configure(config)
    return engine.process(frame, **how)


def test_a_mix_is_between_the_two_and_says_so(engine, pair, frame):
    alone = replace(pair, mix=None)
    first = shown(engine, alone, frame).frame.pixels
    second = shown(engine, replace(alone, style="second"), frame).frame.pixels
    mixed = shown(engine, pair, frame)
    assert str(mixed.running).startswith("First 60 %, Second 40 %; Fused, FP32, CPU")
    np.testing.assert_array_equal(
        shown(engine, replace(pair, mix_amount=0.0), frame).frame.pixels, first
    )
    np.testing.assert_array_equal(
        shown(engine, replace(pair, mix_amount=1.0), frame).frame.pixels, second
    )
    assert (mixed.frame.pixels != first).any()
    assert (mixed.frame.pixels != second).any()


def test_a_mix_is_compared_as_one_network(engine, pair, frame):
    comparison = shown(engine, replace(pair, compare=True), frame).comparison
    assert comparison.agrees, (comparison.difference, comparison.psnr)


def test_a_mix_that_cannot_be_is_refused_and_the_old_config_stays(engine, pair, config, frame):
    engine.configure(pair)
    with pytest.raises(EngineError, match="cannot be mixed"):
        engine.configure(replace(pair, mix="candy"))
    assert engine.process(frame).config == pair
    with pytest.raises(EngineError, match="did you mean second"):
        engine.configure(replace(pair, mix="secund"))


def test_a_mix_survives_forgetting_one_of_the_two(engine, pair, frame):
    before = shown(engine, pair, frame).frame.pixels
    engine.evict("second")
    np.testing.assert_array_equal(engine.process(frame).frame.pixels, before)
    np.testing.assert_array_equal(shown(engine, pair, frame).frame.pixels, before)


def test_a_broken_mix_steps_down_by_its_own_name(engine, pair, frame, notices, monkeypatch):
    forward = TransformerNetBaseline.forward

    def failing(self, x, mark=None):
        y = forward(self, x, mark)
        return y if x.dtype is torch.float32 else torch.full_like(y, torch.nan)

    monkeypatch.setattr(TransformerNetBaseline, "forward", failing)
    shown(engine, replace(pair, kernels="baseline", precision=Precision.bf16), frame)
    assert notices == ["BF16 gave a broken picture with First 60 %, Second 40 %; using FP32"]


def test_lite_runs_the_lite_network_and_full_the_full_one(engine, pair, frame):
    alone = replace(pair, mix=None)
    lite = shown(engine, replace(alone, network="lite"), frame)
    full = shown(engine, replace(alone, network="full"), frame)
    assert (lite.running.lite, full.running.lite) == (True, False)
    assert str(lite.running).startswith("Fused, Lite, FP32, CPU")
    assert (lite.frame.pixels != full.frame.pixels).any()


def test_paces_of_another_network_begin_anew(engine, pair, frame):
    alone = replace(pair, mix=None, compare=True)
    assert [shown(engine, alone, frame).comparison.frames for _ in range(3)] == [0, 1, 2]
    assert shown(engine, replace(alone, network="lite"), frame).comparison.frames == 0


def test_without_a_lite_network_the_full_one_runs_and_says_so(engine, pair, frame):
    styled = shown(engine, replace(pair, network="lite"), frame)
    assert not styled.running.lite
    assert "Second has no lite network" in styled.running.limitations


def test_automatic_takes_lite_only_for_a_stream_that_is_too_slow(
    engine, pair, frame, notices, monkeypatch
):
    monkeypatch.setattr(app.engine.network_selector, "LEAST_FPS", 1e6)  # no network holds that
    auto = replace(pair, mix=None)
    engine.configure(auto)
    styled = [engine.process(frame) for _ in range(8)]
    assert [s.running.lite for s in styled] == [False] * 6 + [True] * 2
    assert "the full network reaches" in str(styled[-1].running)
    assert len(notices) == 1
    assert not engine.process(frame, ProcessMode.SEQUENCE).running.lite
    assert not engine.process(frame, ProcessMode.SINGLE).running.lite
    engine.compile_kernels(True)
    engine.compile_kernels(False)
    assert not engine.process(frame).running.lite, "kernels came, which may be faster"


def test_what_is_measured_while_kernels_compile_is_neither_told_nor_kept(
    engine, pair, frame, notices, monkeypatch
):
    monkeypatch.setattr(app.engine.network_selector, "LEAST_FPS", 1e6)
    engine.compile_kernels(True)
    engine.configure(replace(pair, mix=None))
    styled = [engine.process(frame) for _ in range(8)][-1]
    assert styled.running.lite, "the stream is kept fluent meanwhile"
    assert "fps" not in str(styled.running)
    assert "kernels are being compiled" in str(styled.running)
    assert notices == []
    engine.compile_kernels(False)
    assert not engine.process(frame).running.lite


def test_a_comparison_works_at_the_size_the_stream_had_and_says_so(engine, config):
    auto = replace(config, size=None)
    big = Frame(picture(320, 240))
    engine.configure(auto)
    size = [engine.process(big).size for _ in range(8)][-1]
    engine.configure(replace(auto, compare=True))
    compared = [engine.process(big) for _ in range(8)]
    assert {styled.size for styled in compared} == {size}
    assert compared[-1].comparison.size == size
    assert compared[-1].comparison.precision is config.precision
    engine.configure(auto)
    assert engine.process(big).size == size


def test_while_it_is_held_neither_size_nor_network_changes(engine, pair, frame, monkeypatch):
    monkeypatch.setattr(app.engine.network_selector, "LEAST_FPS", 1e6)
    engine.configure(replace(pair, mix=None, size=None))
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
    engine.configure(replace(pair, style="second", mix=None))
    styled = [engine.process(frame) for _ in range(8)][-1]
    assert not styled.running.lite
    assert "fps at 64, and Second has no lite network" in str(styled.running)
    assert notices == []


def test_lite_weights_that_were_tampered_with_are_refused(engine, library, pair):
    weights = library.get("first").lite
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(bytes(content))
    with pytest.raises(EngineError, match=r"'lite\.safetensors' of the style 'First'.*sha256"):
        engine.configure(replace(pair, mix=None))
    engine.configure(replace(pair, mix=None, network="full"))


@pytest.mark.parametrize(("strokes", "size"), [("fine", (96, 72)), ("bold", (38, 28))])
def test_strokes_change_the_networks_size_and_not_the_results(engine, config, strokes, size):
    styled = shown(engine, replace(config, strokes=strokes), Frame(picture(320, 240)))
    assert styled.size == size
    assert styled.frame.pixels.shape == (240, 320, 3)


def test_smoothing_steadies_a_stream_and_begins_anew_after_a_cut(engine, config):
    config = replace(config, network="full")  # on a busy machine "auto" would change meanwhile
    rng = np.random.default_rng(5)
    noisy = [
        Frame(np.clip(picture() + rng.normal(0, 6, (48, 64, 3)), 0, 255).astype(np.uint8))
        for _ in range(12)
    ]

    def change(smoothing):
        engine.configure(replace(config, smoothing=smoothing))
        results = [engine.process(frame).frame.pixels.astype(int) for frame in noisy]
        return np.abs(results[-1] - results[-2]).mean()

    assert change(1.0) < 0.3 * change(0.0)
    plain = engine.process(noisy[0]).frame.pixels
    engine.configure(replace(config, smoothing=1.0))
    engine.process(noisy[1])
    assert (engine.process(noisy[0]).frame.pixels != plain).any()
    engine.reset_history()
    np.testing.assert_array_equal(engine.process(noisy[0]).frame.pixels, plain)


def test_a_single_picture_is_never_smoothed(engine, config, frame):
    noise = np.random.default_rng(5).normal(0, 6, frame.pixels.shape)
    before = Frame(np.clip(frame.pixels + noise, 0, 255).astype(np.uint8))  # no cut lies between
    plain = shown(engine, config, frame).frame.pixels
    engine.configure(replace(config, smoothing=1.0))
    for mode in (ProcessMode.SINGLE, ProcessMode.REFINE):
        engine.process(before, mode)
        np.testing.assert_array_equal(engine.process(frame, mode).frame.pixels, plain)
    engine.process(before, ProcessMode.SEQUENCE)
    assert (engine.process(frame, ProcessMode.SEQUENCE).frame.pixels != plain).any()


@pytest.mark.parametrize("what", ["network", "strokes", "upsampling"])
def test_a_name_that_is_in_no_table_is_refused(engine, config, what):
    with pytest.raises(EngineError, match=f"no {what} 'odd', only"):
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
        with pytest.raises(EngineError, match="ran out of memory on a frame of 64x48"):
            engine.process(frame)
    assert engine.process(frame).frame.pixels.shape == (48, 64, 3)


def test_sharpening_costs_what_the_timings_call_blend(engine, config):
    styled = shown(engine, config, Frame(picture(320, 240)))
    smooth = shown(engine, replace(config, upsampling="smooth"), Frame(picture(320, 240)))
    assert styled.timings.blend > 0
    assert styled.timings.total >= styled.timings.network + styled.timings.blend
    assert (styled.frame.pixels != smooth.frame.pixels).any()


def test_a_comparison_tells_what_the_network_beside_took(engine, config, frame):
    alone = shown(engine, config, frame).timings
    both = shown(engine, replace(config, compare=True), frame).timings
    assert alone.comparison == 0
    assert both.comparison > 0
    parts = (both.resize, both.upload, both.network, both.download, both.blend, both.comparison)
    assert both.total == pytest.approx(sum(parts))


def test_the_difference_is_measured_outside_the_times_that_are_compared(
    engine, config, frame, monkeypatch
):
    def slow(*pictures):
        time.sleep(0.3)
        return peak_difference(*pictures)

    monkeypatch.setattr("app.engine.comparison.peak_difference", slow)
    both = shown(engine, replace(config, compare=True), frame)
    assert both.timings.comparison > 300
    assert both.comparison.fused_pace.p95 < 300
    assert both.comparison.baseline_pace.p95 < 300


@pytest.mark.parametrize("kernels", ["fused", "baseline"])
def test_a_comparison_times_each_network_by_the_path_that_a_stream_takes(
    engine, config, frame, monkeypatch, kernels
):
    taken: list[str] = []
    render = Network.render

    def watched(self, pixels):
        taken.append(type(self._module).__name__)
        return render(self, pixels)

    monkeypatch.setattr(Network, "render", watched)
    engine.configure(replace(config, kernels=kernels))
    engine.process(frame)
    alone, taken[:] = taken[-1], []
    engine.configure(replace(config, kernels=kernels, compare=True))
    comparison = engine.process(frame).comparison
    assert sorted(taken) == ["TransformerNetBaseline", "TransformerNetFused"]
    assert alone in taken
    assert comparison.frames == 0  # the first of a pairing only warms up


@pytest.fixture
def modules(monkeypatch):
    """The class of every network that ran, in order."""
    ran: list[type] = []
    render = Network.render

    def watched(self, pixels):
        ran.append(type(self._module))
        return render(self, pixels)

    monkeypatch.setattr(Network, "render", watched)
    return ran


@pytest.mark.parametrize("kernels", VARIANTS)
def test_the_network_that_was_chosen_is_the_one_that_runs(engine, config, frame, modules, kernels):
    engine.configure(replace(config, kernels=kernels))
    engine.process(frame)
    assert modules == [VARIANTS[kernels]]


@pytest.mark.parametrize("precision", list(Precision), ids=lambda p: p.name)
def test_a_network_computes_in_the_precision_that_was_chosen(
    engine, config, frame, monkeypatch, precision
):
    seen: list = []
    forward = TransformerNetBaseline.forward

    def watched(self, x, mark=None):
        seen.append((x.dtype, next(self.parameters()).dtype, torch.is_autocast_enabled("cpu")))
        return forward(self, x, mark)

    monkeypatch.setattr(TransformerNetBaseline, "forward", watched)
    engine.configure(replace(config, kernels="baseline", precision=precision))
    engine.process(frame)
    dtype = precision.value.dtype
    assert seen == [(dtype, dtype, precision.value.autocast)]


def test_another_style_is_another_picture(engine, library, config, frame):
    candy = engine.process(frame).frame.pixels
    mosaic = replace(config, style="mosaic")
    engine.configure(mosaic)
    changed = engine.process(frame).frame.pixels
    fresh = Engine(library)
    fresh.configure(mosaic)
    np.testing.assert_array_equal(changed, fresh.process(frame).frame.pixels)
    engine.configure(config)
    np.testing.assert_array_equal(engine.process(frame).frame.pixels, candy)
    assert (changed != candy).any()


def test_what_runs_is_said_with_the_remark_of_its_precision(engine, config, frame):
    engine.configure(replace(config, precision=Precision.tf32))
    assert "TF32 is FP32 on a CPU" in engine.process(frame).running.limitations


def test_a_comparison_measures_how_far_the_two_pictures_are_apart(
    engine, config, frame, monkeypatch
):
    raw = Network._raw

    def three_too_bright(self, pixels, mark):
        return raw(self, pixels, mark) + 3.0 * isinstance(self._module, VARIANTS["fused"])

    monkeypatch.setattr(Network, "_raw", three_too_bright)
    engine.configure(replace(config, compare=True))
    comparison = engine.process(frame).comparison
    assert comparison.difference == pytest.approx(3.0, abs=0.05)
    assert comparison.psnr == pytest.approx(20 * math.log10(255 / 3), abs=0.1)
    assert not comparison.agrees
    assert comparison.ratio is None


def test_the_networks_of_a_comparison_take_turns_in_going_first(engine, config, frame, modules):
    engine.configure(replace(config, compare=True))
    for _ in range(4):
        engine.process(frame)
    first = modules[::2]
    assert len(modules) == 8
    assert first[0] is first[2] is not first[1] is first[3]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"smoothing": 0.5},
        {"upsampling": "smooth"},
        {"strength": 0.5},
        {"strength": 0.0},
        {"keep_colors": True},
        {"size": 32, "smoothing": 0.5},
    ],
    ids=str,
)
def test_results_do_not_share_memory(engine, config, frame, changes):
    """A recording and the window go on holding them."""
    engine.configure(replace(config, **changes))
    first = engine.process(frame)
    kept = first.frame.pixels.copy()
    for seed in (5, 6):
        engine.process(Frame(picture(seed=seed), seed))
    np.testing.assert_array_equal(first.frame.pixels, kept)
