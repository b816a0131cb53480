"""The window's keys answer questions, whatever has the focus."""

from __future__ import annotations

import pytest
import torch
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from models.transformer_net import TransformerNetBaseline
from tests.app.ui.window.conftest import press


@pytest.fixture
def mine(window, session, tmp_path, qtbot):
    torch.save(TransformerNetBaseline(1).state_dict(), tmp_path / "mine.pth")
    with qtbot.waitSignal(session.styles_changed, timeout=10_000):
        session.user_styles.install(tmp_path / "mine.pth")
    return session.catalog.get("mine")


def keys(session) -> list[str]:
    return [style.key for style in session.catalog.styles]


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space])
def test_enter_removes_the_style_that_was_asked_about(window, session, mine, key, qtbot):
    press(window, "remove_style")
    assert window.questions.isVisible()
    with qtbot.waitSignal(session.styles_changed, timeout=5000):
        QTest.keyClick(window.windowHandle(), key)
    assert "mine" not in keys(session)
    assert not mine.weights.exists()


def test_enter_removes_after_the_menu_asked(window, session, mine, qtbot):
    action = window.actions_by_key["remove_style"]
    menu = next(m for m in window.findChildren(QMenu) if action in m.actions())
    menu.popup(window.mapToGlobal(window.rect().center()))
    qtbot.waitUntil(menu.isVisible)
    menu.setActiveAction(action)
    QTest.keyClick(menu, Qt.Key.Key_Return)
    qtbot.waitUntil(window.questions.isVisible)
    with qtbot.waitSignal(session.styles_changed, timeout=5000):
        QTest.keyClick(window.windowHandle(), Qt.Key.Key_Return)
    assert "mine" not in keys(session)


@pytest.mark.parametrize("cancel", [(Qt.Key.Key_Escape,), (Qt.Key.Key_Tab, Qt.Key.Key_Return)])
def test_escape_and_enter_on_cancel_remove_nothing(window, session, mine, cancel):
    press(window, "remove_style")
    for key in cancel:
        QTest.keyClick(window.windowHandle(), key)
    assert not window.questions.isVisible()
    assert "mine" in keys(session)
    assert mine.weights.exists()
