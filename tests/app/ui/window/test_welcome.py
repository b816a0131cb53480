"""The window's first page has a card for each way to begin and accepts drops."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu

from app.settings import Settings
from app.sources import CameraName
from app.ui.actions import ACTIONS
from app.ui.main_window import MainWindow
from app.ui.welcome.controller import CARDS, NO_CAMERA


@pytest.fixture
def page(window):
    window.welcome.offer()
    return window.welcome.page


def test_the_window_offers_four_cards_where_nothing_was_opened_before(page):
    assert page.isVisible()
    assert [card.word.text() for card in page.cards] == ["Camera", "Photo", "Film", "Demo"]
    assert "drop anything here" in page.drop_zone.text()


def test_each_card_has_an_icon_a_line_a_key_and_a_name(page):
    keys = {entry.key: entry.keys[0] for entry in ACTIONS}
    for card, action in zip(page.cards, CARDS, strict=True):
        assert not card._icon.pixmap().isNull()
        assert card.line.text() == CARDS[action]
        assert card.key.text() == keys[action]
        assert card.accessibleName() == card.word.text()
        assert card.toolTip()


def test_a_window_that_was_given_a_source_does_not_show_the_page(window):
    assert not window.welcome.page.isVisible()


@pytest.mark.parametrize("way", ["click", "enter", "key"])
def test_the_demo_card_opens_the_scene_and_the_page_goes(window, session, page, qtbot, way):
    demo = page.cards[3]
    with qtbot.waitSignal(session.styled, timeout=5000):
        if way == "click":
            QTest.mouseClick(demo, Qt.MouseButton.LeftButton)
        elif way == "enter":
            QTest.keyClick(demo, Qt.Key.Key_Return)
        else:
            QTest.keyClick(window, Qt.Key.Key_F9)
    assert session.spec == "scene"
    assert not page.isVisible()
    assert window.viewport.hasFocus()


@pytest.mark.parametrize(("card", "title"), [(1, "Open photos"), (2, "Open a film")])
def test_the_cards_of_files_ask_for_their_kind(window, page, card, title):
    page.cards[card].click()
    dialog = next(each for each in window.findChildren(QFileDialog) if each.isVisible())
    assert dialog.windowTitle() == title
    dialog.reject()


def test_the_camera_card_opens_the_only_camera(session, page, monkeypatch):
    opened: list[object] = []
    monkeypatch.setattr(session, "open", opened.append)
    monkeypatch.setattr(session, "cameras", lambda: None)
    session.cameras_found.emit((CameraName(0, "HD Pro"),))
    assert opened == [], "a list of cameras opens none unasked"
    page.cards[0].click()
    session.cameras_found.emit((CameraName(0, "HD Pro"),))
    assert opened == ["camera:HD Pro"]


def test_the_camera_card_asks_which_of_several(window, session, page, monkeypatch):
    opened: list[object] = []
    monkeypatch.setattr(session, "open", opened.append)
    monkeypatch.setattr(session, "cameras", lambda: None)
    page.cards[0].click()
    session.cameras_found.emit((CameraName(0, "HD Pro"), CameraName(1, "Other")))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    menu.actions()[1].trigger()
    menu.close()
    assert opened == ["camera:Other"]


def test_the_camera_card_says_that_there_is_no_camera(window, session, page, monkeypatch):
    monkeypatch.setattr(session, "cameras", lambda: None)
    page.cards[0].click()
    session.cameras_found.emit(())
    assert window.notices.text == NO_CAMERA
    assert page.isVisible()


def test_dropping_on_the_page_works_as_everywhere(window, session, page, picture, qtbot):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(picture))])
    how = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier(0))
    over = page.cards[1]
    assert not over.acceptDrops(), "the drag reaches the window"
    assert not page.viewport().acceptDrops()
    QApplication.sendEvent(window, QDragEnterEvent(QPoint(200, 200), *how))
    assert not page.isVisible(), "the picture says what dropping does"
    with qtbot.waitSignal(session.styled, timeout=5000):
        QApplication.sendEvent(window, QDropEvent(QPointF(200, 200), *how))
    assert session.spec == str(picture)
    assert not page.isVisible()


def test_what_cannot_be_opened_leads_back_to_the_page(session, page, tmp_path, qtbot):
    with qtbot.waitSignal(session.opening_failed, timeout=5000):
        session.open(str(tmp_path / "gone.png"))
    assert page.isVisible()


@pytest.mark.parametrize("size", [(900, 600), (1280, 800)])
def test_all_cards_are_on_the_screen(window, page, qtbot, size):
    window.resize(*size)
    qtbot.waitUntil(lambda: page.size() == window.viewport.size())
    QTest.qWait(50)
    for part in (page.headline, *page.cards, page.drop_zone):
        corner = part.mapTo(page, part.rect().bottomRight())
        assert page.rect().contains(corner), part.accessibleName()


def test_the_page_has_its_icons_in_the_colors_of_the_theme(session, qtbot):
    inks = []
    for theme in ("dark", "light"):
        window = MainWindow(session, Settings(theme=theme), lambda _: None)
        qtbot.addWidget(window)
        window.welcome.offer()
        image = window.welcome.page.cards[0]._icon.pixmap().toImage()
        inks.append({image.pixelColor(x, 24).name() for x in range(48)})
        window.theme.choice = "system"
    assert inks[0] != inks[1]
