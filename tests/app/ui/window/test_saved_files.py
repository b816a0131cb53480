"""The notice of a saved file has a button that shows the file in its folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QPushButton

from app.ui.main_window import MainWindow
from app.ui.showing import saved_files
from app.ui.showing.saved_files import NOTHING, show_in_folder
from tests.app.ui.window.conftest import press


class Opener(QObject):
    """A stand-in for the system's programs that records what they should open."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[Path] = []

    @Slot(QUrl)
    def open(self, url: QUrl) -> None:
        self.opened.append(Path(url.toLocalFile()))


@pytest.fixture
def opener(monkeypatch) -> Iterator[Opener]:
    monkeypatch.setattr(saved_files.sys, "platform", "linux")
    opener = Opener()
    QDesktopServices.setUrlHandler("file", opener, "open")  # type: ignore[arg-type]  (as documented)
    yield opener
    QDesktopServices.unsetUrlHandler("file")


@pytest.fixture
def folder(monkeypatch, tmp_path, window) -> Path:
    folder = tmp_path / "kept"
    window.exporter._folder = window.exporter._recordings_folder = lambda: folder
    return folder


def button(window: MainWindow) -> QPushButton:
    return window.notices.offer_button


def test_a_snapshot_can_be_shown_in_its_folder(folder, streaming, opener, qtbot):
    press(streaming, "snapshot")
    qtbot.waitUntil(lambda: streaming.notices.text.startswith("Saved "), timeout=5000)
    assert button(streaming).isVisible()
    assert button(streaming).text() == "Show in &folder"
    button(streaming).click()
    qtbot.waitUntil(lambda: opener.opened == [folder])
    assert not streaming.notices.text


def test_a_recording_can_be_shown_in_its_folder(folder, moving, opener, session, qtbot):
    press(moving, "record")
    for _ in range(3):
        with qtbot.waitSignal(session.styled, timeout=5000):
            pass
    press(moving, "record")
    qtbot.waitUntil(lambda: moving.notices.text.startswith("Saved "), timeout=10_000)
    button(moving).click()
    qtbot.waitUntil(lambda: opener.opened == [folder])


def test_a_key_shows_what_was_saved_last(folder, streaming, opener, qtbot):
    press(streaming, "show_saved")
    assert streaming.notices.text == NOTHING
    assert not button(streaming).isVisible()
    press(streaming, "snapshot")
    qtbot.waitUntil(lambda: streaming.notices.text.startswith("Saved "), timeout=5000)
    streaming.notices.dismiss()
    press(streaming, "show_saved")
    qtbot.waitUntil(lambda: opener.opened == [folder])


def test_a_folder_that_is_gone_is_a_problem(streaming, tmp_path, opener, qtbot):
    streaming.showing.saved.tell(tmp_path / "gone" / "a.png", "Saved it")
    button(streaming).click()
    qtbot.waitUntil(lambda: bool(streaming.problems.problems))
    assert streaming.problems.problems[0].summary.endswith("no longer exists")
    assert opener.opened == []


def test_the_button_goes_with_its_notice(streaming, tmp_path):
    streaming.showing.saved.tell(tmp_path / "a.png", "Saved it")
    streaming.notices.show_notice("Something else")
    assert not button(streaming).isVisible()


def test_an_offer_comes_back_with_its_own_button_behind_a_saved_file(streaming, tmp_path):
    taken: list[bool] = []
    streaming.notices.show_offer("Trained", "&Use it", "Use it", lambda: taken.append(True))
    streaming.showing.saved.tell(tmp_path / "a.png", "Saved it")
    assert button(streaming).text() == "Show in &folder"
    streaming.notices.dismiss()
    assert streaming.notices.text == "Trained"
    assert button(streaming).text() == "&Use it"
    button(streaming).click()
    assert taken == [True]
    assert not streaming.notices.text


@pytest.mark.parametrize(
    ("system", "command"), [("win32", ["explorer", "/select,"]), ("darwin", ["open", "-R"])]
)
def test_the_file_itself_is_selected_where_the_system_can(monkeypatch, tmp_path, system, command):
    started: list[list[str]] = []

    def start(program: str, arguments: list[str]) -> tuple[bool, int]:
        started.append([program, *arguments])
        return True, 1

    monkeypatch.setattr(saved_files.QProcess, "startDetached", start)
    path = tmp_path / "a.png"
    assert show_in_folder(path, system)
    assert started == [[*command, str(path)]]
