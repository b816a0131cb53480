"""Looks in the window: saved, renamed, deleted, applied, and restored from a snapshot."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest

from app.engine.result import StyledFrame
from app.export.picture_file import write_result
from app.looks.look import KEY, Look
from app.looks.look_file import LookFile
from app.settings import Settings
from app.ui.looks.controller import LAST
from app.ui.main_window import MainWindow
from tests.app.ui.window.conftest import press
from tests.helpers.errors import mentions
from utils.images.metadata import read_metadata
from utils.images.writing import write_pixels

EVENING = {"mix": "udnie", "mix_amount": 0.25, "strength": 0.6, "strokes": "bold", "texture": 0.5}


@pytest.fixture
def looks(window, qtbot):
    qtbot.waitUntil(window.isActiveWindow)
    press(window, "looks")
    qtbot.waitUntil(window.looks.strip.isVisible)
    return window.looks


def save(window: MainWindow, name: str) -> None:
    press(window, "save_look")
    window.questions.field.selectAll()
    QTest.keyClicks(window.questions.field, name)
    QTest.keyClick(window.questions.field, Qt.Key.Key_Return)


def names(window: MainWindow) -> list[str]:
    return [each.name for each in window.looks.strip.shown]


def wait_for_stored(qtbot, *names: str) -> None:
    """Wait until the file, which a background job writes, has looks of these names."""
    qtbot.waitUntil(lambda: [each.name for each in LookFile().read()[0]] == list(names))


def drop(window: MainWindow, path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    window.drop_handler._open(data, QImage())


def test_a_look_is_saved_and_used_again(window, looks, session, qtbot):
    session.config = replace(session.config, size=256, **EVENING)
    saved = Look.of(session.config)
    save(window, "Evening")
    wait_for_stored(qtbot, "Evening")
    press(window, "reset")
    press(window, "style_2")
    item = looks.strip.view.item(0)
    place = looks.strip.view.visualItemRect(item).center()
    QTest.mouseClick(looks.strip.view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert Look.of(session.config) == saved
    assert session.config.size is None
    assert item.isSelected()
    press(window, "undo")
    assert session.config.style == "mosaic"


def test_a_look_is_renamed_and_deleted_by_keys(window, looks, session, qtbot):
    save(window, "First")
    session.config = replace(session.config, strength=0.5)
    save(window, "Second")
    assert names(window) == ["First", "Second"]
    looks.strip.view.setCurrentRow(0)
    QTest.keyClick(looks.strip.view, Qt.Key.Key_F2)
    assert window.questions.field.text() == "First"
    QTest.keyClicks(window.questions.field, "Other")
    QTest.keyClick(window.questions.field, Qt.Key.Key_Return)
    assert names(window) == ["Other", "Second"]
    QTest.keyClick(looks.strip.view, Qt.Key.Key_Return)
    assert session.config.strength == 1.0
    QTest.keyClick(looks.strip.view, Qt.Key.Key_Delete)
    QTest.keyClick(window.questions.accept, Qt.Key.Key_Return)
    assert names(window) == ["Second"]
    wait_for_stored(qtbot, "Second")


def test_a_name_that_is_given_again_replaces_its_look(window, looks, session):
    save(window, "Mine")
    session.config = replace(session.config, strength=0.5)
    save(window, "Mine")
    assert [each.look.strength for each in looks.strip.shown] == [0.5]


def test_saved_looks_are_there_at_the_next_start(window, looks, session, qtbot):
    save(window, "Evening")
    wait_for_stored(qtbot, "Evening")
    again = MainWindow(session, Settings(show_looks=True), lambda _: None)
    qtbot.addWidget(again)
    qtbot.waitUntil(lambda: [each.name for each in again.looks.strip.shown] == ["Evening"])


def test_a_damaged_file_of_looks_is_one_sentence(session, qtbot):
    path = LookFile().path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{")
    window = MainWindow(session, Settings(), lambda _: None)
    qtbot.addWidget(window)
    qtbot.waitUntil(lambda: bool(window.problems.problems), timeout=5000)
    [problem] = window.problems.problems
    assert "Not all saved looks" in problem.summary
    assert "not valid JSON" in problem.summary


def test_the_last_looks_are_in_the_strip_once_they_were_on_screen(
    streaming, session, qtbot, monkeypatch
):
    looks = streaming.looks
    looks._settled.setInterval(0)
    for step in range(LAST + 2):
        session.config = replace(session.config, strength=step / 100)
        newest = Look.of(session.config)
        qtbot.waitUntil(lambda newest=newest: any(x.look == newest for x in looks.strip.shown))
    assert len(looks.strip.shown) == LAST
    first = looks.strip.shown[0]
    assert (first.look.strength, first.title, first.name) == (0.13, "Candy at 13%", "")
    color = first.picture.pixelColor(80, 60)
    assert (color.red(), color.green(), color.blue()) == (0, 255, 255)  # the negative of red


def test_a_look_of_a_style_that_is_gone_says_so(window, looks, session):
    before = session.config
    assert not looks.use(Look((("lost", 1.0),)))
    assert session.config == before
    assert mentions(window.problems.problems[0].summary, "lost", "not installed")


@pytest.mark.parametrize("ending", ["png", "jpg"])
def test_a_dropped_snapshot_brings_its_look_back(streaming, session, tmp_path, qtbot, ending):
    session.config = replace(session.config, **EVENING)
    made = session.config
    qtbot.waitUntil(lambda: streaming.viewport.styled.config == made)
    styled: StyledFrame = streaming.viewport.styled
    path = tmp_path / f"snapshot.{ending}"
    write_result(path, styled)
    press(streaming, "reset")
    press(streaming, "style_2")
    info = session.info
    drop(streaming, path)
    qtbot.waitUntil(lambda: Look.of(session.config) == Look.of(made), timeout=5000)
    assert session.info == info
    assert f"snapshot.{ending}" in streaming.notices.text
    streaming.notices.offer_button.click()
    qtbot.waitUntil(lambda: session.info.title.startswith("snapshot"), timeout=5000)


def test_a_dropped_picture_without_a_look_is_opened(streaming, session, tmp_path, qtbot):
    write_pixels(tmp_path / "other.png", np.zeros((40, 40, 3), np.uint8))
    drop(streaming, tmp_path / "other.png")
    qtbot.waitUntil(lambda: session.info.title.startswith("other"), timeout=5000)


def test_a_snapshot_with_a_damaged_look_says_so_and_is_opened(streaming, session, tmp_path, qtbot):
    path = tmp_path / "bad.png"
    write_pixels(path, np.zeros((40, 40, 3), np.uint8), {KEY: json.dumps({"styles": {"a": 9}})})
    assert KEY in read_metadata(path)
    drop(streaming, path)
    qtbot.waitUntil(lambda: session.info.title.startswith("bad"), timeout=5000)
    assert mentions(streaming.problems.problems[0].summary, "bad.png", "shares")
