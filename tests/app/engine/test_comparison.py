"""A comparison runs two networks on the same frames and compares times and pictures."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import pytest

from app.engine.network_pool import Network
from app.engine.post.blending import peak_difference
from app.frame import Frame
from models.precision import Precision
from models.transformer_net import VARIANTS
from tests.app.engine.conftest import shown
from tests.conftest import picture
from tests.helpers.daily import some_daily
from tests.helpers.precisions import offer_all


@pytest.mark.parametrize("precision", some_daily(Precision, 0, 2, 5), ids=lambda p: p.name)
def test_every_precision_gives_the_same_picture_within_its_bound(
    engine, config, frame, monkeypatch, precision
):
    offer_all(monkeypatch)
    engine.configure(replace(config, precision=precision, compare=True))
    comparison = engine.process(frame).comparison
    assert comparison is not None
    assert comparison.agrees, (comparison.difference, comparison.psnr)


def test_comparing_shows_both_pictures_their_paces_and_the_ratio(engine, config, frame):
    engine.configure(replace(config, compare=True))
    comparison = [engine.process(frame) for _ in range(4)][-1].comparison
    assert comparison.baseline.pixels.shape == frame.pixels.shape
    assert comparison.frames == 3  # the first frame of a pairing is only a warm-up
    assert comparison.difference < 0.05
    assert comparison.ratio == comparison.baseline_latency.median / comparison.fused_latency.median
    assert comparison.baseline_latency.p95 >= comparison.baseline_latency.median > 0


def test_the_ratio_is_withheld_when_the_pictures_differ(engine, config, frame):
    engine.configure(replace(config, compare=True))
    comparison = replace(engine.process(frame).comparison, agrees=False)
    assert comparison.ratio is None
    assert "0.5" in comparison.bound


def test_a_ratio_below_one_is_shown(engine, config, frame):
    engine.configure(replace(config, compare=True))
    comparison = engine.process(frame).comparison
    slow = replace(comparison, fused_latency=replace(comparison.fused_latency, median=1e6))
    assert 0 < slow.ratio < 1


def test_a_mix_is_compared_as_one_network(engine, pair, frame):
    comparison = shown(engine, replace(pair, compare=True), frame).comparison
    assert comparison.agrees, (comparison.difference, comparison.psnr)


def test_paces_of_another_network_begin_anew(engine, pair, frame):
    alone = replace(pair, mix=None, compare=True)
    assert [shown(engine, alone, frame).comparison.frames for _ in range(3)] == [0, 1, 2]
    assert shown(engine, replace(alone, network="lite"), frame).comparison.frames == 0


@pytest.mark.full
def test_a_comparison_works_at_the_size_the_stream_had_and_says_so(engine, config):
    auto = replace(config, size=None, network="lite")
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
    assert both.comparison.fused_latency.p95 < 300
    assert both.comparison.baseline_latency.p95 < 300


@pytest.mark.parametrize("kernels", ["fused", "baseline"])
def test_a_comparison_times_each_network_by_the_path_that_a_stream_takes(
    engine, config, frame, monkeypatch, kernels
):
    taken: list[str] = []
    render = Network.render

    def watched(self, pixels, **how):
        taken.append(type(self._module).__name__)
        return render(self, pixels, **how)

    monkeypatch.setattr(Network, "render", watched)
    engine.configure(replace(config, kernels=kernels))
    engine.process(frame)
    alone, taken[:] = taken[-1], []
    engine.configure(replace(config, kernels=kernels, compare=True))
    comparison = engine.process(frame).comparison
    assert sorted(taken) == ["TransformerNetBaseline", "TransformerNetFused"]
    assert alone in taken
    assert comparison.frames == 0  # the first frame of a pairing is only a warm-up


def test_a_comparison_measures_how_far_the_two_pictures_are_apart(
    engine, config, frame, monkeypatch
):
    raws = Network._raws

    def three_too_bright(self, pictures, mark):
        return raws(self, pictures, mark) + 3.0 * isinstance(self._module, VARIANTS["fused"])

    monkeypatch.setattr(Network, "_raws", three_too_bright)
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
