"""Every control has a name, Tab reaches it, and each key does exactly one thing."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QTabBar,
    QWidget,
)

from app.errors import Problem
from app.frame import SourceInfo
from app.ui.actions import ACTIONS
from tests.app.ui.window.conftest import press
from tests.app.ui.window.surfaces import menus


def controls(window: QWidget) -> list[QWidget]:
    kinds = (QAbstractButton, QComboBox, QAbstractSlider, QLineEdit, QAbstractItemView)
    found = [w for kind in kinds for w in window.findChildren(kind)]
    return [w for w in found if w.focusPolicy() != Qt.FocusPolicy.NoFocus and _is_ours(w)]


def _is_ours(widget: QWidget) -> bool:
    parent = widget.parentWidget()
    while parent is not None:
        if isinstance(parent, QComboBox | QTabBar):  # its scroll buttons are never shown
            return False
        parent = parent.parentWidget()
    return True


def test_every_control_has_an_accessible_name_and_a_tooltip(window):
    window.questions.ask("Install it?", "&Install", print, label="&Title:")
    window.panel.ask_address()
    found = controls(window)
    assert len(found) > 20
    nameless = [w for w in found if not w.accessibleName()]
    silent = [w for w in found if not w.toolTip()]
    assert (nameless, silent) == ([], [])
    assert window.viewport.accessibleName()


def test_tab_reaches_every_control_on_screen(streaming, qtbot):
    window = streaming
    window.problems.add(Problem("a"))
    window.notices.show_notice("b")
    window.playback_bar.show_source(SourceInfo("film", 8, 8, 25.0, 9.0))
    wanted = {w for w in controls(window) if w.isVisible() and w.isEnabled()} | {window.viewport}
    window.viewport.setFocus()
    reached: set[QWidget] = set()
    for _ in range(3 * len(wanted)):
        focused = QApplication.focusWidget()
        assert focused is not None
        reached.add(focused)
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    assert wanted <= reached


def test_every_label_of_the_panel_leads_to_its_control(window):
    panel, bar = window.panel, window.engine_bar
    buddies = {label.buddy() for each in (panel, bar) for label in each.findChildren(QLabel)}
    assert {
        panel.sources.list,
        panel.controls["strength"],
        panel.mix,
        panel.controls["mix_amount"],
        panel.detail,
        panel.controls["strokes"],
        panel.controls["smoothing"],
        bar.controls["network"],
        *bar.lists.boxes.values(),
    } <= buddies


def test_no_two_mnemonics_of_the_panel_are_the_same(window):
    kinds, parts = (QLabel, QAbstractButton), (window.panel, window.engine_bar)
    texts = [w.text() for part in parts for kind in kinds for w in part.findChildren(kind)]
    letters = [t[t.index("&") + 1].lower() for t in texts if "&" in t]
    assert len(letters) == len(set(letters)) == 22


def test_every_action_is_in_the_menu(window):
    inside = {action for menu in menus(window.toolbar.menu) for action in menu.actions()}
    missing = {entry.key for entry in ACTIONS if window.actions_by_key[entry.key] not in inside}
    numbered = {f"style_{number}" for number in range(1, 10)}  # the styles are there by name
    assert missing == {"menu", *numbered}


def test_space_on_a_focused_button_presses_the_button(streaming, session):
    button = streaming.toolbar.findChild(QWidget, "segments").findChildren(QAbstractButton)[1]
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_Space)
    assert streaming.viewport.view == "split"
    assert not session.paused


def test_letters_typed_into_a_field_are_no_shortcuts(streaming, session):
    streaming.panel.ask_address()
    QTest.keyClicks(streaming.panel.sources.address, "nsc 1")
    assert streaming.panel.sources.address.text() == "nsc 1"
    assert streaming.viewport.view == "styled"
    assert not session.paused


def test_keys_choose_styles(streaming, session):
    press(streaming, "style_3")
    assert session.config.style == "udnie"
    press(streaming, "next_style")
    assert session.config.style == "candy"
    press(streaming, "previous_style")
    assert session.config.style == "udnie"
    press(streaming, "style_9")
    assert session.config.style == "udnie"
    assert streaming.gallery.view.currentIndex().data() == "Udnie"


def test_space_pauses_and_goes_on(streaming, session):
    press(streaming, "pause")
    assert session.paused
    press(streaming, "pause")
    assert not session.paused
    assert not streaming.actions_by_key["pause"].isChecked()


def test_full_screen_shows_the_picture_alone_and_escape_leaves_it(streaming):
    press(streaming, "fullscreen")
    assert streaming.isFullScreen()
    chrome = (streaming.toolbar, streaming.panel, streaming.status, streaming.gallery)
    assert not any(part.isVisible() for part in chrome)
    press(streaming, "back")
    assert not streaming.isFullScreen()
    assert all(part.isVisible() for part in chrome)


def test_the_help_opens_beside_the_stream(streaming):
    press(streaming, "help")
    assert streaming.commands.help.isVisible()
    assert not streaming.commands.help.isModal()
