"""A session opens sources, prepares kernels, and shuts down at any moment."""

from __future__ import annotations

import threading
import time

import pytest

from app.frame import Frame
from app.live.session import Session
from models.families import any_style
from tests.app.live.session.streams import Clockwork, give
from tests.conftest import picture
from tests.helpers.sessions import end


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


@pytest.mark.full
def test_shutting_down_while_a_source_is_being_opened_is_clean(qtbot, catalog, config):
    session = Session(catalog, config)
    session.open("scene")
    session.shutdown()
    assert not session._thread.isRunning()
    end(session)


def test_a_source_whose_opening_ends_as_the_session_does_is_closed(
    qtbot, catalog, config, monkeypatch
):
    source, opened = Clockwork(), threading.Event()

    def open_source(spec):
        opened.set()
        return source

    monkeypatch.setattr("app.live.session.opening.open_source", open_source)
    session = Session(catalog, config)
    session.open("clockwork")
    assert opened.wait(5)
    time.sleep(0.2)  # the job ends; its result waits for the event loop, which has stopped
    end(session)
    assert source.closed_on


def test_a_source_that_opens_after_the_session_ended_is_closed(qtbot, catalog, config, monkeypatch):
    source, begun, may_open = Clockwork(), threading.Event(), threading.Event()

    def open_source(spec):
        begun.set()
        assert may_open.wait(10)
        return source

    monkeypatch.setattr("app.live.session.opening.open_source", open_source)
    session = Session(catalog, config)
    session.open("clockwork")
    assert begun.wait(5)
    end(session)
    assert not source.closed_on
    may_open.set()
    qtbot.waitUntil(lambda: bool(source.closed_on), timeout=5000)


def test_a_source_that_the_worker_never_took_is_closed(qtbot, catalog, config, native_kernels):
    """It starts while the worker is busy, and the session ends before the worker is free."""
    busy, go_on = threading.Event(), threading.Event()

    class Slow(Clockwork):
        def read(self, timeout: float = 0.02) -> Frame | None:
            busy.set()
            assert go_on.wait(10)
            return super().read(timeout)

    session = Session(catalog, config)
    session.play(Slow())
    assert busy.wait(10)
    never_taken = give(session, Clockwork())
    threading.Timer(0.3, go_on.set).start()  # `shutdown` waits for the worker
    end(session)
    assert never_taken.closed_on
