"""Saved and copied pictures have full quality, rendered if it is not there yet."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtGui import QGuiApplication

from app.engine.engine import Engine
from app.engine.process_mode import ProcessMode
from app.frame import Frame
from app.live.session import Session
from app.settings import Settings
from app.ui.controllers.full_quality import has_full_quality
from app.ui.main_window import MainWindow
from tests.conftest import picture
from tests.helpers.daily import some_daily
from tests.helpers.errors import mentions
from tests.helpers.sessions import end
from tests.helpers.windows import show_window
from utils.images.reading import read_pixels

WIDTH, HEIGHT = 640, 360  # enough for more detail than the strokes have
FRAME = Frame(picture(WIDTH, HEIGHT))


@pytest.fixture
def config(config):
    return replace(config, size=None, network="auto")


@pytest.fixture
def session(qtbot, catalog, config, native_kernels):
    session = Session(catalog, config, engine=Engine(catalog))
    yield session
    end(session)


@pytest.fixture
def window(session, qtbot):
    window = MainWindow(session, Settings(show_gallery=False, show_panel=False), lambda _: None)
    qtbot.addWidget(window)
    show_window(window, qtbot)
    window.saving._delay.setInterval(0)
    return window


@pytest.fixture
def engine(catalog, config, native_kernels):
    engine = Engine(catalog)
    engine.configure(config)
    return engine


@pytest.fixture
def hurried(engine):
    """Return a result that is smaller than a still picture's."""
    styled = engine.process(FRAME, ProcessMode.SINGLE)
    assert max(styled.size) < WIDTH
    return styled


@pytest.fixture
def full(engine):
    return engine.process(FRAME, ProcessMode.REFINE)


def test_a_result_of_the_stream_does_not_have_the_quality_of_a_still_one(hurried, full):
    assert not has_full_quality(hurried)
    assert has_full_quality(full)
    assert not has_full_quality(replace(full, moved=True))
    assert not has_full_quality(replace(full, running=replace(full.running, lite=True)))
    chosen = replace(full.config, network="lite")
    assert has_full_quality(replace(full, config=chosen, running=replace(full.running, lite=True)))
    assert has_full_quality(replace(hurried, config=replace(hurried.config, size=384)))


def test_a_small_copy_for_the_display_counts_as_the_captured_frame(hurried, full):
    small = Frame(picture(120, 68))
    assert has_full_quality(replace(full, source=small, captured=FRAME))
    assert not has_full_quality(replace(hurried, source=small, captured=FRAME))


def saved(window, qtbot) -> None:
    qtbot.waitUntil(lambda: window.saved_card.text.startswith("Saved "), timeout=60_000)


def test_a_result_of_the_stream_is_saved_in_full_quality(window, hurried, full, tmp_path, qtbot):
    path = tmp_path / "a.png"
    shares: list[float] = []
    window.full_quality.progressed.connect(shares.append)
    window.exporter.save(hurried, path)
    saved(window, qtbot)
    assert (read_pixels(path) == full.frame.pixels).all()
    assert shares == sorted(shares)
    assert len(set(shares)) > 10
    assert shares[-1] == 1
    assert not window.saving.isVisible()


def test_a_result_in_full_quality_is_saved_as_it_is(window, full, tmp_path, qtbot):
    other = replace(full, frame=Frame(np.zeros_like(full.frame.pixels)))
    window.exporter.save(other, tmp_path / "a.png")
    saved(window, qtbot)
    assert (read_pixels(tmp_path / "a.png") == 0).all()


@pytest.mark.full
def test_the_clipboard_gets_full_quality(window, hurried, full, monkeypatch, qtbot):
    monkeypatch.setattr(window.exporter, "_current", lambda: hurried)
    window.exporter.copy()
    qtbot.waitUntil(lambda: window.notices.text == "Copied the picture", timeout=60_000)
    color = QGuiApplication.clipboard().image().pixelColor(5, 7)
    assert [color.red(), color.green(), color.blue()] == full.frame.pixels[7, 5].tolist()


@pytest.fixture
def slow(session, monkeypatch):
    """Let engines for full quality paint until they are stopped."""

    def apart():
        engine = Engine(session.catalog)

        def process(*_):
            while True:
                engine.between_layers(0.5)
                time.sleep(0.01)

        monkeypatch.setattr(engine, "process", process)
        return engine

    monkeypatch.setattr(session.engine, "apart", apart)


def test_escape_cancels_saving(slow, window, hurried, tmp_path, qtbot):
    window.exporter.save(hurried, tmp_path / "a.png")
    qtbot.waitUntil(window.saving.isVisible, timeout=10_000)
    qtbot.waitUntil(lambda: mentions(window.saving.text, "full quality", "50 %"), timeout=10_000)
    assert window.session.writing
    window.commands.back()
    qtbot.waitUntil(lambda: mentions(window.notices.text, "a.png", "not saved"), timeout=10_000)
    assert not window.saving.isVisible()
    assert not window.session.writing
    assert list(tmp_path.iterdir()) == []


def test_ending_the_session_ends_the_rendering(slow, window, hurried, tmp_path, qtbot):
    window.exporter.save(hurried, tmp_path / "a.png")
    qtbot.waitUntil(window.saving.isVisible, timeout=10_000)
    window.session.ending.emit()
    qtbot.waitUntil(lambda: not window.session.writing, timeout=10_000)


def test_the_size_of_what_is_saved_is_told(window, full, tmp_path, qtbot):
    window.exporter.save(full, tmp_path / "a.png")
    saved(window, qtbot)
    assert mentions(window.saved_card.text, "a.png", f"{WIDTH}x{HEIGHT}")


def test_what_cannot_be_rendered_is_saved_as_it_was_shown(
    window, hurried, tmp_path, monkeypatch, qtbot
):
    def apart():
        raise MemoryError("no memory is left")

    monkeypatch.setattr(window.session.engine, "apart", apart)
    window.exporter.save(hurried, tmp_path / "a.png")
    saved(window, qtbot)
    assert mentions(window.saved_card.text, "no memory is left")
    assert (read_pixels(tmp_path / "a.png") == hurried.frame.pixels).all()


@pytest.mark.parametrize("name", some_daily(["a.gif", "a.mp4"], 1))
def test_a_wipe_has_full_quality(window, hurried, monkeypatch, tmp_path, qtbot, name):
    asked: list = []
    render = window.full_quality.render
    monkeypatch.setattr(
        window.full_quality, "render", lambda styled: asked.append(styled) or render(styled)
    )
    window.showing.before_after.save_wipe(hurried, tmp_path / name)
    saved(window, qtbot)
    assert asked == [hurried]
