"""A film is exported out of the window: with progress, a preview, a pause and an end."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog

from app.engine.result import StyledFrame
from app.export.film.store import store_folder
from app.frame import Frame
from app.ui.controllers import film_exporter
from app.ui.controllers.film_exporter import NO_FILM, UNDER_WAY
from tests.app.export.film.conftest import Plain
from tests.app.ui.window.conftest import press
from tests.helpers.films import packets_of, times_of, write_film


class Held(Plain):
    """Styles nothing, two batches of two frames and then as many as it is allowed."""

    def __init__(self) -> None:
        super().__init__()
        self._allowed = threading.Semaphore(2)

    def allow(self, batches: int = 100) -> None:
        self._allowed.release(batches)

    def begin(self, frames: Sequence[Frame]) -> Iterator[StyledFrame]:
        assert self._allowed.acquire(timeout=30)
        yield from super().begin(frames)


@pytest.fixture
def held(window, monkeypatch):
    """What styles the frames of the export."""
    made = Held()
    monkeypatch.setattr(window.film_exporter, "_styling", lambda library, config: made)
    monkeypatch.setattr(film_exporter, "SHOWN_EVERY_S", 0.0)
    yield made
    made.allow()


@pytest.fixture
def film(tmp_path) -> Path:
    return write_film(tmp_path / "walk.mp4", range(0, 24_000, 1001), sound="aac")


@pytest.fixture
def playing(window, session, film, qtbot):
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(str(film))
    qtbot.waitUntil(lambda: window.viewport.styled is not None)
    return window


def test_a_film_is_exported_with_progress_and_a_preview(playing, film, held, tmp_path, qtbot):
    out = tmp_path / "out.mp4"
    playing.film_exporter.export(film, out)
    qtbot.waitUntil(lambda: playing.film.isVisible(), timeout=5000)
    assert playing.film.text.startswith("Exporting out.mp4: ")
    assert "frames a second, " in playing.film.text
    assert playing.session.paused
    held.allow(1)  # its frames tell what styled them
    qtbot.waitUntil(lambda: playing.viewport.styled.running.kernels == "Plain", timeout=5000)
    held.allow()
    qtbot.waitUntil(lambda: playing.notices.text.startswith("Saved "), timeout=10000)
    assert str(out) in playing.notices.text
    qtbot.waitUntil(lambda: not playing.film.isVisible())
    assert not playing.session.paused
    assert times_of(out) == times_of(film)
    assert packets_of(out, "audio") == packets_of(film, "audio")


def test_an_export_is_paused_and_goes_on(playing, film, held, tmp_path, qtbot):
    playing.film_exporter.export(film, tmp_path / "out.mp4")
    qtbot.waitUntil(lambda: playing.film.isVisible(), timeout=5000)
    playing.film.pause.click()
    assert playing.film.pause.text() == "&Go on"
    held.allow()
    qtbot.waitUntil(lambda: len(held.seen) >= 6, timeout=5000)
    qtbot.wait(100)
    assert len(held.seen) == 6  # the batch under way has ended, and no other has begun
    assert playing.film_exporter.under_way
    playing.film.pause.click()
    qtbot.waitUntil(lambda: playing.notices.text.startswith("Saved "), timeout=10000)
    assert playing.film.pause.text() == "Pa&use"


def test_a_canceled_export_says_so_and_leaves_no_film(playing, film, held, tmp_path, qtbot):
    out = tmp_path / "out.mp4"
    playing.film_exporter.export(film, out)
    qtbot.waitUntil(lambda: playing.film.isVisible(), timeout=5000)
    playing.film.cancel.click()
    held.allow()
    qtbot.waitUntil(lambda: "was cancelled" in playing.notices.text, timeout=10000)
    assert not out.exists()
    qtbot.waitUntil(lambda: not playing.film_exporter.under_way)
    assert not playing.session.paused
    assert store_folder(out).exists()


def test_a_film_that_cannot_be_read_is_a_problem(playing, held, tmp_path, qtbot):
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"no film" * 100)
    playing.film_exporter.export(broken, tmp_path / "out.mp4")
    qtbot.waitUntil(lambda: bool(playing.problems.problems), timeout=5000)
    assert "Could not export the film: 'broken.mp4' cannot be read" in (
        playing.problems.problems[0].summary
    )
    qtbot.waitUntil(lambda: not playing.film_exporter.under_way)


def test_only_a_film_is_exported(streaming):
    press(streaming, "export_film")
    assert streaming.notices.text == NO_FILM


def test_the_action_asks_for_a_film_to_write(playing, held, tmp_path, qtbot):
    press(playing, "export_film")
    dialog = next(
        each for each in playing.findChildren(QFileDialog) if each.windowTitle().startswith("Expo")
    )
    assert dialog.isVisible()
    assert dialog.defaultSuffix() == "mp4"
    dialog.done(0)


def test_a_second_export_waits_for_the_first(playing, film, held, tmp_path, qtbot):
    playing.film_exporter.export(film, tmp_path / "out.mp4")
    playing.film_exporter.export(film, tmp_path / "other.mp4")
    assert playing.notices.text == UNDER_WAY
    held.allow()
    qtbot.waitUntil(lambda: playing.notices.text.startswith("Saved "), timeout=10000)
    assert not (tmp_path / "other.mp4").exists()


def test_the_open_film_is_not_written_over(playing, film, held):
    before = film.read_bytes()
    playing.film_exporter.export(film, film)
    assert playing.notices.text == "'walk.mp4' is the open film; choose another name"
    assert film.read_bytes() == before


def test_closing_the_window_ends_an_export(playing, film, held, tmp_path, qtbot):
    playing.film_exporter.export(film, tmp_path / "out.mp4")
    qtbot.waitUntil(lambda: len(held.seen) == 4, timeout=5000)
    playing.close()
    held.allow()
    qtbot.waitUntil(lambda: playing.film_exporter._job is None, timeout=5000)
    assert not (tmp_path / "out.mp4").exists()
