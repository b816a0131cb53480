"""A stopwatch measures the stages of one frame; on a GPU, the next frame reuses its events."""

from __future__ import annotations

from typing import ClassVar

import pytest
import torch

from app.engine import stage_timer
from app.engine.stage_timer import Stopwatch

GPU = torch.device("cuda", 0)


class Event:
    """A CUDA event on a stream that reaches one mark per millisecond."""

    made: ClassVar[int] = 0
    waited: ClassVar[int] = 0
    now: ClassVar[float] = 0.0

    def __init__(self, *, enable_timing: bool) -> None:
        assert enable_timing
        Event.made += 1

    def record(self, _stream) -> None:
        Event.now += 1.0
        self.at = Event.now

    def synchronize(self) -> None:
        Event.waited += 1

    def elapsed_time(self, end: Event) -> float:
        return end.at - self.at


@pytest.fixture
def events(monkeypatch):
    monkeypatch.setattr(Event, "made", 0)
    monkeypatch.setattr(Event, "waited", 0)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(stage_timer, "current_stream", lambda _index: None)
    return Event


def test_the_stages_of_a_frame_are_told_by_name(events):
    clock = Stopwatch(GPU, running=False)
    for name in ("start", "upload", "encoder/conv1", "encoder/conv2", "decoder", "download"):
        clock.mark(name)
    timings = clock.read()
    assert (timings.upload, timings.network, timings.download) == (1.0, 3.0, 1.0)
    assert timings.groups == (("encoder", 2.0), ("decoder", 1.0))
    assert timings.layers == (("encoder/conv1", 1.0), ("encoder/conv2", 1.0))


def test_after_a_reset_the_same_events_time_the_next_frame_alone(events):
    clock = Stopwatch(GPU, running=False)
    for names in (
        ("start", "upload", "encoder", "decoder", "download"),
        ("start", "blend"),
        ("start", "upload", "encoder", "decoder", "blend", "download"),
    ):
        for name in names:
            clock.mark(name)
        timings = clock.read()
        assert timings.engine == len(names) - 1
        assert [name for name, _ in timings.groups] == [
            name for name in names if name in ("encoder", "decoder")
        ]
        clock.reset()
    assert events.made == 6


def test_the_last_stage_is_waited_for_unless_that_was_done(events):
    clock = Stopwatch(GPU)
    clock.mark("upload")
    assert clock.read(wait=False) == clock.read()
    assert events.waited == 1


def test_on_the_cpu_a_reset_begins_anew_too():
    clock = Stopwatch(torch.device("cpu"))
    clock.mark("upload")
    assert clock.read().upload > 0
    clock.reset()
    clock.mark("start")
    clock.mark("blend")
    timings = clock.read()
    assert timings.upload == 0.0
    assert timings.blend > 0


def test_other_work_does_not_count():
    clock = Stopwatch(torch.device("cpu"))
    clock.exclude(1000.0)
    clock.mark("network")
    clock.mark("download")
    spent = clock.read()
    assert -1_000_000 <= spent.network < -900_000  # ms: all of it was taken off, once
    assert spent.download >= 0
