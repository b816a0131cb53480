"""The metrics count frames and name what limits them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.engine.config import EngineConfig
from app.engine.result import RunInfo, StyledFrame, Timings
from app.frame import Frame
from app.live.stream_metrics import Bottleneck, StreamMetrics
from models.precision import Precision


def feed(
    metrics,
    *,
    period,
    network,
    every=1,
    frames=60,
    shown=True,
    download=0.0,
    blend=0.0,
    layers=False,
    wait=0.0,
):
    """Add `frames` results, `period` seconds apart, from a source `every` times as fast."""
    pixels = np.zeros((16, 16, 3), np.uint8)
    now = 100.0
    for n in range(frames):
        now = 100.0 + n * period
        source = Frame(pixels, n * every, now - 0.05)
        styled = StyledFrame(
            source,
            source,
            EngineConfig(),
            Timings(
                network=network,
                download=download,
                groups=(("encoder", network / 2),),
                blend=blend,
                layers=(("encoder/conv1", network / 4),) if layers else (),
                wait=wait,
            ),
            (16, 16),
            RunInfo("Fused", Precision.fp32, "CPU"),
        )
        metrics.processed(styled, now)
        if shown:
            metrics.displayed(styled, now + 0.01, 2.0)
    return metrics.stats(now + 0.01)


@pytest.fixture
def metrics():
    metrics = StreamMetrics()
    metrics.start("camera")
    return metrics


def test_rates_latency_and_drops_are_what_was_fed(metrics):
    reading = feed(metrics, period=0.1, network=95, every=6)
    assert reading.processed_fps == pytest.approx(10)
    assert reading.displayed_fps == pytest.approx(10)
    assert reading.capture_fps == pytest.approx(60)
    assert reading.dropped == 59 * 5
    assert reading.latency_ms == pytest.approx(60)
    assert reading.timings.groups == (("encoder", pytest.approx(47.5)),)


def test_layers_are_averaged_over_the_frames_that_were_timed_so(metrics):
    assert feed(metrics, period=0.1, network=40).timings.layers == ()
    metrics.start("camera")
    feed(metrics, period=0.01, network=20, frames=10)
    reading = feed(metrics, period=0.1, network=40, frames=5, layers=True)
    assert reading.timings.layers == (("encoder/conv1", pytest.approx(10)),)


def test_a_busy_engine_is_limited_by_its_longest_stretch(metrics):
    assert feed(metrics, period=0.1, network=95).bottleneck == Bottleneck("network")
    metrics.start("camera")
    reading = feed(metrics, period=0.1, network=20, download=75)
    assert reading.bottleneck == Bottleneck("download")


def test_an_idle_engine_is_limited_by_its_source(metrics):
    bottleneck = feed(metrics, period=0.1, network=5).bottleneck
    assert bottleneck is not None
    assert (bottleneck.part, bottleneck.fps) == ("camera", pytest.approx(10))


def test_an_engine_that_leaves_frames_behind_is_not_waiting_for_them(metrics):
    # The network uses 50 of 100 ms, other programs the rest; the source is twice as fast.
    reading = feed(metrics, period=0.1, network=50, every=2)
    assert reading.bottleneck == Bottleneck("network")


def test_results_that_are_not_shown_blame_the_display(metrics):
    reading = feed(metrics, period=0.02, network=5, shown=False)
    assert reading.bottleneck == Bottleneck("display", 0.0)


def test_a_new_source_starts_from_nothing(metrics):
    feed(metrics, period=0.1, network=5)
    metrics.start("video")
    assert metrics.stats(200.0).processed_fps == 0
    assert metrics.stats(200.0).bottleneck is None


def test_overhead_is_what_the_engine_did_not_spend(metrics):
    feed(metrics, period=0.1, network=20)
    assert metrics.overhead_ms(106.0) == pytest.approx(40)


def test_the_delay_is_from_taking_a_frame_to_painting_it(metrics):
    assert metrics.delay_s(100.0) == 0.0
    feed(metrics, period=0.1, network=20, wait=15.0)
    assert metrics.delay_s(106.0) == pytest.approx(0.045)


def test_flicker_is_measured_and_forgotten_with_the_source(metrics):
    reading = feed(metrics, period=0.1, network=5)
    assert reading.flicker is not None
    assert reading.flicker.output == reading.flicker.source == 0
    metrics.start("video")
    assert metrics.stats(200.0).flicker is None


def test_an_engine_busy_with_blending_is_limited_by_it(metrics):
    assert feed(metrics, period=0.1, network=20, blend=75).bottleneck == Bottleneck("blend")


@pytest.mark.parametrize("stretch", ["resize", "copy", "comparison", "other"])
def test_what_surrounds_the_network_is_named_where_it_limits(metrics, stretch):
    pixels = np.zeros((16, 16, 3), np.uint8)
    timings = replace(Timings(network=20.0), **{stretch: 75.0})
    for n in range(20):
        source = Frame(pixels, n, 100 + 0.1 * n)
        running = RunInfo("Fused", Precision.fp32, "CPU")
        styled = StyledFrame(source, source, EngineConfig(), timings, (16, 16), running)
        metrics.processed(styled, 100 + 0.1 * n)
    assert metrics.stats(102.0).bottleneck == Bottleneck(stretch)


def test_the_stretches_from_capture_to_paint_add_up_to_it(metrics):
    pixels = np.zeros((16, 16, 3), np.uint8)
    timings = Timings(9.0, 1.0, 20.0, 2.0, (), 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
    finished_ms = timings.wait + timings.total
    for n in range(3):
        source = Frame(pixels, n, 100 + 0.1 * n)
        running = RunInfo("Fused", Precision.fp32, "CPU")
        finished_at = source.captured_at + finished_ms / 1e3
        styled = StyledFrame(
            source, source, EngineConfig(), timings, (16, 16), running, finished_at=finished_at
        )
        metrics.processed(styled, finished_at)
        metrics.displayed(styled, finished_at + 0.010, 4.0)
    reading = metrics.stats(100.3)
    assert reading.deliver_ms == pytest.approx(6.0)
    parts = reading.timings.wait + reading.timings.total + reading.deliver_ms + reading.paint_ms
    assert reading.latency_ms == pytest.approx(parts)


def test_a_thousand_frames_a_second_are_averaged_over_as_long_as_thirty(metrics):
    feed(metrics, period=0.001, network=0.5, frames=3000)
    stats = metrics.stats(102.999)
    assert stats.processed_fps == pytest.approx(1000)
    assert stats.capture_fps == pytest.approx(1000)
    assert len(metrics._processed) == pytest.approx(2000, abs=20)
    assert stats.timings.network == pytest.approx(0.5)


def test_paintings_that_move_are_counted_apart_from_what_is_shown(metrics):
    pixels, running = np.zeros((16, 16, 3), np.uint8), RunInfo("Fused", Precision.fp32, "CPU")
    now = 100.0
    for n in range(60):
        now = 100.0 + n / 30
        source = Frame(pixels, n, now - 0.01)
        spent = Timings(resize=1.0, motion=2.0, blend=3.0)
        shown = StyledFrame(source, source, EngineConfig(), spent, (16, 16), running, moved=True)
        metrics.processed(shown, now)
        metrics.displayed(shown, now + 0.001, 0.5)
        if n % 6 == 0:
            painting = replace(shown, timings=Timings(network=150.0, motion=9.0), moved=False)
            metrics.painted(painting, now)
    reading = metrics.stats(now)
    assert reading.painted_fps == pytest.approx(5)
    assert reading.processed_fps == reading.displayed_fps == pytest.approx(30)
    assert reading.dropped == 0
    assert reading.timings.network == pytest.approx(150)
    assert reading.timings.motion == pytest.approx(2)
    assert reading.timings.blend == pytest.approx(3)
    assert reading.latency_ms == pytest.approx(11)
    assert reading.bottleneck == Bottleneck("network")


def test_a_stream_that_shows_its_paintings_paints_as_many(metrics):
    reading = feed(metrics, period=0.1, network=20)
    assert reading.painted_fps == reading.processed_fps
