"""A card shows the saved picture and what can be done with it; films have a notice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QObject, QPoint, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QDrag, QGuiApplication, QImage
from PySide6.QtWidgets import QPushButton

from app.ui.main_window import MainWindow
from app.ui.showing import before_after, saved_files
from app.ui.showing.saved_card import SavedCard
from app.ui.showing.saved_files import NOTHING, show_in_folder
from tests.app.ui.window.conftest import press
from utils.images.writing import write_pixels
from utils.pyav import av


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
    qtbot.waitUntil(lambda: streaming.saved_card.text.startswith("Saved "), timeout=5000)
    streaming.saved_card.folder.click()
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
    qtbot.waitUntil(lambda: streaming.saved_card.text.startswith("Saved "), timeout=5000)
    press(streaming, "back")
    assert not streaming.saved_card.isVisible()
    press(streaming, "show_saved")
    qtbot.waitUntil(lambda: opener.opened == [folder])


# The card of a saved picture


@pytest.fixture
def card(folder, streaming, monkeypatch, qtbot) -> SavedCard:
    monkeypatch.setattr(before_after, "pictures_folder", lambda: folder)
    monkeypatch.setattr(before_after, "films_folder", lambda: folder)
    press(streaming, "snapshot")
    qtbot.waitUntil(streaming.saved_card.isVisible, timeout=5000)
    return streaming.saved_card


def test_the_card_has_a_thumbnail_that_is_dragged_out_as_a_file(card, folder, monkeypatch, qtbot):
    dragged: list[QMimeData] = []
    monkeypatch.setattr(QDrag, "exec", lambda drag, _: dragged.append(drag.mimeData()))
    assert not card.thumbnail.pixmap().isNull()
    middle = card.thumbnail.rect().center()
    qtbot.mousePress(card.thumbnail, Qt.MouseButton.LeftButton, pos=middle)
    qtbot.mouseMove(card.thumbnail, middle + QPoint(40, 0))
    [saved] = folder.iterdir()
    [data] = dragged
    assert [Path(url.toLocalFile()) for url in data.urls()] == [saved]


def test_the_saved_picture_is_copied_as_picture_and_file(card, folder, streaming, qtbot):
    card.copy.click()
    qtbot.waitUntil(lambda: streaming.notices.text == "Copied the picture", timeout=5000)
    [saved] = folder.iterdir()
    data = QGuiApplication.clipboard().mimeData()
    assert [Path(url.toLocalFile()) for url in data.urls()] == [saved]
    assert QGuiApplication.clipboard().image().size() == QImage(str(saved)).size()


def test_before_after_is_of_the_saved_picture_and_not_of_the_next_one(
    card, folder, streaming, session, tmp_path, qtbot
):
    write_pixels(tmp_path / "blue.png", np.full((48, 64, 3), (0, 0, 255), np.uint8))
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(str(tmp_path / "blue.png"))
    card.before_after.click()
    qtbot.waitUntil(lambda: len([*folder.glob("*_before-after.png")]) == 1, timeout=5000)
    [made] = folder.glob("*_before-after.png")
    assert QImage(str(made)).pixelColor(4, 24).name() == "#ff0000"


@pytest.mark.parametrize(("number", "size"), [(0, (64, 48)), (1, (48, 48))], ids=["wide", "square"])
def test_a_wipe_of_the_saved_picture_takes_six_seconds(number, size, card, folder, qtbot):
    card.wipe.menu().actions()[number].trigger()
    qtbot.waitUntil(lambda: card.text.endswith("_wipe.mp4"), timeout=20_000)
    [made] = folder.glob("*_wipe.mp4")
    with av.open(str(made)) as film:
        [stream] = film.streams.video
        assert (stream.width, stream.height) == size
        assert stream.frames == 6 * 30


def test_the_card_stays_while_it_is_used_and_then_goes(card, streaming):
    card.copy.setFocus()
    card._on_time_up()
    assert card.isVisible()
    streaming.viewport.setFocus()
    card._on_time_up()
    assert not card.isVisible()


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
