"""A picture computed in bands reports its progress and yields to newer requests."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from app.engine.engine import Engine
from app.live.session import Session
from app.settings import Settings
from app.ui.main_window import MainWindow
from models.families import feed_forward
from models.families.feed_forward import FeedForwardFamily
from tests.conftest import picture
from tests.helpers.sessions import end
from tests.helpers.windows import show_window
from utils.images.writing import write_pixels

WIDTH, HEIGHT = 96, 400


@pytest.fixture
def config(config):
    return replace(config, size=HEIGHT, texture=0.0)


@pytest.fixture
def session(qtbot, catalog, config, native_kernels, monkeypatch):
    small = partial(feed_forward.style_in_bands, band=1)
    monkeypatch.setattr(feed_forward, "style_in_bands", small)
    free = 1.9 * FeedForwardFamily.bytes_per_pixel * WIDTH * HEIGHT
    session = Session(catalog, config, engine=Engine(catalog, free=lambda device: free))
    yield session
    end(session)


@pytest.fixture
def photo(tmp_path):
    path = tmp_path / "photo.png"
    write_pixels(path, picture(WIDTH, HEIGHT))
    return str(path)


def test_progress_is_told_until_the_picture_is_there(session, qtbot, photo):
    told: list[float] = []
    session.progress.connect(told.append)
    with qtbot.waitSignal(session.styled, timeout=60_000) as styled:
        session.open(photo)
    assert styled.args[0].bands
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1)
    assert len(told) > 100


def test_another_choice_does_not_wait_for_the_picture_under_way(session, qtbot, photo, config):
    told: list[float] = []
    session.progress.connect(told.append)
    with qtbot.waitSignal(session.progress, timeout=60_000):
        session.open(photo)
    with qtbot.waitSignal(session.styled, timeout=60_000) as styled:
        session.config = replace(config, size=64)
    assert styled.args[0].config.size == 64
    assert styled.args[0].bands == ""
    assert 1.0 in told
    assert max(share for share in told if share < 1) < 0.9


def test_a_canceled_picture_is_not_begun_again(session, qtbot, photo, config):
    results: list = []
    session.styled.connect(results.append)
    with qtbot.waitSignal(session.progress, timeout=60_000):
        session.open(photo)
    with qtbot.waitSignal(session.progress, check_params_cb=lambda share: share == 1.0):
        session.cancel()
    with qtbot.assertNotEmitted(session.progress, wait=300):
        pass
    assert results == []
    with qtbot.waitSignal(session.styled, timeout=60_000):
        session.config = replace(config, size=64)


def test_quitting_does_not_wait_for_the_picture_under_way(session, qtbot, photo):
    told: list[float] = []
    with qtbot.waitSignal(session.progress, timeout=60_000):
        session.open(photo)
    session._worker.progress.connect(told.append)
    session.shutdown()
    assert not session._thread.isRunning()
    assert max(told, default=0.0) in (0.0, 1.0) or max(s for s in told if s < 1) < 0.9


def test_the_window_shows_the_share_and_cancels(session, qtbot, photo):
    window = MainWindow(session, Settings(show_gallery=False, show_panel=False), lambda _: None)
    qtbot.addWidget(window)
    show_window(window, qtbot)
    window.painting._delay.setInterval(0)
    session.open(photo)
    qtbot.waitUntil(window.painting.isVisible, timeout=60_000)
    assert "in bands" in window.painting.text
    window.commands.back()
    qtbot.waitUntil(lambda: not window.painting.isVisible(), timeout=60_000)
    assert window.painting.text == ""
