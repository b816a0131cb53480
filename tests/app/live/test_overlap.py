"""If frames stay on a GPU, the loop begins the next frame before it waits for the current one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from app.engine.engine import Engine, EngineError
from app.engine.process_mode import ProcessMode
from app.engine.result import Timings
from app.errors import Problem
from app.frame import Frame, FrameSource, SourceInfo
from app.live.frame_loop import FrameLoop
from app.live.latest_value import LatestValue
from app.live.loop_events import LoopEvents
from app.live.pacing import EARLY_S, LONGEST_S
from app.live.stream_metrics import StreamMetrics
from tests.conftest import picture


class Overlapping(Engine):
    """An engine with frames in flight, as on a GPU; `log` records its calls."""

    def __init__(self, *given) -> None:
        super().__init__(*given)
        self.log: list[tuple[str, int]] = []
        self.fails_at = -1

    def begin(self, frame, mode=ProcessMode.LIVE, newest=None, screen=None) -> Any:
        self.log.append(("begin", frame.index))
        return frame, mode

    def complete(self, pending: Any):
        frame, mode = pending
        self.log.append(("complete", frame.index))
        if frame.index == self.fails_at:
            raise EngineError("out of memory")
        return self.process(frame, mode)

    def discard(self, pending: Any):
        self.log.append(("discard", pending[0].index))


class Given(FrameSource):
    kind = "camera"

    def __init__(self) -> None:
        self.info = SourceInfo("a test", 64, 48)
        self.frames: list[Frame] = []
        self.waits: list[float] = []

    def read(self, timeout: float = 0.02) -> Frame | None:
        self.waits.append(timeout)
        return self.frames.pop(0) if self.frames else None

    def close(self) -> None:
        """Do nothing: nothing is open."""


@pytest.fixture
def engine(catalog, native_kernels) -> Overlapping:
    return Overlapping(catalog)


@pytest.fixture
def latest() -> LatestValue:
    return LatestValue()


@pytest.fixture
def source() -> Given:
    return Given()


@pytest.fixture
def problems() -> list[Problem]:
    return []


@pytest.fixture
def loop(engine, latest, config, source, problems) -> Iterator[FrameLoop]:
    """Yield a loop that runs on the test's own thread."""
    events = LoopEvents(problem=problems.append)
    loop = FrameLoop(engine, latest, StreamMetrics(), events)
    loop.wanted = config
    loop.configure(config)
    loop.open(source)
    yield loop
    loop.close()


def test_the_next_frame_is_begun_before_the_one_ahead_is_waited_for(loop, engine, source, latest):
    source.frames = [Frame(picture(seed=n), n) for n in range(3)]
    shown = []
    for _ in range(4):
        loop.step()
        if (result := latest.take()) is not None:
            shown.append(result.frame.index)
    order = [("begin", 0), ("begin", 1), ("complete", 0), ("begin", 2), ("complete", 1)]
    assert engine.log == [*order, ("complete", 2)]
    assert shown == [0, 1, 2]


def test_a_frame_that_no_other_follows_is_not_held_back(loop, engine, source, latest):
    source.frames = [Frame(picture(), 0)]
    loop.step()
    assert latest.take() is None
    loop.step()
    assert latest.take() is not None
    assert source.waits[1] == 0, "nothing is waited for before it is known what a frame takes"
    loop.step()
    assert source.waits[2] > 0


@pytest.mark.parametrize(
    ("computed", "waited"), [(8.0, 0.008), (900.0, LONGEST_S)], ids=["a short frame", "a long one"]
)
def test_the_next_frame_may_come_until_the_one_under_way_is_done(
    computed, waited, loop, engine, source, latest, monkeypatch
):
    complete = engine.complete
    spent = Timings(network=computed / 2, blend=computed / 4, download=computed / 4)
    monkeypatch.setattr(engine, "complete", lambda given: replace(complete(given), timings=spent))
    source.frames = [Frame(picture(), 0)]
    loop.step()
    loop.step()
    source.frames = [Frame(picture(), 1)]
    loop.step()
    monkeypatch.setattr(loop._pacing, "due", 0.0)
    now = time.perf_counter()
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    monkeypatch.setattr(loop._pacing, "ends", now + computed / 1e3)
    loop.step()
    assert source.waits[-1] == pytest.approx(waited, abs=2 * EARLY_S)


