"""On small screens the window and its dialogs fit, and everything in them is reachable."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QToolButton, QWidget

from app.errors import Problem
from app.settings import Settings
from app.ui.main_window import MainWindow
from app.ui.window_geometry import fit_to_screen
from tests.app.ui.window.conftest import press
from tests.helpers.daily import some_daily
from tests.helpers.on_a_screen import told

WORDED = ("wall", "open", "snapshot", "record", "virtual_camera", "queue", "panel")

# The window and its dialogs on a small screen

SCREENS = {"1024x640": (1024, 640, 1), "200 %": (1920, 1080, 2)}
SMALL = pytest.mark.parametrize("screen", some_daily(SCREENS))
FIT = """
told["screen"] = window.screen().availableGeometry().size().toTuple()
told["window"] = fits(window)
press("help")
told["help"] = fits(window.commands.help)
window.commands.help.close()
window.actions_by_key["train"].trigger()
wait()
studio = window.training_launcher.window
studio.form.advanced_button.setChecked(True)
wait()
told["studio"] = fits(studio)
form = studio.form
form.ensureWidgetVisible(form.choose_vgg)
wait()
button = form.choose_vgg
told["studio scrolls"] = form.viewport().rect().contains(
    QRect(button.mapTo(form.viewport(), button.rect().topLeft()), button.size()))
studio.close()
window.actions_by_key["open"].trigger()
wait()
[dialog] = window.findChildren(PickerDialog)
told["dialog"] = fits(dialog)
dialog.reject()
"""
REACH = """
from app.frame import SourceInfo
window.playback_bar.show_source(SourceInfo("film", 8, 8, 25.0, 9.0))
session.notice.emit("Saved a picture")
wait()
parts = (window.toolbar, window.viewport, window.notices, window.playback_bar, window.gallery,
         window.status, *window.toolbar.findChildren(QWidget))
told["outside"] = [part.accessibleName() for part in parts if part.isVisible() and not inside(part)]
told["picture"] = window.viewport.height()
if window.workspace.narrow:
    press("panel")
panel = window.panel
told["panel"] = panel.isVisible() and inside(panel)
last = panel.person_button
panel.ensureWidgetVisible(last)
wait()
told["last"] = panel.viewport().rect().contains(
    QRect(last.mapTo(panel.viewport(), last.rect().topLeft()), last.size()))
told["buttons"] = inside(window.notices) and window.notices.geometry().right() < (
    panel.geometry().left() if window.workspace.narrow else window.width())
"""


@pytest.fixture(scope="module")
def facts(tmp_path_factory) -> Callable[[str], dict[str, Any]]:
    """Return what both scripts tell of a screen, in one process for each screen."""

    @cache
    def of(screen: str) -> dict[str, Any]:
        width, height, scale = SCREENS[screen]
        folder = tmp_path_factory.mktemp("screen")
        return told(folder, REACH + FIT, width, height, scale=scale)

    return of


@SMALL
def test_the_window_and_its_dialogs_fit_the_screen(facts, screen):
    width, height, scale = SCREENS[screen]
    found = facts(screen)
    assert found["screen"] == [width // scale, height // scale]
    for each in ("window", "help", "studio", "studio scrolls", "dialog"):
        assert found[each] is True, each


@SMALL
def test_everything_can_be_reached_on_a_small_screen(facts, screen):
    found = facts(screen)
    assert found["picture"] >= 240
    assert found["outside"] == []
    for each in ("panel", "last", "buttons"):
        assert found[each] is True, each


@pytest.mark.full
@pytest.mark.parametrize("maximized", [False, True])
def test_a_kept_geometry_that_no_longer_fits_is_corrected(session, tmp_path, qtbot, maximized):
    before = MainWindow(session, Settings(), lambda _: None)
    qtbot.addWidget(before)
    before.setGeometry(300, 200, 1500, 840)
    before.showMaximized() if maximized else before.show()
    kept = base64.b64encode(before.saveGeometry().data()).decode()
    before.close()
    facts = told(
        tmp_path,
        """
