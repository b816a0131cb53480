"""The window under a window manager: the frame, full screen, maximized and minimized.

`tests/integration/test_window_manager.py` runs these; no other test screen has a manager.
"""

from __future__ import annotations

import os

import pytest

from app.settings import Settings
from app.ui.main_window import MainWindow
from tests.app.ui.window.conftest import press
from tests.helpers.windows import show_window

pytestmark = pytest.mark.skipif(
    not os.environ["QT_QPA_PLATFORM"].startswith("xcb"), reason="needs a window manager on X11"
)


@pytest.fixture
def another(session, saved, qtbot):
    """Return a function that opens a window with an earlier one's settings."""

    def make(settings: Settings) -> MainWindow:
        made = MainWindow(session, settings, saved.append)
        qtbot.addWidget(made)
        show_window(made, qtbot)
        return made

    return make


def test_the_frame_lies_on_the_screen(window, qtbot):
    qtbot.waitUntil(lambda: window.frameGeometry().height() > window.height())
    window.resize(4000, 3000)
    screen = window.screen().availableGeometry()
    window.move(screen.bottomRight())
    window.showMinimized()
    window.showNormal()
    qtbot.waitUntil(lambda: screen.contains(window.frameGeometry()))


@pytest.mark.parametrize("maximized", [False, True])
def test_full_screen_covers_it_and_gives_the_place_back(streaming, qtbot, maximized):
    screen = streaming.screen().geometry()
    if maximized:
        streaming.showMaximized()
        qtbot.waitUntil(lambda: streaming.width() == screen.width())
    qtbot.wait(100)  # a manager moves a window once more after showing it
    before = streaming.geometry()
    press(streaming, "fullscreen")
    qtbot.waitUntil(lambda: streaming.geometry() == screen)
    press(streaming, "back")
    qtbot.waitUntil(lambda: streaming.geometry() == before)
    assert streaming.isMaximized() == maximized


def test_a_maximized_window_opens_maximized_and_goes_back_to_its_place(
    window, saved, another, qtbot
):
    place = window.screen().availableGeometry().adjusted(200, 150, -400, -300)
    window.setGeometry(place)
    qtbot.waitUntil(lambda: window.geometry() == place)
    window.showMaximized()
    qtbot.waitUntil(lambda: window.width() == window.screen().availableGeometry().width())
    window.close()
    opened = another(saved[-1])
    qtbot.waitUntil(lambda: opened.width() == opened.screen().availableGeometry().width())
    assert opened.isMaximized()
    opened.showNormal()
    qtbot.waitUntil(lambda: opened.size() == place.size())


def test_a_minimized_window_takes_pictures_and_shows_the_newest(moving, session, qtbot):
    moving.showMinimized()
    qtbot.waitUntil(moving.isMinimized)
    with qtbot.waitSignals([session.styled] * 3, timeout=5000):
        pass
    moving.showNormal()
    painted = moving.viewport.styled
    qtbot.waitUntil(lambda: moving.viewport.styled is not painted)


def test_the_keyboard_comes_back_when_the_projector_closes(streaming, qtbot):
    press(streaming, "projector")
    projector = streaming.showing.projector
    show_window(projector, qtbot)
    assert not streaming.isActiveWindow()
    projector.close()
    qtbot.waitUntil(streaming.isActiveWindow)
