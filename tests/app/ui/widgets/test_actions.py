"""Each action in the table has a key, a title and a tip, and the help lists them all."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QLabel, QWidget

from app.diagnostics.questions import QUESTIONS
from app.ui import actions
from app.ui.help_dialog import KEYS, HelpDialog, shortcut_text
from app.ui.theme.icons import FOLDER


def test_no_two_actions_share_a_key():
    keys = [QKeySequence(key).toString() for entry in actions.ACTIONS for key in entry.keys]
    assert all(keys)
    assert len(keys) == len(set(keys))


def test_every_action_has_a_key_a_title_and_a_tip_and_its_icon_exists():
    for entry in actions.ACTIONS:
        assert entry.keys, entry.key
        assert entry.title, entry.key
        assert entry.tip, entry.key
        assert entry.group in actions.GROUPS
        assert not entry.icon or (FOLDER / f"{entry.icon}.svg").is_file(), entry.key


def test_the_help_lists_every_action(qtbot):
    dialog = HelpDialog()
    qtbot.addWidget(dialog)
    said = {label.text() for label in dialog.findChildren(QLabel)}
    for entry in actions.ACTIONS:
        if entry.key.startswith("style_"):
            assert "1 - 9" in said
        else:
            assert shortcut_text(entry) in said
            assert entry.tip in said


def test_an_action_without_a_slot_is_refused(qtbot):
    widget = QWidget()
    qtbot.addWidget(widget)
    with pytest.raises(KeyError, match="quit"):
        actions.build_actions(widget, {e.key: int for e in actions.ACTIONS if e.key != "quit"})


def test_the_help_filters_as_one_types(qtbot):
    dialog = HelpDialog()
    qtbot.addWidget(dialog)
    dialog.show_page(KEYS)
    save = next(entry for entry in actions.ACTIONS if entry.key == "save")
    dialog.search.setText(" ".join(reversed(save.tip.split()[:3])))
    shown = [label.text() for label in dialog.findChildren(QLabel) if not label.isHidden()]
    assert {save.tip, shortcut_text(save), save.group} <= set(shown)
    assert len(shown) < len(actions.ACTIONS)
    asks = QUESTIONS["Accessibility"][0].asks
    dialog.search.setText(asks)
    assert asks in dialog.answers.toPlainText()
    others = [q.asks for topic in QUESTIONS.values() for q in topic if q.asks != asks]
    assert not [each for each in others if each in dialog.answers.toPlainText()]
    dialog.search.clear()
    assert all(each in dialog.answers.toPlainText() for each in others)
