"""The frame loop runs without Qt, step by step, and reports events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.engine.config import EngineConfig
from app.errors import StyleForgeError
from app.frame import Frame, FrameSource, SourceInfo
from app.live.frame_loop import FrameLoop
from app.live.latest_value import LatestValue
from app.live.loop_events import LoopEvents
from app.live.stream_metrics import StreamMetrics
from tests.conftest import picture
from tests.helpers.errors import mentions
from tests.helpers.fakes import Negative


class Given(FrameSource):
    def __init__(self, width: int = 640, height: int = 480) -> None:
        self.info = SourceInfo("a test", width, height)
        self.frame = Frame(picture(width, height))
        self.fault = ""
        self.closed = False

    def read(self, timeout: float = 0.02) -> Frame | None:
        if self.fault:
            raise StyleForgeError(self.fault)
        return self.frame

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def latest() -> LatestValue:
    return LatestValue()


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def loop(latest, said) -> Iterator[FrameLoop]:
    events = LoopEvents(
        problem=lambda problem: said.append(problem.summary),
        info_changed=lambda info: said.append(info.title),
        ended=lambda: said.append("ended"),
    )
    loop = FrameLoop(Negative(), latest, StreamMetrics(), events)  # type: ignore[arg-type]
    yield loop
    loop.close()


def size(latest: LatestValue) -> tuple[int, int]:
    result = latest.take()
    assert result is not None
    return result.frame.width, result.frame.height


def test_a_step_does_nothing_before_there_are_a_source_and_a_config(loop, latest):
    loop.step()
    loop.open(Given())
    loop.step()
    assert not loop.running
    assert latest.take() is None
    loop.configure(EngineConfig())
    assert loop.running
    loop.step()
    assert size(latest) == (640, 480)


@pytest.mark.parametrize(
    ("display", "least", "made"),
    [
        ((0, 0), (0, 0), (640, 480)),
        ((160, 120), (0, 0), (160, 120)),
        ((160, 120), (320, 240), (320, 240)),
        ((320, 240), (160, 120), (320, 240)),
        ((0, 0), (160, 120), (160, 120)),
        ((160, 120), (1280, 720), (640, 480)),
    ],
)
def test_frames_are_as_large_as_the_display_or_another_taker_needs_them(
    loop, latest, display, least, made
):
    loop.set_display_size(*display)
    loop.set_least_size(*least)
    loop.configure(EngineConfig())
    loop.open(Given())
    loop.step()
    assert size(latest) == made


def test_a_source_that_fails_is_closed_and_told(loop, said):
    source = Given()
    loop.configure(EngineConfig())
    loop.open(source)
    source.fault = "it broke"
    loop.step()
    first, fault, last = said
    assert (first, last) == ("a test", "ended")
    assert mentions(fault, "a test", "it broke")
    assert source.closed
    assert not loop.running


def test_the_thread_is_free_between_frames_but_not_in_comparisons_and_recordings(loop):
    loop.open(Given())
    loop.configure(EngineConfig())
    assert loop.between() is None  # the first result is still pending
    loop.step()
    between = loop.between()
    assert between is not None
    assert between.moving
    loop.configure(EngineConfig(compare=True))
    loop.step()
    assert loop.between() is None
    loop.configure(EngineConfig())
    loop.step()
    loop.hold(True)
    assert loop.between() is None
    loop.hold(False)
    assert loop.between() is not None


def test_another_network_stops_the_picture_under_way_and_a_slider_does_not(loop):
    config = EngineConfig()
    loop.wanted = config
    loop.open(Given())
    loop.configure(config)
    loop.wanted = replace(config, strength=0.5)
    assert not loop.interrupted.is_set()
    loop.wanted = replace(config, style="mosaic")
    assert loop.interrupted.is_set()
    loop.configure(replace(config, strength=0.5))  # an older choice
    assert loop.interrupted.is_set()
    loop.configure(loop.wanted)
    assert not loop.interrupted.is_set()
