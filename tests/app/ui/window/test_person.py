"""Stepping out of the picture teaches the empty scene; then only the chosen part is painted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel

from app.engine.matting import files
from app.options import EVERYTHING, GREEN, ONLY_BACKGROUND, ONLY_PERSON, SCENE_AS_IT_IS
from app.settings import Settings
from app.ui.controllers.settings_mapping import config_from_settings, settings_with_config
from app.ui.person import controller
from app.ui.person.dialog import NEEDED
from tests.app.ui.window.conftest import press
from tests.app.ui.window.test_undo import drag
from tests.helpers.errors import mentions
from tests.helpers.windows import show_window
from utils.images.writing import write_pixels


@pytest.fixture(autouse=True)
def hurried(monkeypatch, tmp_path):
    """Let seconds pass quickly, and keep scenes in a folder of the test."""
    monkeypatch.setattr("app.engine.matting.scene.LEARNED_S", 0.05)
    monkeypatch.setattr("app.live.scene_learning.scenes_folder", lambda: tmp_path / "scenes")


@pytest.fixture
def person(moving):
    moving.person._second.setInterval(1)
    moving.person._is_film = lambda: False  # the film of the test stands for a camera
    moving.learning._delay.setInterval(0)
    return moving.person


@pytest.fixture
def upright(tmp_path) -> Path:
    """Return a photograph that is higher than it is wide."""
    path = tmp_path / "upright.png"
    write_pixels(path, np.zeros((64, 48, 3), np.uint8))
    return path


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


def test_a_film_teaches_the_scene_at_once_and_is_asked_for_a_part_without_people(
    moving, session, qtbot
):
    told: list[str] = []
    moving.person._say = told.append
    with qtbot.waitSignal(session.scene_learned, timeout=10_000):
        press(moving, "step_out")
        assert not moving.person.counting
    assert told == [controller.FROM_FILM]


def test_green_alone_chooses_the_person_since_nothing_else_would_be_green(dialog, session, picture):
    session.config = replace(session.config, matte=str(picture))
    dialog.picked.emit("rest", GREEN)
    assert (session.config.paint, session.config.rest) == (ONLY_PERSON, GREEN)
    dialog.picked.emit("paint", ONLY_BACKGROUND)
    dialog.picked.emit("rest", GREEN)
    assert session.config.paint == ONLY_BACKGROUND


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


def test_a_picture_of_another_shape_is_refused_there_and_the_choice_stays(
    dialog, person, session, upright, qtbot
):
    before, made = session.config, []
    session.styled.connect(made.append)
    person.check_file(upright)
    qtbot.waitUntil(lambda: dialog.state.property("role") == "fault")
    assert mentions(dialog.state.text(), upright.name)
    assert session.config == before
    count = len(made)
    qtbot.waitUntil(lambda: len(made) > count + 2)


def test_without_the_dialog_a_file_that_cannot_be_read_is_a_message(
    moving, person, session, tmp_path, qtbot
):
    damaged = tmp_path / "damaged.png"
    damaged.write_bytes(b"no picture")
    before = session.config
    with qtbot.waitSignal(session.problem, timeout=10_000) as told:
        person.check_file(damaged)
    assert mentions(told.args[0].summary, damaged.name)
    assert "--" not in told.args[0].advice
    assert session.config == before


def test_a_picture_of_the_right_shape_is_used(dialog, person, session, picture, qtbot):
    person.check_file(picture)
    qtbot.waitUntil(lambda: session.config.matte == str(picture))
    assert session.config.paint == ONLY_PERSON


@pytest.mark.parametrize("chosen", [{"paint": ONLY_PERSON}, {"rest": GREEN}], ids=str)
def test_a_choice_that_needs_a_scene_says_so_and_offers_to_step_out(
    dialog, session, chosen, picture
):
    assert dialog.learn.property("role") != "primary"
    session.config = replace(session.config, **chosen)
    assert dialog.state.text() == NEEDED
    assert dialog.learn.property("role") == "primary"
    session.config = replace(session.config, matte=str(picture))
    assert dialog.state.text() != NEEDED
    assert dialog.learn.property("role") != "primary"


def test_the_dialog_makes_room_for_the_countdown_and_comes_back(dialog, person, moving, qtbot):
    person._second.setInterval(60_000)
    QTest.mouseClick(dialog.learn, Qt.MouseButton.LeftButton)
    assert person.counting
    assert dialog.isHidden()
    qtbot.waitUntil(moving.learning.isVisible)
    QTest.mouseClick(moving.learning.cancel, Qt.MouseButton.LeftButton)
    assert dialog.isVisible()


def test_the_dialog_comes_back_when_the_scene_is_learned(dialog, session, qtbot):
    with qtbot.waitSignal(session.scene_learned, timeout=10_000):
        QTest.mouseClick(dialog.learn, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(dialog.isVisible)


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
    assert len(keys) == len(set(keys)) == 13


def test_another_source_ends_the_learned_scene(moving, person, session, picture, qtbot):
    with qtbot.waitSignal(session.scene_learned, timeout=10_000):
        press(moving, "step_out")
    session.config = replace(session.config, rest=GREEN)
    told = []
    moving.person._say = told.append
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        session.open(str(picture))
    config = session.config
    assert (config.matte, config.paint, config.rest) == ("", EVERYTHING, SCENE_AS_IT_IS)
    assert told == [controller.ANOTHER_SOURCE]


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
