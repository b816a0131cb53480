"""Plain words for the network's device, the version of the style, and a speedup."""

from __future__ import annotations

import pytest

from app.engine.result import RunInfo
from app.live.stream_metrics import Bottleneck
from app.ui.speed.badge import badge_text, fps_text
from app.ui.speed.compiling import CompileWatch
from app.ui.speed.words import COMPILING, faster_words, plain_words
from app.ui.viewport.stats_rows import bottleneck_words
from kernels.jit import build
from models.precision import Precision
from tests.helpers.errors import mentions

DRIVER = "there is an NVIDIA driver, but PyTorch 2.9 is a CPU build"


@pytest.mark.parametrize(
    ("running", "automatic", "said"),
    [
        (
            RunInfo("Fused", Precision.fp32, "CPU", ("no CUDA device",), lite=True),
            True,
            "Runs on the processor. Fast version of the style, to keep the video smooth",
        ),
        (
            RunInfo("Fused", Precision.fp32, "CPU", (DRIVER,), lite=True),
            False,
            "Runs on the processor, since PyTorch cannot use the NVIDIA GPU. Fast version of the "
            "style",
        ),
        (
            RunInfo("Fused", Precision.fp16, "NVIDIA H200 (cuda:0)"),
            True,
            "Runs on NVIDIA H200. Fine version of the style",
        ),
        (
            RunInfo("Fused", Precision.fp32, "CPU", style="Candy 60 %, Udnie 40 %", mixed=True),
            True,
            "Runs on the processor. Fine version of Candy 60 %, Udnie 40 %",
        ),
    ],
)
def test_one_sentence_says_what_was_chosen_and_why(running, automatic, said):
    assert plain_words(running, automatic=automatic) == said


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (4.0, 9.2, "Faster now: 9 pictures a second instead of 4"),
        (1.24, 2.5, "Faster now: 2.5 pictures a second instead of 1.2"),
        (9.0, 10.0, ""),
        (0.0, 10.0, ""),
    ],
)
def test_that_it_got_faster_is_said_with_both_rates(before, after, said):
    assert faster_words(before, after) == said


def test_compiling_is_said_while_it_lasts_and_what_it_gained_after(qapp, monkeypatch):
    monkeypatch.setattr(build, "_reasons", {"conv": build.BUILDING})
    shown: list[str] = []
    said: list[str] = []
    fps = 4.0
    watch = CompileWatch(lambda: fps, shown.append, said.append, qapp)
    watch.look()
    watch.look()
    assert shown == [COMPILING]
    watch.compare()
    assert said == [], "not before it is done"
    monkeypatch.setattr(build, "_reasons", {"conv": ""})
    watch.look()
    assert shown == [COMPILING, ""]
    fps = 9.0
    watch.compare()
    watch.compare()
    (sentence,) = said
    assert mentions(sentence, "9 pictures a second", "4")
    watch.deleteLater()


def test_nothing_is_said_where_nothing_is_compiled(qapp, monkeypatch):
    monkeypatch.setattr(build, "_reasons", {"conv": "", "other": "no CUDA device"})
    shown: list[str] = []
    watch = CompileWatch(lambda: 4.0, shown.append, shown.append, qapp)
    watch.look()
    watch.compare()
    assert shown == []
    watch.deleteLater()


def test_the_figures_say_in_plain_words_what_slows_a_stream_down():
    assert "computing the style" in bottleneck_words(Bottleneck("network"))
    assert "camera: 30 fps" in bottleneck_words(Bottleneck("camera", 30.2))
    assert bottleneck_words(None) == ""


@pytest.mark.parametrize(
    ("painted", "shown", "text"),
    [
        (8.2, 29.7, "paints 8, shows 30"),
        (1.53, 30.0, "paints 1.5, shows 30"),
        (29.0, 30.0, fps_text(30.0)),
        (60.0, 30.0, fps_text(30.0)),  # a fast engine, of whose paintings the screen shows half
        (0.0, 30.0, fps_text(30.0)),
    ],
)
def test_the_badge_shows_both_rates_where_paintings_move(painted, shown, text):
    assert badge_text(painted, shown) == text