def test_its_times_add_up_to_the_time_since_its_capture(loop, source, latest):
    source.frames = [Frame(picture(), 0)]
    loop.step()
    loop.step()
    result = latest.take()
    assert result is not None
    spent = (result.finished_at - result.source.captured_at) * 1e3
    assert result.timings.wait + result.timings.total == pytest.approx(spent, abs=0.01)


@pytest.mark.parametrize(
    "act", [lambda w: w.seek(1.0), lambda w: w.step_source(1), lambda w: w.open(Given())],
    ids=["seek", "step", "another source"],
)  # fmt: skip
def test_a_frame_under_way_is_given_up_with_its_place_in_the_stream(
    act, loop, engine, source, latest
):
    source.frames = [Frame(picture(), 7)]
    loop.step()
    act(loop)
    assert engine.log == [("begin", 7), ("discard", 7)]
    loop.step()
    assert latest.take() is None


def test_a_frame_that_fails_is_told_and_the_next_one_is_given_up(
    loop, engine, source, latest, problems
):
    engine.fails_at = 0
    source.frames = [Frame(picture(), 0), Frame(picture(), 1)]
    loop.step()
    loop.step()
    assert len(problems) == 1
    assert not loop.running
    assert engine.log[-1] == ("discard", 1)
    assert latest.take() is None


def test_while_paused_and_for_pictures_frames_do_not_overlap(loop, engine, source, latest):
    loop.pause(True)
    source.frames = [Frame(picture(), 0)]
    loop.step()
    assert latest.take() is not None
    loop.pause(False)
    source.live = False
    source.frames = [Frame(picture(), 1)]
    loop.step()
    assert latest.take() is not None
    assert engine.log == []


def test_the_next_frame_is_read_late_enough_to_be_young_when_it_is_painted(
    loop, source, monkeypatch
):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    loop._under_way = object()
    loop._pacing.due = time.perf_counter() + 0.5
    monkeypatch.setattr(loop, "_complete_under_way", lambda: None)
    loop.step()
    assert slept == [pytest.approx(0.5, abs=0.2)]
    loop._under_way = None


@pytest.mark.parametrize(
    ("queue", "later"), [(0.0, 0.0), (100.0, 100.0), (900.0, 500.0)],
    ids=["the GPU waited", "a short queue", "a long queue"],
)  # fmt: skip
def test_the_next_frame_is_due_when_half_of_the_one_under_way_is_computed(
    queue, later, loop, engine, source, latest, monkeypatch
):
    complete = engine.complete

    def slow(pending):
        timings = Timings(upload=1.0, network=1000.0, queue=queue)
        return replace(complete(pending), timings=timings)

    monkeypatch.setattr(engine, "complete", slow)
    source.frames = [Frame(picture(), 0)]
    loop.step()
    loop.step()
    assert loop._pacing.due - time.perf_counter() == pytest.approx(later / 1e3, abs=0.05)


def test_a_frame_that_is_scaled_behind_its_upload_is_due_earlier(
    loop, engine, source, latest, monkeypatch
):
    complete = engine.complete
    timings = Timings(upload=200.0, resize=300.0, network=1000.0, queue=900.0)
    monkeypatch.setattr(engine, "complete", lambda given: replace(complete(given), timings=timings))
    source.frames = [Frame(picture(), 0)]
    loop.step()
    loop.step()
    # Due twice the upload and scaling time before the frame ahead ends, at 1.3 s.
    assert loop._pacing.due - time.perf_counter() == pytest.approx(0.3, abs=0.05)
