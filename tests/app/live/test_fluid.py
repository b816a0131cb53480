"""A stream that paints slowly shows its last painting where the scene has moved to."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from app.engine import display_path
from app.engine.config import EngineConfig
from app.engine.engine import Engine, inference, movers
from app.engine.process_mode import ProcessMode
from app.engine.result import StyledFrame, Timings
from app.errors import StyleForgeError
from app.frame import Frame, FrameSource, SourceInfo
from app.live import fluid, moves
from app.live.fluid import COUNTED, FAST_S, SLOW_S, Fluid
from app.live.frame_loop import FrameLoop
from app.live.loop_events import LoopEvents
from app.live.moves import BETWEEN_S, Moves, Taken
from app.live.stream_metrics import StreamMetrics
from models.webgpu_devices import is_webgpu, key_of, try_again
from tests.conftest import picture
from tests.helpers.software_gpu import software_gpu
from utils.opencv import cv2

PATIENCE_S = 90.0  # for a software GPU to compile


class Panned(FrameSource):
    """A camera over a large picture; each read delivers the next frame."""

    def __init__(self) -> None:
        self.info = SourceInfo("a test", 160, 96, 30.0)
        blurred = cv2.GaussianBlur(picture(400, 200, seed=4), (0, 0), 2.0)
        self._wide = np.asarray(blurred, np.uint8)
        self._index = 0
        self.waits: list[float] = []
        self.fault = ""

    def read(self, timeout: float = 0.02) -> Frame | None:
        self.waits.append(timeout)
        if self.fault:
            raise StyleForgeError(self.fault)
        self._index += 1
        right = self._index % 100
        pixels = np.ascontiguousarray(self._wide[40:136, right : right + 160])
        return Frame(pixels, self._index, time.perf_counter())

    def close(self) -> None: ...


class Every:
    """Takes every result, where LatestValue keeps the newest."""

    def __init__(self) -> None:
        self.all = []

    def put(self, styled) -> bool:
        self.all.append(styled)
        return False

    def take(self):
        return None


@pytest.fixture
def always(monkeypatch):
    """Make every painting a slow one."""
    monkeypatch.setattr(fluid, "SLOW_S", 0.0)
    monkeypatch.setattr(fluid, "FAST_S", 0.0)
    monkeypatch.setattr(fluid, "ENOUGH", 1)
    monkeypatch.setattr(fluid, "REST", 0.0)


@pytest.fixture
def stream(catalog, config, native_kernels, native_smoothing):
    engine, results, metrics, problems = Engine(catalog), Every(), StreamMetrics(), []
    loop = FrameLoop(engine, results, metrics, LoopEvents(problem=problems.append))  # type: ignore[arg-type]
    source = Panned()
    metrics.start("camera")
    loop.open(source)

    def play(steps: int = 3, **wanted):
        loop.configure(replace(config, size=96, **wanted))
        for _ in range(steps):
            loop.step()
        return results.all

    yield play, loop, source, metrics, problems
    loop.close()


def test_frames_between_two_paintings_show_the_last_one_moved(stream, always):
    play, _, source, metrics, problems = stream
    results = play()
    assert not problems
    assert [each.moved for each in results[:2]] == [False, True]
    assert all(each.moved for each in results[1:])
    indices = [each.source.index for each in results]
    assert indices == list(range(1, len(indices) + 1))  # every frame of the source, in order
    assert len(results) > 6  # several between two layers of each painting
    assert 0.0 in source.waits
    first, second = results[0], results[1]
    assert second.frame.pixels.shape == second.source.pixels.shape
    assert (second.frame.pixels != first.frame.pixels).any()
    assert second.timings.motion > 0
    assert second.timings.network == 0
    reading = metrics.stats(time.perf_counter())
    assert 0 < reading.painted_fps < reading.processed_fps
    assert reading.timings.network > 0
    assert reading.timings.motion > 0


@pytest.mark.parametrize("wanted", [{"fluid": False}, {"compare": True}], ids=str)
def test_a_stream_that_must_not_shows_every_painting_itself(stream, always, wanted):
    results = stream[0](**wanted)
    assert len(results) == 3
    assert not any(each.moved for each in results)


def test_paintings_in_good_time_are_shown_themselves(stream, monkeypatch):
    monkeypatch.setattr(fluid, "SLOW_S", 60.0)
    assert not any(each.moved for each in stream[0]())


def test_a_slider_acts_on_a_moved_painting_at_once(stream, always, config):
    play, loop, *_ = stream
    play(2)
    loop.wanted = replace(config, size=96, strength=0.0)
    results = play(1)
    last = results[-1]
    assert last.moved
    assert last.config.strength == 0
    assert (last.frame.pixels == last.source.pixels).all()


def test_another_style_is_not_mixed_with_the_painting_before(stream, always, catalog):
    play, *_ = stream
    results = play(2)
    count = len(results)
    other = next(each.key for each in catalog.styles if each.key != results[0].config.style)
    play(1, style=other)
    assert not results[count].moved


def test_a_source_that_fails_during_a_painting_is_reported_by_the_next_step(stream, always):
    play, loop, source, _, problems = stream
    play(2)
    infer = loop._engine.infer

    def failing(*args):
        source.fault = "it broke"
        return infer(*args)

    loop._engine.infer = failing
    loop.step()
    assert not problems
    loop.step()
    assert len(problems) == 1
    assert not loop.running


def test_a_painting_that_is_slow_once_changes_nothing_and_a_slow_stream_is_fluid():
    one = Fluid()
    one.painted(10 * SLOW_S)
    assert not one.active
    for _ in range(COUNTED):
        one.painted(FAST_S / 2)
    one.painted(10 * SLOW_S)
    assert not one.active
    for _ in range(COUNTED):
        one.painted(SLOW_S)
    assert one.active
    for _ in range(COUNTED):
        one.painted((SLOW_S + FAST_S) / 2)
    assert one.active  # between the two limits nothing changes
    for _ in range(COUNTED):
        one.painted(FAST_S / 2)
    assert not one.active
    one.painted(SLOW_S * 2)
    one.forget()
    assert not one.active


def test_moving_takes_a_third_of_the_time_at_most():
    one = Fluid()
    assert one.has_time(100.0)
    one.moved(100.0, 100.5)
    assert not one.has_time(101.4)
    assert one.has_time(101.5)


def test_a_wait_for_the_gpu_does_not_count_as_moving(monkeypatch):
    """A move ends 1 s after its frame was taken; the GPU ended other work for 0.9 s of it."""
    monkeypatch.setattr(moves, "time", SimpleNamespace(perf_counter=lambda: 100.0))
    taken = Taken(Frame(picture(8, 8), 1), Frame(picture(8, 8), 1), 99.0, 99.0)
    styled = SimpleNamespace(timings=Timings(queue=900.0))
    one = Moves(lambda timeout: taken, lambda taken: styled, lambda styled, taken: None)  # type: ignore[arg-type, return-value]
    one.show_newer()
    assert not one._fluid.has_time(100.19)
    assert one._fluid.has_time(100.21)


def test_the_default_is_fluid():
    assert EngineConfig().fluid


@pytest.mark.full
@pytest.mark.parametrize("shaders", [False, True])
def test_a_gpu_that_paints_slowly_moves_its_last_painting_meanwhile(
    stream, always, monkeypatch, shaders
):
    if shaders:  # as on hardware, between the pieces of paintings
        monkeypatch.setattr(movers, "by_shaders", is_webgpu)
        monkeypatch.setattr(inference, "MOVED_MS", 0.001)
    play, loop, *_, problems = stream
    ready = loop._engine.ready
    asked = []

    def slow(pending):
        asked.append(ready(pending))
        return len(asked) % 5 == 0 and ready(pending)

    monkeypatch.setattr(loop._engine, "ready", slow)
    try:
        results, end = play(1, device=key_of(software_gpu())), time.monotonic() + PATIENCE_S
        while len(asked) < 20 and time.monotonic() < end:  # the CPU paints while shaders compile
            loop.step()
    finally:
        try_again()
    assert not problems
    assert [each.moved for each in results[:1]] == [False]
    moved = [each for each in results if each.moved]
    assert len(moved) > 6
    indices = [each.source.index for each in moved]
    assert indices == sorted(set(indices))
    assert len(asked) >= 20
    assert any(each.timings.queue > 0 for each in moved) is shaders


class InFlight(Engine):
    """An engine with frames in flight, as on a GPU, each ready when it was asked five times."""

    def begin(self, frame, mode=ProcessMode.LIVE, newest=None, screen=None) -> Any:
        return [5, frame, mode]

    def ready(self, pending: Any) -> bool:
        pending[0] -= 1
        return pending[0] < 0

    def complete(self, pending: Any) -> StyledFrame:
        _, frame, mode = pending
        return replace(self.process(frame, mode), timings=SLOW)

    def discard(self, pending: Any) -> None: ...


SLOW = Timings(network=80.0, queue=80.0, upload=1.0)


@pytest.fixture
def in_flight(catalog, config, native_kernels, native_smoothing, always):
    """Yield a loop, its source, its results and the times of its waits, all in no time at all."""
    results, source = Every(), Panned()
    loop = FrameLoop(InFlight(catalog), results, StreamMetrics())  # type: ignore[arg-type]
    loop.open(source)
    loop.configure(replace(config, size=96))
    yield loop, source, results.all
    loop.close()


def test_while_frames_overlap_every_frame_of_the_source_is_shown_in_order(in_flight):
    loop, _, results = in_flight
    for _ in range(6):
        loop.step()
    assert [each.moved for each in results[:2]] == [False, True]
    assert all(each.moved for each in results[1:])
    indices = [each.source.index for each in results]
    assert indices == sorted(set(indices))
    assert len(results) > 15


def test_before_the_next_frame_is_due_newer_frames_are_shown(in_flight, monkeypatch):
    loop, source, results = in_flight
    for _ in range(4):
        loop.step()
    count, waits = len(results), []
    monkeypatch.setattr(time, "sleep", waits.append)
    loop._moves.wait(time.perf_counter() + 0.01)
    assert len(results) > count
    assert not waits
    assert max(source.waits[-len(results) + count :]) <= BETWEEN_S
    loop._moves.forget()
    loop._moves.wait(time.perf_counter() + 0.01)
    assert len(waits) == 1


def test_while_no_newer_frame_comes_the_painting_under_way_is_waited_for(in_flight, monkeypatch):
    loop, source, results = in_flight
    for _ in range(4):
        loop.step()
    count = len(results)
    monkeypatch.setattr(source, "read", lambda timeout=0.02: None)
    loop._pacing.due = 0.0
    loop.step()
    assert loop._under_way is None
    assert len(results) == count, "a newer frame is shown already"


def test_a_stream_that_is_paused_paints_the_frame_it_moved_to(in_flight, monkeypatch):
    loop, source, results = in_flight
    for _ in range(4):
        loop.step()
    assert results[-1].moved
    monkeypatch.setattr(source, "read", lambda timeout=0.02: None)
    loop.pause(True)
    for _ in range(3):
        loop.step()
    assert not results[-1].moved
    assert results[-1].source.index == max(each.source.index for each in results)


@pytest.mark.gpu
def test_on_a_gpu_a_slow_stream_moves_its_last_painting_meanwhile(stream, always, monkeypatch):
    monkeypatch.setattr(display_path, "MOVED_MS", 0.0)
    play, loop, *_, problems = stream
    ready, asked = loop._engine.ready, []

    def slow(pending):
        asked.append(ready(pending))
        return len(asked) % 5 == 0 and ready(pending)

    monkeypatch.setattr(loop._engine, "ready", slow)
    results = play(12, device="cuda", style="candy")
    assert not problems
    moved = [each for each in results if each.moved]
    assert len(moved) > 20
    indices = [each.source.index for each in moved]
    assert indices == sorted(set(indices))
