"""The overlay shows a line for every figure and is rarely redrawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtWidgets import QWidget

from app.engine.config import EngineConfig
from app.engine.result import Comparison, LatencyStats, RunInfo, StyledFrame, Timings
from app.frame import Frame
from app.live.flicker import Flicker
from app.live.stream_metrics import ENGINE_PARTS, Bottleneck, StreamStats
from app.sources import address, camera, scene, video
from app.ui.viewport.stats_overlay import REDRAW_MS, Overlay
from app.ui.viewport.stats_rows import bottleneck_words, flicker_words, overlay_columns
from models.precision import Precision
from tests.helpers.windows import show_window


def result() -> StyledFrame:
    frame = Frame(np.zeros((24, 32, 3), np.uint8))
    running = RunInfo("Fused", Precision.fp32, "CPU")
    return StyledFrame(frame, frame, EngineConfig(), Timings(), (288, 208), running)


def figures(reading: StreamStats, styled: StyledFrame) -> dict[str, str]:
    (rows,) = overlay_columns(reading, styled)
    return dict(rows)


@pytest.fixture
def reading() -> StreamStats:
    timings = Timings(1.0, 0.5, 40.0, 0.7, (("encoder", 10.0), ("decoder", 12.0)), 3.5)
    bottleneck = Bottleneck("network")
    return StreamStats(
        30.0, 24.9, 24.9, 61.0, 70.0, 3, timings, 1.5, 2.0, bottleneck, Flicker(3.0, 2.0)
    )


def test_the_overlay_has_a_line_for_every_figure(reading):
    said = figures(reading, result())
    assert said["Camera"] == "30.0 fps"
    assert said["Delay"] == "61 ms, p95 70 ms"
    assert said["Dropped"] == "3"
    assert said["Network input"] == "288 x 208"
    assert said["    Encoder"] == "10.0 ms"
    assert said["Blend"] == "3.5 ms"
    assert said["Paint"] == "2.0 ms"
    assert "1.50 times" in said["Flicker"]


def test_everything_that_limits_a_stream_has_a_name():
    sources = (camera.Camera, address.Stream, scene.Scene, video.Video)
    kinds = [source.kind for source in sources]
    assert len(set(kinds)) == 4
    said = [bottleneck_words(Bottleneck(part)) for part in (*ENGINE_PARTS, "display", *kinds)]
    assert len(set(said)) == len(ENGINE_PARTS) + 5
    assert "video: 0 fps" in said[-1]


@pytest.mark.parametrize(
    ("flicker", "words"),
    [
        (None, ""),
        (Flicker(5.0, 2.0), "2.50 times the original's motion"),
        (Flicker(0.0, 0.0), "none, nothing changes"),
        (Flicker(3.0, 0.0), "3.0 of 255, the source is still"),
    ],
)
def test_flicker_is_told_over_the_motion_of_the_source(flicker, words):
    assert flicker_words(flicker) == words


def layered(count: int) -> Timings:
    """Return timings of a network of `count` residual blocks whose layers take 0.125 ms each."""
    names = (
        *(f"encoder/conv{number}" for number in (1, 2, 3)),
        *(f"residual blocks/res{n}.conv{k}" for n in range(1, count + 1) for k in (1, 2)),
        *(f"decoder/deconv{number}" for number in (1, 2, 3)),
    )
    groups = (("encoder", 0.375), ("residual blocks", count / 4), ("decoder", 0.375))
    network = 0.75 + count / 4
    return Timings(
        network=network, groups=groups, layers=tuple((name, 0.125) for name in names), upload=1.0
    )


def test_every_layer_has_a_row_beside_the_figures_below_its_group(reading):
    reading = replace(reading, timings=layered(5))
    first, second = overlay_columns(reading, result(), layers=True)
    assert dict(first)["Network"] == "2.0 ms"
    assert "    Encoder" not in dict(first)
    assert second[:3] == [
        ("Layers", "2.000 ms"),
        ("    Encoder", "0.375 ms"),
        ("        conv1", "0.125 ms"),
    ]
    assert ("        res3.conv2", "0.125 ms") in second
    assert second[-4:-2] == [("    Decoder", "0.375 ms"), ("        deconv1", "0.125 ms")]
    assert len(second) == 1 + 3 + 16
    (only,) = overlay_columns(reading, result())
    assert "    Encoder" in dict(only)


def test_where_no_layer_was_timed_the_overlay_says_why(reading):
    (rows,) = overlay_columns(reading, result(), layers=True)
    assert dict(rows)["Layers"] == "not timed yet"
    assert "    Encoder" in dict(rows)
    latency = LatencyStats(1.0, 1.0)
    comparison = Comparison(
        result().frame, result().frame, "Fused", latency, latency, 0.0, 90.0, "", True, 1,
        (32, 24), Precision.fp32,
    )  # fmt: skip
    compared = replace(result(), comparison=comparison)
    for timings in (reading.timings, layered(5)):
        reading = replace(reading, timings=timings)
        (rows,) = overlay_columns(reading, compared, brief=True, layers=True)
        assert dict(rows)["Layers"] == "not timed while comparing"


@pytest.mark.parametrize(
    ("width", "height", "blocks", "said"),
    [
        (970, 560, 5, "res5.conv2"),  # the viewport in a window of 1280x800
        (970, 560, 10, "res10.conv2"),
        (970, 300, 5, "res5.conv2"),
        (400, 240, 5, "shown in a larger window"),
    ],
)
def test_the_layers_fit_or_the_overlay_says_that_they_do_not(
    width, height, blocks, said, qtbot, reading
):
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.resize(width, height)
    reading = replace(reading, timings=layered(blocks))
    overlay = Overlay(lambda: reading, result, lambda _: None, parent)
    show_window(parent, qtbot)
    overlay.show_layers(True)
    assert said in overlay.accessibleDescription()
    assert parent.rect().contains(overlay.geometry())
    overlay.show_layers(False)
    assert said not in overlay.accessibleDescription()


def test_rates_that_are_not_known_are_left_out():
    assert "Camera" not in figures(StreamStats(), result())


def test_the_overlay_text_is_drawn_at_most_four_times_a_second(qtbot, reading):
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.resize(400, 400)
    asked: list[int] = []

    def read() -> StreamStats:
        asked.append(len(asked))
        return replace(reading, dropped=len(asked))

    overlay = Overlay(read, result, lambda _: None, parent)
    show_window(parent, qtbot)
    before = overlay.redraws
    for _ in range(40):  # as a stream does
        overlay.repaint()
        qtbot.wait(25)
    assert REDRAW_MS >= 250
    assert 1 <= overlay.redraws - before <= 5
    assert overlay.redraws == len(asked)
    assert "computing the style" in overlay.accessibleDescription()


def test_a_hidden_overlay_reads_nothing(qtbot, reading):
    parent = QWidget()
    qtbot.addWidget(parent)
    overlay = Overlay(lambda: pytest.fail("read"), result, lambda _: None, parent)
    overlay.hide()
    overlay.refresh()
    assert overlay.redraws == 0


def test_a_picture_that_stands_still_goes_on_showing_what_it_took():
    styled = replace(result(), timings=Timings(1.0, 0.5, 40.0, 0.7))
    said = figures(StreamStats(), styled)
    assert said["Network"] == "40.0 ms"
    assert "Paint" not in said
    assert "Dropped" not in said
