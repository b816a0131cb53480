"""The session streams, takes commands between frames and never shows what was not chosen."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import TypeVar

import numpy as np
import pytest
import torch

from app.engine.config import EngineConfig, same_choice
from app.engine.engine import Engine
from app.engine.process_mode import ProcessMode
from app.errors import Problem
from app.frame import Frame, FrameSource, SourceInfo
from app.live.session import Session
from models.families import any_style
from models.network_config import NetworkConfig
from models.precision import Precision
from models.transformer_net import TransformerNetBaseline
from tests.conftest import add_style, picture
from tests.helpers.sessions import end

SMALL = NetworkConfig(1, (4, 4, 6), 3)


class Clockwork(FrameSource):
    """Frames at a fixed rate, the newest one only, as a camera gives them."""

    kind = "camera"

    def __init__(self, fps: float = 60, width: int = 64, height: int = 48) -> None:
        self.info = SourceInfo("clockwork", width, height, fps)
        self._pixels = [picture(width, height, seed) for seed in range(8)]
        self._fps = fps
        self._start = time.perf_counter()
        self._last = -1
        self._paused = False
        self.threads: set[int] = set()
        self.closed_on: list[int] = []

    def read(self, timeout: float = 0.02) -> Frame | None:
        self.threads.add(threading.get_ident())
        deadline = time.perf_counter() + timeout
        while (now := time.perf_counter()) < deadline:
            index = int((now - self._start) * self._fps)
            if index > self._last and not self._paused:
                self._last = index
                return Frame(self._pixels[index % 8], index, self._start + index / self._fps)
            time.sleep(0.001)
        return None

    def pause(self, paused: bool) -> None:
        self._paused = paused

    def close(self) -> None:
        self.closed_on.append(threading.get_ident())


class Still(Clockwork):
    """One picture, delivered once."""

    live = False

    def read(self, timeout: float = 0.02) -> Frame | None:
        if self._last < 0:
            self._last = 0
            return Frame(self._pixels[0])
        time.sleep(timeout)
        return None


@pytest.fixture
def session(qtbot, library, config, native_kernels):
    session = Session(library, config)
    yield session
    end(session)


S = TypeVar("S", bound=FrameSource)


def give(session: Session, source: S) -> S:
    session.play(source)
    return source


def styled_with(qtbot, session, **wanted):
    """The first result whose config has `wanted`."""

    def matches(result):
        return all(getattr(result.config, k) == v for k, v in wanted.items())

    with qtbot.waitSignal(session.styled, timeout=10_000, check_params_cb=matches) as blocker:
        pass
    return blocker.args[0]


def test_frames_arrive_styled(session, qtbot):
    source = give(session, Clockwork())
    result = styled_with(qtbot, session, style="candy")
    assert result.frame.pixels.shape == (48, 64, 3)
    assert not np.array_equal(result.frame.pixels, result.source.pixels)
    assert session.info == source.info


@pytest.mark.parametrize(
    "change",
    [
        {"kernels": "baseline"},
        {"kernels": "norm"},
        {"precision": Precision.bf16},
        {"strength": 0.25},
        {"keep_colors": True},
        {"size": 96},
        {"compare": True},
    ],
    ids=str,
)
def test_a_change_while_streaming_takes_effect_within_two_frames(session, qtbot, change):
    processed: list = []
    finish = session.engine.finish

    def spy(inferred, newest=None):
        processed.append(finish(inferred, newest))
        return processed[-1]

    session.engine.finish = spy
    give(session, Clockwork())
    styled_with(qtbot, session)
    wanted = replace(session.config, **change)
    count = len(processed)
    session.config = wanted
    styled_with(qtbot, session, **change)
    made_since = [result.config == wanted for result in processed[count:]]
    assert True in made_since[:3], "more than two frames were made with the old config"


def test_no_picture_of_a_choice_given_up_is_ever_shown(session, qtbot):
    wrong: list = []

    def check(result):
        if not same_choice(result.config, session.config):
            wrong.append(result.config)

    session.styled.connect(check)
    give(session, Clockwork())
    styled_with(qtbot, session)
    for n in range(30):
        session.config = replace(
            session.config,
            kernels=("baseline", "norm", "fused")[n % 3],
            strength=1 - n / 100,
            size=(64, 80)[n % 2],
        )
        qtbot.wait(15)
    styled_with(qtbot, session, strength=session.config.strength)
    assert not wrong


def test_a_dragged_slider_keeps_the_picture_moving(session, qtbot):
    shown: list = []
    session.styled.connect(lambda r: shown.append(r.config.strength))
    give(session, Clockwork())
    styled_with(qtbot, session)
    shown.clear()
    for n in range(60):
        session.config = replace(session.config, strength=n / 100)
        qtbot.wait(10)
    assert len(set(shown)) > 5


def test_a_dragged_mix_keeps_the_picture_moving_and_ends_at_what_was_chosen(
    session, qtbot, tmp_path
):
    add_style(tmp_path, "first", 1, SMALL)
    add_style(tmp_path, "second", 2, SMALL)
    session.library.reload()
    session.config = replace(session.config, style="first", mix="second", mix_amount=0.0)
    shown: list = []
    session.styled.connect(lambda r: shown.append(r.config.mix_amount))
    give(session, Clockwork())
    styled_with(qtbot, session, mix="second")
    shown.clear()
    for n in range(60):
        session.config = replace(session.config, mix_amount=n / 100)
        qtbot.wait(10)
    assert len(set(shown)) > 5
    styled_with(qtbot, session, mix_amount=0.59)


def test_a_kept_mix_that_cannot_be_gives_way_to_its_first_style(qtbot, library, config, tmp_path):
    add_style(tmp_path, "first", 1, SMALL)
    library.reload()
    session = Session(library, replace(config, style="first", mix="candy"))
    try:
        qtbot.waitUntil(lambda: session.config.mix is None, timeout=5000)
        assert session.config.style == "first"
    finally:
        end(session)


def test_an_installed_style_is_shown_alone(session, qtbot, tmp_path):
    torch.save(TransformerNetBaseline(1).state_dict(), tmp_path / "mine.pth")
    add_style(tmp_path, "second", 2, SMALL)
    session.library.reload()
    session.config = replace(session.config, mix="second")
    with qtbot.waitSignal(session.styles_changed, timeout=10_000):
        session.user_styles.install(tmp_path / "mine.pth")
    assert (session.config.style, session.config.mix) == ("mine", None)


def test_a_style_that_is_removed_is_mixed_in_no_more(session, qtbot, tmp_path):
    add_style(tmp_path, "first", 1, SMALL)
    add_style(tmp_path, "second", 2, SMALL)
    session.library.reload()
    session.config = replace(session.config, style="first", mix="second")
    give(session, Clockwork())
    styled_with(qtbot, session, mix="second")
    session.user_styles.remove("second")
    result = styled_with(qtbot, session, mix=None)
    assert result.running.style == "First"


def test_a_refused_choice_is_reported_the_old_one_returns_and_the_stream_goes_on(session, qtbot):
    give(session, Clockwork())
    before = session.config
    with qtbot.waitSignal(session.problem, timeout=5000) as blocker:
        session.config = replace(session.config, style="cundy")
    assert "did you mean candy" in blocker.args[0].summary
    assert blocker.args[0].details
    styled_with(qtbot, session, style="candy")
    assert session.config == before


def test_a_failing_source_ends_the_stream_with_a_problem_and_another_can_be_opened(session, qtbot):
    class Unplugged(Clockwork):
        def read(self, timeout: float = 0.02) -> Frame | None:
            raise OSError("the cable is gone")

    with qtbot.waitSignal(session.problem, timeout=5000) as blocker:
        give(session, Unplugged())
    assert blocker.args[0].summary == "Could not read clockwork: the cable is gone"
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
    assert [p.summary for p in problems] == ["Could not style this frame: no such kernel"]
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


def test_a_still_picture_is_styled_again_when_the_config_changes_and_then_rests(session, qtbot):
    results: list = []
    session.styled.connect(results.append)
    give(session, Still())
    qtbot.waitUntil(lambda: bool(results), timeout=5000)
    qtbot.wait(300)
    assert len(results) == 1
    session.config = replace(session.config, strength=0.5)
    qtbot.waitUntil(lambda: len(results) > 1, timeout=5000)
    qtbot.wait(200)
    assert len(results) == 2


def test_a_still_picture_at_the_automatic_size_is_refined(session, qtbot, monkeypatch):
    monkeypatch.setattr("app.engine.adaptation.STROKE_SIZE", 64)
    sizes: list = []
    session.styled.connect(lambda r: sizes.append(r.size))
    session.config = replace(session.config, size=None)
    give(session, Still(width=320, height=240))
    qtbot.waitUntil(lambda: len(sizes) >= 2, timeout=15_000)
    assert sizes[-1] > sizes[0]


def test_refining_a_still_picture_is_told_from_its_begin_to_its_end(session, qtbot, monkeypatch):
    monkeypatch.setattr("app.engine.adaptation.STROKE_SIZE", 64)
    told: list[float] = []
    session.refining.connect(told.append)
    session.config = replace(session.config, size=None)
    give(session, Still(width=320, height=240))
    qtbot.waitUntil(lambda: 0.0 in told, timeout=15_000)
    assert len(told) == 2
    assert told[0] > 0, "expected by the time of the first result"


def test_comparing_a_still_picture_goes_on_measuring(session, qtbot):
    give(session, Still())
    session.config = replace(session.config, compare=True)
    counted: list = []
    session.styled.connect(lambda r: counted.append(r.comparison.frames) if r.comparison else None)
    qtbot.waitUntil(lambda: bool(counted) and counted[-1] > 5, timeout=10_000)


def test_a_paused_source_still_answers_to_a_new_config(session, qtbot):
    give(session, Clockwork())
    styled_with(qtbot, session)
    session.paused = True
    qtbot.wait(200)
    session.config = replace(session.config, strength=0.1)
    result = styled_with(qtbot, session, strength=0.1)
    assert result.config.strength == 0.1


def test_kernels_are_made_ready_for_styles_first_and_then_for_pictures_as_styles(session, qtbot):
    found: list[set[str]] = []
    session.kernels_changed.connect(lambda statuses: found.append({s.name for s in statuses}))
    session.prepare_kernels()
    qtbot.waitUntil(lambda: len(found) == 2, timeout=60_000)
    styles, pictures = found
    assert "fused_instance_norm" in styles
    assert {"fused_token_norm", "fused_attention"} <= pictures
    assert not styles & pictures


def test_a_network_loads_its_libraries_once_its_kernels_are_ready(session, qtbot, monkeypatch):
    order: list[str] = []
    warm_up = lambda _family, device, _networks: order.append(device.type)  # noqa: E731
    monkeypatch.setattr(any_style.AnyStyleFamily, "warm_up", warm_up)
    session.kernels_changed.connect(lambda _: order.append("kernels"))
    session.prepare_kernels()
    qtbot.waitUntil(lambda: len(order) == 3, timeout=60_000)
    assert order == ["kernels", "cpu", "kernels"]


def test_saying_the_same_thing_twice_says_nothing(session, qtbot):
    with qtbot.assertNotEmitted(session.config_changed):
        session.config = replace(session.config)


def test_opening_names_what_it_opens_and_a_missing_file_is_one_sentence(session, qtbot, tmp_path):
    said: list = []
    session.opening_changed.connect(said.append)
    with qtbot.waitSignal(session.problem, timeout=5000) as blocker:
        session.open(str(tmp_path / "holiday.mp4"))
    assert "holiday.mp4" in blocker.args[0].summary
    assert "holiday.mp4" in said[0]
    assert said[-1] == ""


def test_the_last_of_two_sources_opened_at_once_wins(session, qtbot, tmp_path):
    from utils.images.writing import write_pixels

    for name in ("first.png", "second.png"):
        write_pixels(tmp_path / name, picture())
    session.open(str(tmp_path / "first.png"))
    with qtbot.waitSignal(session.source_changed, timeout=5000) as blocker:
        session.open(str(tmp_path / "second.png"))
    assert "second" in blocker.args[0].title
    assert session.spec == str(tmp_path / "second.png")


def test_installing_a_style_chooses_it(session, qtbot, tmp_path):
    torch.save(TransformerNetBaseline(1).state_dict(), tmp_path / "mine.pth")
    give(session, Clockwork())
    with qtbot.waitSignal(session.styles_changed, timeout=5000):
        session.user_styles.install(tmp_path / "mine.pth")
    result = styled_with(qtbot, session, style="mine")
    assert session.library.get("mine").title == "Mine"
    session.user_styles.remove("mine")
    result = styled_with(qtbot, session, style="candy")
    assert result.config.style == "candy"


def test_precision_that_breaks_is_noticed_in_the_window_too(session, qtbot, monkeypatch):
    forward = TransformerNetBaseline.forward
    monkeypatch.setattr(
        TransformerNetBaseline,
        "forward",
        lambda self, x, mark=None: (
            forward(self, x, mark) * (torch.nan if x.dtype is torch.float16 else 1)
        ),
    )
    give(session, Clockwork())
    with qtbot.waitSignal(session.notice, timeout=10_000) as blocker:
        session.config = replace(session.config, kernels="baseline", precision=Precision.fp16)
    assert blocker.args[0] == "FP16 gave a broken picture with Candy; using BF16"


def test_shutting_down_while_a_source_is_being_opened_is_clean(qtbot, library, config):
    session = Session(library, config)
    session.open("scene")
    end(session)
    assert not session._thread.isRunning()


def test_a_source_whose_opening_ends_as_the_session_does_is_closed(
    qtbot, library, config, monkeypatch
):
    source, opened = Clockwork(), threading.Event()

    def open_source(spec):
        opened.set()
        return source

    monkeypatch.setattr("app.live.session.opening.open_source", open_source)
    session = Session(library, config)
    session.open("clockwork")
    assert opened.wait(5)
    time.sleep(0.2)  # the job ends; its result waits for the event loop, which runs no more
    end(session)
    assert source.closed_on


def test_a_source_that_opens_after_the_session_ended_is_closed(qtbot, library, config, monkeypatch):
    source, begun, may_open = Clockwork(), threading.Event(), threading.Event()

    def open_source(spec):
        begun.set()
        assert may_open.wait(10)
        return source

    monkeypatch.setattr("app.live.session.opening.open_source", open_source)
    session = Session(library, config)
    session.open("clockwork")
    assert begun.wait(5)
    end(session)
    assert not source.closed_on
    may_open.set()
    qtbot.waitUntil(lambda: bool(source.closed_on), timeout=5000)


def test_a_source_that_the_worker_never_took_is_closed(qtbot, library, config, native_kernels):
    """It was played while the worker was busy, and the session ended before the worker was free."""
    busy, go_on = threading.Event(), threading.Event()

    class Slow(Clockwork):
        def read(self, timeout: float = 0.02) -> Frame | None:
            busy.set()
            assert go_on.wait(10)
            return super().read(timeout)

    session = Session(library, config)
    session.play(Slow())
    assert busy.wait(10)
    never_taken = give(session, Clockwork())
    threading.Timer(0.3, go_on.set).start()  # `shutdown` waits for the worker
    end(session)
    assert never_taken.closed_on


def test_an_engine_can_be_given(qtbot, library, config, native_kernels):
    class Slow(Engine):
        def infer(self, frame, mode=ProcessMode.LIVE):
            time.sleep(0.2)
            return super().infer(frame, mode)

    session = Session(library, config, engine=Slow(library))
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


def test_a_device_that_is_gone_gives_way_to_whatever_there_is(qtbot, library, config):
    gone = Session(library, replace(config, device="cuda:99"))
    problems: list[Problem] = []
    gone.problem.connect(problems.append)
    try:
        with qtbot.waitSignal(gone.styled, timeout=20_000):
            gone.open("scene")
        assert gone.config == replace(config, device="auto")
        assert "cuda:99" in problems[0].summary
    finally:
        end(gone)


def test_a_kept_style_that_is_broken_gives_way_to_the_first(qtbot, library, config):
    session = Session(library, replace(config, device="auto", style="gone", strength=0.5))
    try:
        with qtbot.waitSignal(session.styled, timeout=20_000):
            session.open("scene")
        assert session.config == EngineConfig(style=library.styles[0].key)
    finally:
        end(session)


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
    session.delivery._latest.put(results[1])  # at once, so that another one is expected
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
