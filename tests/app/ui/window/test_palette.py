"""Ctrl+K finds every action, style, setting and answer by words, and runs or shows it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QLabel

from app.diagnostics.questions import QUESTIONS
from app.ui.actions import ACTIONS
from app.ui.palette.finding import is_put_away
from app.ui.palette.overlay import Palette
from app.ui.palette.recent import keys_of
from app.ui.palette.rows import ENTRY
from app.ui.queue.actions import QUEUE_ACTIONS
from tests.app.ui.window.conftest import KEYS, press
from tests.app.ui.window.surfaces import accessible
from utils.translation.mnemonics import without_mnemonic


def opened(window) -> Palette:
    press(window, "palette")
    view = window.commands.palette.view
    assert view.isVisible()
    assert view.field.hasFocus()
    return view


def found(view: Palette, words: str | None = None) -> list:
    """Return the entries found for words; None leaves the field as it is."""
    if words is not None:
        view.field.clear()
        QTest.keyClicks(view.field, words)
    model = view.list.model()
    return [model.index(row, 0).data(ENTRY) for row in range(model.rowCount())]


def test_every_action_style_setting_and_question_is_found(window):
    keys = [entry.key for entry in found(opened(window))]
    assert len(keys) == len(set(keys))
    numbered = {f"style_{number}" for number in range(1, 10)}
    wanted = {e.key for e in ACTIONS} - numbered - {"palette", "menu", "back"}
    assert {f"action:{key}" for key in wanted} | {f"style:{key}" for key in KEYS} <= set(keys)
    assert sum(key.startswith("question:") for key in keys) == sum(map(len, QUESTIONS.values()))


@pytest.mark.parametrize("word", ["baseline", "benchmark", "fps", "speed"])
def test_the_speed_test_is_found_by_other_words(window, word):
    assert "action:view_compare" in [entry.key for entry in found(opened(window), word)]


def test_every_label_and_box_of_the_panel_is_found(window):
    titles = {entry.title for entry in found(opened(window)) if entry.key.startswith("setting:")}
    labels = [each for each in window.panel.findChildren(QLabel) if each.buddy() is not None]
    shown = [each for each in labels if not is_put_away(each.buddy())]
    boxes = window.panel.findChildren(QCheckBox)
    assert len(shown) + len(boxes) > 10
    assert {without_mnemonic(each.text()) for each in (*shown, *boxes)} <= titles


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("green screen", "person"),
        ("chroma key", "person"),
        ("remove background", "person"),
        ("blur background", "person"),
        ("transparent", "person"),
        ("webcam", "virtual_camera"),
        ("broadcast", "obs"),
        ("window capture", "projector"),
        ("stream", "obs"),
        ("chroma key obs", "obs"),
        ("print", "save"),
        ("resolution", "save"),
    ],
)
def test_the_words_of_other_programs_find_the_action(window, words, key):
    assert f"action:{key}" in [entry.key for entry in found(opened(window), words)[:8]]


def test_return_runs_the_chosen_entry_and_the_focus_returns(streaming, session):
    view = opened(streaming)
    assert found(view, "mosa")[0].title == "Mosaic"
    QTest.keyClick(view.field, Qt.Key.Key_Return)
    assert session.config.style == "mosaic"
    assert view.isHidden()
    assert streaming.viewport.hasFocus()


def test_arrows_choose_and_a_click_runs(streaming, session):
    view = opened(streaming)
    found(view, "style")
    QTest.keyClick(view.field, Qt.Key.Key_Down)
    QTest.keyClick(view.field, Qt.Key.Key_Down)
    QTest.keyClick(view.field, Qt.Key.Key_Up)
    assert view.list.currentIndex().row() == 1
    found(view, "udnie")
    place = view.list.visualRect(view.list.model().index(0, 0)).center()
    QTest.mouseClick(view.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert session.config.style == "udnie"
    assert view.isHidden()


def test_escape_closes_it_alone(streaming):
    press(streaming, "fullscreen")
    view = opened(streaming)
    QTest.keyClick(view.field, Qt.Key.Key_Escape)
    assert view.isHidden()
    assert streaming.isFullScreen()
    assert streaming.viewport.hasFocus()


def test_its_key_a_click_beside_it_and_another_focus_close_it(streaming):
    view = opened(streaming)
    QTest.keySequence(view.field, streaming.actions_by_key["palette"].shortcut())
    assert view.isHidden()
    view = opened(streaming)
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=QPoint(3, view.height() - 3))
    assert view.isHidden()
    view = opened(streaming)
    streaming.gallery.search.setFocus()
    assert view.isHidden()
    assert streaming.gallery.search.hasFocus()


def test_letters_are_words_and_no_keys_of_the_window(streaming, session):
    view = opened(streaming)
    QTest.keyClicks(view.field, "n s1")
    assert view.field.text() == "n s1"
    assert session.config.style == "candy"
    assert not session.paused


@pytest.mark.parametrize("name", ["precision", "strength"])
def test_a_setting_is_shown_and_focused(streaming, name, qtbot):
    streaming.visibility.toggle_panel()
    assert not streaming.panel.isVisible()
    control = streaming.panel.controls.get(name) or streaming.engine_bar.lists.precision
    view = opened(streaming)
    assert found(view, control.accessibleName())[0].key.startswith("setting:")
    QTest.keyClick(view.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not control.visibleRegion().isEmpty())
    assert QApplication.focusWidget() is control


def test_an_action_that_does_not_apply_is_gray_with_the_reason(streaming):
    action = streaming.actions_by_key["train_picture"]
    assert not action.isEnabled()
    view = opened(streaming)
    [entry] = [e for e in found(view, action.text()) if e.key == "action:train_picture"]
    assert (entry.enabled, entry.reason) == (False, action.toolTip())
    QTest.keyClick(view.field, Qt.Key.Key_Return)
    assert view.isVisible()


def test_an_action_that_is_on_says_so(streaming):
    def kind() -> str:
        view = opened(streaming)
        [entry] = [e for e in found(view, "projector") if e.key == "action:projector"]
        view.close()
        return entry.kind

    off = kind()
    press(streaming, "projector")
    assert kind() == f"{off}, on now"
    press(streaming, "projector")
    assert kind() == off


def test_a_setting_that_does_not_apply_has_a_reason(streaming, session):
    session.config = replace(session.config, mix=None)
    entries = found(opened(streaming))
    share = streaming.panel.controls["mix_amount"]
    [entry] = [e for e in entries if share.accessibleName() in e.more and not e.enabled]
    assert entry.reason == share.toolTip()


def test_a_question_opens_the_help_at_its_answer(streaming, qtbot):
    question = QUESTIONS["When something is wrong"][1].asks
    view = opened(streaming)
    assert found(view, question)[0].title == question
    QTest.keyClick(view.field, Qt.Key.Key_Return)
    help_dialog = streaming.commands.help
    assert help_dialog.isVisible()
    answers = help_dialog.answers
    assert answers.textCursor().selectedText() == question
    qtbot.waitUntil(lambda: answers.viewport().rect().contains(answers.cursorRect()))


def test_the_recently_used_come_first_and_stay(streaming):
    view = opened(streaming)
    found(view, "udnie")
    QTest.keyClick(view.field, Qt.Key.Key_Return)
    view = opened(streaming)
    found(view, "mosaic")
    QTest.keyClick(view.field, Qt.Key.Key_Return)
    wanted = ["style:mosaic", "style:udnie"]
    assert [entry.key for entry in found(opened(streaming))[:2]] == wanted
    assert keys_of(streaming.settings.current().palette_recent) == wanted


def test_nothing_is_stored_while_nothing_is_remembered(streaming):
    streaming.settings.update(remember_source="never")
    view = opened(streaming)
    found(view, "strength")
    QTest.keyClick(view.field, Qt.Key.Key_Return)
    assert streaming.settings.current().palette_recent == ""


def test_the_queue_is_searched_while_it_is_shown(window):
    count = len(found(opened(window)))
    window.commands.palette.view.close_up()
    window.queue.show()
    keys = [entry.key for entry in found(opened(window))]
    assert len(keys) == count + len(QUEUE_ACTIONS)


def test_screen_readers_get_title_kind_and_key(streaming):
    view = opened(streaming)
    entries = found(view, "save")
    row, entry = next((n, e) for n, e in enumerate(entries) if e.key == "action:snapshot")
    assert entry.shortcut == "S"
    name = accessible(view.list).child(row).text(QAccessible.Text.Name)
    assert [part for part in (entry.title, entry.kind, "S") if part not in name] == []


def test_a_narrow_low_window_holds_it(streaming):
    streaming.resize(900, 600)
    view = opened(streaming)
    streaming.resize(940, 640)
    QApplication.processEvents()
    assert view.rect() == streaming.workspace.rect()
    card = view.field.parentWidget()
    assert card is not None
    assert view.rect().contains(card.geometry())
    assert card.rect().contains(view.list.geometry())
    assert not found(view, "no such words")
    assert view.list.isHidden()
