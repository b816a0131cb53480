"""A stream through the session: its results, their age, and the reports of faults."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from itertools import pairwise
from statistics import median

import numpy as np
import pytest

from app.engine.engine import Engine
from app.engine.process_mode import ProcessMode
from app.frame import Frame
from app.live.session import Session
from tests.app.live.session.streams import Clockwork, give, styled_with
from tests.helpers.errors import mentions
from tests.helpers.sessions import end


def test_frames_arrive_styled(session, qtbot):
    source = give(session, Clockwork())
    result = styled_with(qtbot, session, style="candy")
    assert result.frame.pixels.shape == (48, 64, 3)
    assert not np.array_equal(result.frame.pixels, result.source.pixels)
    assert session.info == source.info


def test_the_properties_of_another_source_are_there_as_soon_as_it_is_open(session, qtbot):
    give(session, Clockwork())
    styled_with(qtbot, session)
    other = Clockwork()
    other.info = replace(other.info, title="another")
    give(session, other)
    assert session.info == other.info
    styled_with(qtbot, session)


def test_a_failing_source_ends_the_stream_with_a_problem_and_another_can_be_opened(session, qtbot):
    class Unplugged(Clockwork):
        def read(self, timeout: float = 0.02) -> Frame | None:
            raise OSError("the cable is gone")

    with qtbot.waitSignal(session.problem, timeout=5000) as blocker:
        give(session, Unplugged())
    assert mentions(blocker.args[0].summary, "clockwork", "the cable is gone")
    qtbot.waitUntil(lambda: session.info is None, timeout=2000)
    give(session, Clockwork())
    styled_with(qtbot, session)


def test_a_source_that_ails_says_so_and_says_when_it_is_well(session, qtbot):
    class Flaky(Clockwork):
        ill = False

        @property
        def status(self) -> str:
            return "The camera 'X' was unplugged; waiting for it to come back." if self.ill else ""

    source = Flaky()
    give(session, source)
    styled_with(qtbot, session)
    with qtbot.waitSignal(session.source_status, timeout=2000) as blocker:
        source.ill = True
    assert "unplugged" in blocker.args[0]
    with qtbot.waitSignal(session.source_status, timeout=2000) as blocker:
        source.ill = False
    assert blocker.args[0] == ""


def test_every_stretch_of_a_frame_is_timed(session, qtbot):
    session.config = replace(session.config, fluid=False)  # a busy machine would move paintings
    give(session, Clockwork())
    painted: list = []

    def paint(result):
        painted.append((result, time.perf_counter()))

    session.styled.connect(paint)
    qtbot.waitUntil(lambda: len(painted) > 3, timeout=10_000)
    result, now = painted[-1]
    timings = result.timings
    finished_ms = (result.finished_at - result.source.captured_at) * 1e3
    assert timings.wait + timings.total == pytest.approx(finished_ms, abs=0.5)
    assert timings.network > 0
    assert timings.resize > 0
    assert result.finished_at <= now


def test_an_engine_fault_is_said_once_and_the_next_choice_goes_on(session, qtbot):
    problems: list = []
    session.problem.connect(problems.append)
    infer = session.engine.infer

    def failing(frame, mode):
        if session.engine.config.kernels == "norm":
            raise RuntimeError("no such kernel")
        return infer(frame, mode)

    session.engine.infer = failing
    give(session, Clockwork())
    styled_with(qtbot, session)
    session.config = replace(session.config, kernels="norm")
    qtbot.waitUntil(lambda: bool(problems), timeout=5000)
    qtbot.wait(200)
    (problem,) = problems
    assert "no such kernel" in problem.summary
    session.config = replace(session.config, kernels="fused")
    styled_with(qtbot, session, kernels="fused")


def test_a_slow_reader_sees_the_newest_frame(session, qtbot):
    seen: list = []
    session.styled.connect(lambda r: (seen.append(r.frame.index), time.sleep(0.05)))
    give(session, Clockwork(200))
    qtbot.waitUntil(lambda: len(seen) > 10, timeout=10_000)
    gaps = [b - a for a, b in pairwise(seen)]
    assert min(gaps) > 0, "frames arrived out of order"
    assert max(gaps) > 1, "nothing was skipped"


def test_everything_on_a_source_happens_on_the_engines_thread(session, qtbot):
    source = give(session, Clockwork())
    styled_with(qtbot, session)
    session.shutdown()
    assert source.threads
    assert source.closed_on
    assert threading.get_ident() not in source.threads | set(source.closed_on)


def test_a_paused_source_still_answers_to_a_new_config(session, qtbot):
    give(session, Clockwork())
    styled_with(qtbot, session)
    session.paused = True
    qtbot.wait(200)
    session.config = replace(session.config, strength=0.1)
    result = styled_with(qtbot, session, strength=0.1)
    assert result.config.strength == 0.1


def test_an_engine_can_be_given(qtbot, catalog, config, native_kernels):
    class Slow(Engine):
        def infer(self, frame, mode=ProcessMode.LIVE):
            time.sleep(0.2)
            return super().infer(frame, mode)

    session = Session(catalog, config, engine=Slow(catalog))
    ages: list = []
    arrivals: list = []

    def note(result):
        arrivals.append(time.perf_counter())
        ages.append(arrivals[-1] - result.source.captured_at)

    session.styled.connect(note)
    try:
        give(session, Clockwork(60))
        qtbot.waitUntil(lambda: len(ages) >= 8, timeout=20_000)
    finally:
        end(session)
    # The newest frame wins: waiting for the engine costs one engine frame, never a queue.
    frame_time = median(b - a for a, b in pairwise(arrivals))
    assert median(ages) < 2 * frame_time


def test_results_that_come_faster_than_the_screen_shows_wait_for_it(session, qtbot):
    source = give(session, Clockwork())
    first = styled_with(qtbot, session)
    source.pause(True)
    session._worker.ready.disconnect(session.delivery.deliver)
    qtbot.wait(100)
    session.delivery._latest.take()
    session.delivery.refresh_rate, session.delivery._deliver_at = 2.0, 0.0
    shown: list = []
    session.styled.connect(lambda result: shown.append(result.frame.index))
    results = [replace(first, frame=replace(first.frame, index=n)) for n in range(4)]
    for result in results[:3]:
        session.delivery._latest.put(result)
        session.delivery.deliver()
    assert shown == [0]
    qtbot.waitUntil(lambda: len(shown) > 1, timeout=2000)
    assert shown == [0, 2], "the newest of those that waited"
    session.hold(True)
    session.delivery._latest.put(results[3])
    session.delivery.deliver()
    assert shown == [0, 2, 3], "a recording gets every result"


def test_of_a_fast_stream_the_screen_gets_the_next_result_not_one_that_waited(session, qtbot):
    source = give(session, Clockwork())
    first = styled_with(qtbot, session)
    source.pause(True)
    session._worker.ready.disconnect(session.delivery.deliver)
    qtbot.wait(100)
    session.delivery._latest.take()
    shown: list = []
    session.styled.connect(lambda result: shown.append(result.frame.index))
    results = [replace(first, frame=replace(first.frame, index=n)) for n in range(4)]
    session.delivery._latest.put(results[0])
    session.delivery._latest.put(results[1])  # at once, so that the reader expects another one
    session.delivery._deliver_at = 0.0
    session.delivery._on_time()
    assert shown == []
    assert session.delivery._latest.put(results[2]), "the next one is announced, though one waits"
    session.delivery.deliver()
    assert shown == [2]
    session.delivery._latest.put(results[3])
    session.delivery._deliver_at = 0.0
    session.delivery._on_time()
    qtbot.waitUntil(lambda: len(shown) > 1, timeout=2000)
    assert shown == [2, 3], "none came, so that the one that waited is shown"


def test_of_a_slow_stream_the_screen_gets_what_waits(session, qtbot):
    source = give(session, Clockwork())
    first = styled_with(qtbot, session)
    source.pause(True)
    session._worker.ready.disconnect(session.delivery.deliver)
    qtbot.wait(100)
    session.delivery._latest.take()
    shown: list = []
    session.styled.connect(lambda result: shown.append(result))
    session.delivery._latest.put(first)
    session.delivery._deliver_at = 0.0
    session.delivery._on_time()
    assert shown == [first]