told["fits"] = fits(window)
window.showNormal()
wait(200)
told["fits when it is not"] = fits(window)
""",
        1024,
        640,
        geometry=kept,
    )
    assert facts == {"fits": True, "fits when it is not": True}


def test_a_window_beyond_the_screen_is_brought_back(window, qtbot):
    window.setGeometry(1500, 900, 2500, 1400)
    fit_to_screen(window)
    assert window.screen().availableGeometry().contains(window.frameGeometry())
    window.setGeometry(-300, -200, 1000, 700)
    fit_to_screen(window)
    assert window.screen().availableGeometry().contains(window.frameGeometry())
    assert (window.width(), window.height()) == (1000, 700)


# A narrow window


@pytest.fixture
def narrow(streaming, qtbot) -> MainWindow:
    streaming.resize(900, 500)
    qtbot.waitUntil(lambda: streaming.workspace.narrow)
    return streaming


def test_the_window_can_be_made_smaller_than_900_pixels(streaming, qtbot):
    streaming.resize(1, 1)
    qtbot.wait(50)
    assert streaming.width() < 900
    assert streaming.height() <= 500
    for button in streaming.toolbar.findChildren(QAbstractButton):
        if button.isVisible():
            place = QRect(button.mapTo(streaming, QPoint()), button.size())
            assert streaming.rect().contains(place), button.accessibleName()


def test_views_fold_to_icons_that_keep_their_names(streaming, qtbot):
    def views() -> list[QAbstractButton]:
        return streaming.toolbar.findChild(QWidget, "segments").findChildren(QAbstractButton)

    streaming.resize(1280, 700)
    qtbot.wait(20)
    wide = [view.width() for view in views()]
    streaming.resize(1, 1)
    qtbot.wait(20)
    assert all(view.width() < before - 10 for view, before in zip(views(), wide, strict=True))
    assert [view.accessibleName() for view in views()] == ["Painting", "Before/after", "Speed test"]
    assert all(view.toolTip() for view in views())
    streaming.resize(1280, 700)
    qtbot.wait(20)
    assert [view.width() for view in views()] == wide


def test_how_far_training_is_has_its_place_in_a_narrow_bar_too(narrow, qtbot):
    narrow.resize(1, 1)
    assert not narrow.toolbar.button("train").isVisible()
    narrow.toolbar.show_training("37 % trained")
    narrow.resize(1, 1)
    qtbot.wait(20)
    assert narrow.width() < 900
    assert narrow.toolbar.button("train").isVisible()
    assert narrow.toolbar.button("train").accessibleDescription() == "37 % trained"


def test_a_narrow_window_opens_the_panel_as_a_drawer_over_the_picture(narrow, qtbot):
    before = narrow.viewport.geometry()
    assert not narrow.panel.isVisible()
    assert not narrow.actions_by_key["panel"].isChecked()
    press(narrow, "panel")
    assert narrow.panel.isVisible()
    assert narrow.actions_by_key["panel"].isChecked()
    assert narrow.panel.geometry().right() == narrow.workspace.rect().right()
    assert narrow.viewport.geometry() == before
    press(narrow, "panel")
    assert not narrow.panel.isVisible()


def test_escape_closes_the_drawer_before_it_dismisses_a_problem(narrow, session):
    press(narrow, "panel")
    session.problem.emit(Problem("something"))
    press(narrow, "back")
    assert not narrow.panel.isVisible()
    assert narrow.problems.isVisible()
    press(narrow, "back")
    assert not narrow.problems.isVisible()


def test_a_click_beside_the_drawer_closes_it_and_does_nothing_else(narrow, session):
    before = session.config
    for part in (narrow.viewport, narrow.gallery.view.viewport()):
        press(narrow, "panel")
        corner = part.mapTo(narrow, QPoint(140, 40))
        QTest.mouseClick(narrow.childAt(corner), Qt.MouseButton.LeftButton)
        assert not narrow.panel.isVisible()
    assert session.config == before


def test_what_is_used_in_the_drawer_gives_the_focus_back_to_the_picture(narrow):
    press(narrow, "panel")
    narrow.panel.mix.setFocus()
    QTest.keyClick(narrow.panel.mix, Qt.Key.Key_Escape)
    assert not narrow.panel.isVisible()
    assert narrow.viewport.hasFocus()


def test_asking_for_an_address_opens_the_drawer(narrow):
    press(narrow, "address")
    assert narrow.panel.sources.address.hasFocus()
    assert narrow.panel.isVisible()
    QTest.keyClick(narrow.panel.sources.address, Qt.Key.Key_Escape)
    QTest.keyClick(narrow.viewport, Qt.Key.Key_Escape)
    assert not narrow.panel.isVisible()


def test_messages_are_not_under_the_drawer(narrow, session, qtbot):
    press(narrow, "panel")
    session.problem.emit(Problem("something"))
    qtbot.wait(20)
    assert narrow.problems.geometry().right() < narrow.panel.geometry().left()
    button = narrow.problems.findChildren(QAbstractButton)[-1]
    place = button.mapTo(narrow, button.rect().center())
    assert narrow.childAt(place) is button


def test_a_wider_window_has_its_panel_back_beside_the_picture(narrow, saved, qtbot):
    narrow.resize(1280, 700)
    qtbot.waitUntil(lambda: narrow.panel.isVisible())
    assert narrow.actions_by_key["panel"].isChecked()
    assert not narrow.viewport.geometry().intersects(narrow.panel.geometry())
    press(narrow, "panel")
    assert not narrow.panel.isVisible()
    narrow.resize(900, 500)
    qtbot.waitUntil(lambda: narrow.workspace.narrow)
    press(narrow, "panel")
    press(narrow, "panel")
    narrow.close()
    assert not saved[-1].show_panel  # the drawer does not change the setting


def test_full_screen_closes_the_drawer(narrow, qtbot):
    press(narrow, "panel")
    press(narrow, "fullscreen")
    assert not narrow.panel.isVisible()
    press(narrow, "back")
    qtbot.waitUntil(lambda: narrow.workspace.narrow)
    assert not narrow.panel.isVisible()


def test_a_window_at_rest_lays_nothing_out(window, qtbot):
    """A toolbar that folded on every layout once kept a processor busy."""
    seen: list[QEvent.Type] = []

    class Watch(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            seen.append(event.type())
            return False

    watch = Watch()
    qtbot.wait(200)  # lets the first layouts finish
    window.toolbar.installEventFilter(watch)
    qtbot.wait(200)
    assert seen.count(QEvent.Type.LayoutRequest) <= 2


def test_buttons_of_the_toolbar_have_words_where_there_is_room(streaming, qtbot):
    def words() -> int:
        styles = (streaming.toolbar.button(key).toolButtonStyle() for key in WORDED)
        return sum(style == Qt.ToolButtonStyle.ToolButtonTextBesideIcon for style in styles)

    counts = []
    for width in (640, 780, 1280, 1920):
        streaming.resize(width, 800)
        qtbot.wait(20)
        counts.append(words())
    assert counts == sorted(counts)
    assert counts[0] < counts[1] < counts[2] == counts[3] == len(WORDED)


def test_no_two_buttons_of_the_toolbar_look_alike(streaming, qtbot):
    streaming.resize(1, 1)
    qtbot.wait(20)
    size = QSize(20, 20)
    buttons = [b for b in streaming.toolbar.findChildren(QToolButton) if b.isVisible()]
    pictures = [b.icon().pixmap(size).toImage() for b in buttons]
    assert len(buttons) == len(WORDED) + 3 + 1  # the views, and the menu
    assert [a for n, a in enumerate(pictures) if a.isNull() or a in pictures[:n]] == []
    assert all(button.toolTip() for button in buttons)
