"""The window exports a film, with progress, a preview, a pause and an end."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog

from app.engine.result import StyledFrame
from app.export.film.codecs import CODECS, PLACES, QUALITIES
from app.export.film.store import store_folder
from app.frame import Frame
from app.settings import _CHOICES, Settings
from app.ui.film import exporter as film_exporter
from app.ui.film.dialog import FilmDialog
from app.ui.film.exporter import NO_FILM, UNDER_WAY
from app.ui.film.options import FAST, FINE, FilmOptions, Hardware, find_hardware
from app.ui.widgets.option_box import OptionBox
from tests.app.export.film.conftest import Plain
from tests.app.ui.window.conftest import press
from tests.helpers.animations import write_animation
from tests.helpers.errors import mentions
from tests.helpers.films import packets_of, times_of, write_film
from tests.helpers.there import there
from utils.images.animation import read_animation


class Held(Plain):
    """A styling that changes nothing; after two batches it waits until a test allows more."""

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
    made = Held()
    monkeypatch.setattr(window.film_exporter, "_styling", lambda catalog, config: made)
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
    held.allow(1)  # its frames name their styling
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
    assert len(held.seen) == 6  # the current batch has ended, and no other has begun
    assert playing.film_exporter.under_way
    playing.film.pause.click()
    qtbot.waitUntil(lambda: playing.notices.text.startswith("Saved "), timeout=10000)
    assert playing.film.pause.text() == "Pa&use"


def test_a_canceled_export_says_so_and_leaves_no_film(playing, film, held, tmp_path, qtbot):
    out = tmp_path / "out.mp4"
    playing.film_exporter.export(film, out)
    qtbot.waitUntil(lambda: playing.film.isVisible(), timeout=5000)
    playing.film.cancel.setFocus()
    playing.film.cancel.click()
    assert playing.film.text == "Cancelling..."
    assert not playing.film.pause.isEnabled()
    assert playing.viewport.hasFocus()
    playing.film_exporter.pause(True)  # must not delay the cancellation
    held.allow()
    qtbot.waitUntil(lambda: "was cancelled" in playing.notices.text, timeout=10000)
    assert not out.exists()
    qtbot.waitUntil(lambda: not playing.film_exporter.under_way)
    assert not playing.session.paused
    folder = store_folder(out)
    assert not list(out.parent.glob(f"{folder.name}*"))  # neither parts nor a lock


def test_a_film_that_cannot_be_read_is_a_problem(playing, held, tmp_path, qtbot):
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"no film" * 100)
    playing.film_exporter.export(broken, tmp_path / "out.mp4")
    qtbot.waitUntil(lambda: bool(playing.problems.problems), timeout=5000)
    assert mentions(playing.problems.problems[0].summary, "broken.mp4", "cannot be read")
    qtbot.waitUntil(lambda: not playing.film_exporter.under_way)


def test_only_a_film_is_exported(streaming):
    press(streaming, "export_film")
    assert streaming.notices.text == NO_FILM


def options_of(window) -> FilmDialog:
    (dialog,) = window.findChildren(FilmDialog)
    assert dialog.isVisible()
    return dialog


def file_dialog(window) -> QFileDialog:
    made = (each for each in window.findChildren(QFileDialog) if each.isVisible())
    return next(each for each in made if each.windowTitle() == "Export the film")


def pick(box: OptionBox, value: str) -> None:
    box.show_choice(value)
    box.activated.emit(box.currentIndex())


def test_the_action_asks_how_and_then_for_a_film_to_write(playing, held, qtbot):
    press(playing, "export_film")
    dialog = options_of(playing)
    assert dialog.options == FilmOptions("h264", "auto", "good")
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    assert file_dialog(playing).defaultSuffix() == "mp4"
    file_dialog(playing).done(0)
    press(playing, "export_film")
    pick(dialog.codec, "webp")
    pick(dialog.quality, "small")
    dialog.accept()
    asked = file_dialog(playing)
    assert asked.defaultSuffix() == "webp"
    assert asked.nameFilters() == ["WebP (*.webp)"]
    asked.done(0)
    settings = playing.settings.current()
    assert FilmOptions.stored(settings) == FilmOptions("webp", "auto", "small")
    press(playing, "export_film")
    assert options_of(playing).options == FilmOptions("webp", "auto", "small")
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
    assert not playing.film_exporter.under_way


def test_hardware_that_is_missing_cannot_be_chosen_and_says_why(playing, held, qtbot, monkeypatch):
    found = {key: Hardware(reason=f"no hardware for {key}", details="libcuda") for key in CODECS}
    found["hevc"] = Hardware("NVIDIA")
    monkeypatch.setattr(film_exporter, "find_hardware", lambda: found)
    press(playing, "export_film")
    dialog = options_of(playing)
    qtbot.waitUntil(dialog.details.isVisible, timeout=5000)
    assert "libcuda" not in remark_of(dialog, "encoder")
    assert not dialog.details.text.isVisible()  # unless the user asks
    dialog.details.button.click()
    assert dialog.details.text.text() == "libcuda"
    assert dialog.details.text.isVisible()
    model = dialog.encoder.model()
    row = dialog.encoder.findText("Graphics hardware")
    assert not model.flags(model.index(row, 0)) & Qt.ItemFlag.ItemIsEnabled
    pick(dialog.codec, "hevc")
    assert not dialog.details.isVisible()
    assert model.flags(model.index(row, 0)) & Qt.ItemFlag.ItemIsEnabled
    assert mentions(remark_of(dialog, "encoder"), "NVIDIA", "faster")
    pick(dialog.encoder, "hardware")
    assert dialog.options.where == "hardware"
    pick(dialog.codec, "ffv1")
    assert dialog.options.where == "auto"
    assert not dialog.quality.isEnabled()
    assert "lossless" in remark_of(dialog, "quality")
    pick(dialog.codec, "hevc")
    assert dialog.options.where == "hardware"
    dialog.reject()


def remark_of(dialog: FilmDialog, box: str) -> str:
    return dialog._remarks[getattr(dialog, box)].text()


def test_what_this_machine_can_encode_is_found_out_beside_the_window():
    found = find_hardware()
    assert set(found) == set(CODECS)
    assert found["prores"] == Hardware(reason="Only the processor can encode ProRes")
    assert all(bool(each.device) is not bool(each.reason) for each in found.values())


def test_the_settings_know_every_choice():
    keys = {
        "film_codec": CODECS,
        "film_encoder": PLACES,
        "film_quality": QUALITIES,
        "film_network": (FINE, FAST),
    }
    assert {name: tuple(choices) for name, choices in keys.items()} == {
        name: choices for name, choices in _CHOICES.items() if name in keys
    }
    assert FilmOptions.stored(Settings()) == FilmOptions()


@pytest.mark.parametrize("ending", [".gif", ".webp"])
def test_an_animation_plays_and_is_exported_as_one(
    window, session, held, tmp_path, qtbot, ending, monkeypatch
):
    film = write_animation(tmp_path / f"dance{ending}")
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(str(film))
    qtbot.waitUntil(lambda: window.viewport.styled is not None)
    press(window, "export_film")
    dialog = options_of(window)
    pick(dialog.codec, ending[1:])
    dialog.accept()
    file_dialog(window).done(0)
    held.allow()
    out = tmp_path / f"out{ending}"
    window.film_exporter.export(film, out, dialog.options)
    qtbot.waitUntil(lambda: window.notices.text.startswith("Saved "), timeout=10000)
    assert there(read_animation(out)).delays == there(read_animation(film)).delays


def another_signal(signal, qtbot) -> bool:
    waiting = qtbot.waitSignal(signal, timeout=500, raising=False)
    waiting.wait()
    return waiting.signal_triggered


def test_a_frame_of_an_export_is_no_frame_of_the_stream(playing, session, film, held, qtbot):
    painted: list[str] = []
    playing.film_exporter.export(film, film.with_name("out.mp4"))
    qtbot.waitUntil(lambda: playing.session.paused, timeout=5000)
    # Frames that the engine began before the pause would replace a preview.
    while another_signal(session.styled, qtbot):
        pass
    session.painted.connect(lambda styled: painted.append(styled.running.kernels))
    held.allow(2)
    qtbot.waitUntil(lambda: playing.viewport.styled.running.kernels == "Plain", timeout=5000)
    playing.viewport.repaint()
    assert "Plain" not in painted
    held.allow()
    qtbot.waitUntil(lambda: playing.notices.text.startswith("Saved "), timeout=10000)
    assert "Plain" not in painted


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
    assert mentions(playing.notices.text, "walk.mp4", "the open film")
    assert film.read_bytes() == before


def test_closing_the_window_ends_an_export(playing, film, held, tmp_path, qtbot):
    playing.film_exporter.export(film, tmp_path / "out.mp4")
    qtbot.waitUntil(lambda: len(held.seen) == 4, timeout=5000)
    playing.closing.leave()
    held.allow()
    qtbot.waitUntil(lambda: not playing.isVisible(), timeout=5000)
    assert not (tmp_path / "out.mp4").exists()
