"""Stepping out of the picture teaches the empty scene; then only the chosen part is painted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel

from app.engine.matting import files
from app.options import EVERYTHING, ONLY_BACKGROUND, ONLY_PERSON
from app.settings import Settings
from app.ui.controllers.settings_mapping import config_from_settings, settings_with_config
from app.ui.person import controller
from tests.app.ui.window.conftest import press
from tests.app.ui.window.test_undo import drag
from tests.helpers.windows import show_window


@pytest.fixture(autouse=True)
def hurried(monkeypatch, tmp_path):
    """Let seconds pass quickly, and keep scenes in a folder of the test."""
    monkeypatch.setattr("app.engine.matting.scene.LEARNED_S", 0.05)
    monkeypatch.setattr("app.live.scene_learning.scenes_folder", lambda: tmp_path / "scenes")


@pytest.fixture
def person(moving):
    moving.person._second.setInterval(1)
    moving.learning._delay.setInterval(0)
    return moving.person


@pytest.fixture
def dialog(person, moving, qtbot):
    press(moving, "person")
    show_window(person.dialog, qtbot)
    return person.dialog


def test_stepping_out_teaches_the_scene_and_paints_only_the_person(moving, person, session, qtbot):
    with qtbot.waitSignal(session.scene_learned, timeout=10_000):
        press(moving, "step_out")
    assert session.config.paint == ONLY_PERSON
    assert files.is_learned(Path(session.config.matte))
    assert Path(session.config.matte).exists()
    assert moving.notices.text
    assert not moving.learning.text


def test_a_countdown_is_large_on_the_picture_and_escape_ends_it(moving, person, session, qtbot):
    person._second.setInterval(60_000)
    press(moving, "step_out")
    assert person.countdown.text == str(controller.SECONDS)
    assert person.countdown.isVisible()
    qtbot.waitUntil(moving.learning.isVisible)
    press(moving, "back")
    assert not person.counting
    assert not person.countdown.isVisible()
    assert not moving.learning.isVisible()
    assert session.config.matte == ""


def test_the_same_key_cancels_the_countdown(moving, person):
    person._second.setInterval(60_000)
    press(moving, "step_out")
    assert person.counting
    press(moving, "step_out")
    assert not person.counting


def test_a_picture_cannot_teach_a_scene(streaming, session):
    press(streaming, "step_out")
    assert streaming.notices.text
    assert not streaming.person.counting


def test_a_key_changes_the_painted_part(moving, person, session, picture):
    person.use_file(picture)
    parts = []
    for _ in range(3):
        parts.append(session.config.paint)
        press(moving, "paint_part")
    assert parts == [ONLY_PERSON, ONLY_BACKGROUND, EVERYTHING]


def test_without_a_scene_the_key_asks_how_to_find_people(moving, person, session):
    press(moving, "paint_part")
    assert person.dialog.isVisible()
    assert session.config.paint == EVERYTHING


def test_the_dialog_changes_part_and_edge(dialog, person, session, picture):
    person.use_file(picture)
    person.dialog.controls["feather"].setValue(40)
    assert session.config.feather == 0.4
    QTest.mouseClick(dialog.drop, Qt.MouseButton.LeftButton)
    assert (session.config.matte, session.config.paint) == ("", EVERYTHING)
    assert not dialog.drop.isEnabled()


def test_a_drag_of_the_edge_is_one_change(dialog, person, moving, session, picture):
    person.use_file(picture)
    before = session.config
    drag(person.dialog.controls["feather"], 30)
    assert session.config.feather > 0
    moving.actions_by_key["undo"].trigger()
    assert session.config == before


def test_undo_names_the_change_of_how_people_are_found(moving, person, session, picture):
    person.use_file(picture)
    assert moving.actions_by_key["undo"].text() == "Undo Person and background"
    press(moving, "undo")
    assert (session.config.matte, session.config.paint) == ("", EVERYTHING)


def test_a_network_stays_for_the_next_start_and_a_learned_scene_does_not(session):
    for file, kept in (("/nets/people.onnx", "/nets/people.onnx"), ("/cache/1.scene", "")):
        config = replace(session.config, matte=file, paint=ONLY_PERSON)
        stored = settings_with_config(Settings(), config)
        again = config_from_settings(stored, session.catalog)
        assert again.matte == kept


def test_every_control_of_the_dialog_has_a_name_a_tip_and_a_key(dialog):
    found = [*dialog.findChildren(QAbstractButton), *dialog.controls.values()]
    assert all(each.accessibleName() and each.toolTip() for each in found)
    texts = [each.text() for each in dialog.findChildren(QAbstractButton)]
    texts += [label.text() for label in dialog.findChildren(QLabel)]
    keys = [text[text.index("&") + 1].lower() for text in texts if "&" in text]
    assert len(keys) == len(set(keys)) == 12


def test_another_source_ends_the_learned_scene(moving, person, session, picture, qtbot):
    with qtbot.waitSignal(session.scene_learned, timeout=10_000):
        press(moving, "step_out")
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        session.open(str(picture))
    assert (session.config.matte, session.config.paint) == ("", EVERYTHING)


def test_the_same_film_again_begins_without_a_scene(moving, person, session, tmp_path, qtbot):
    with qtbot.waitSignal(session.scene_learned, timeout=10_000):
        press(moving, "step_out")
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        session.open(str(tmp_path / "film.mp4"))
    assert (session.config.matte, session.config.paint) == ("", EVERYTHING)


def test_a_reset_keeps_how_people_are_found(moving, person, session, picture):
    person.use_file(picture)
    moving.reset.reset_all()
    assert session.config.matte == str(picture)
    assert session.config.paint == EVERYTHING


def test_a_scene_that_cannot_be_kept_is_a_message(moving, person, session, tmp_path, qtbot):
    (tmp_path / "scenes").write_text("a file in the way of the folder")
    with qtbot.waitSignal(session.problem, timeout=10_000):
        press(moving, "step_out")
    assert session.config == replace(session.config, matte="", paint=EVERYTHING)
