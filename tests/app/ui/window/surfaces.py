"""Every page and dialog of the window, for tests that visit all controls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QDeadlineTimer
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QMenu,
    QTabBar,
    QTextEdit,
    QWidget,
)

from app.errors import Problem
from app.frame import SourceInfo
from app.sources.camera import Mode
from app.sources.camera_modes.offers import USUAL
from app.ui.camera.dialog import CameraModeDialog
from app.ui.film.dialog import FilmDialog
from app.ui.film.options import DEFAULTS, Hardware
from app.ui.film.part_picker import FilmFacts
from app.ui.film_strip.paint_all.dialog import PaintAllDialog
from app.ui.film_strip.paint_all.order import PaintPlace
from app.ui.film_strip.paint_all.tiles import Tile
from app.ui.gallery.about import AboutStyle
from app.ui.main_window import MainWindow
from app.ui.showing.slideshow_dialog import SlideshowDialog
from app.ui.virtual_camera.dialog import CameraDialog
from app.ui.virtual_camera.obs_dialog import ObsDialog
from tests.helpers.file_dialogs import open_picker

KINDS = (
    QAbstractButton,
    QComboBox,
    QAbstractSlider,
    QAbstractSpinBox,
    QLineEdit,
    QAbstractItemView,
    QTabBar,
    QTextEdit,
)


def _wall(window: MainWindow) -> QWidget:
    window.wall.show()
    return window


def _messages(window: MainWindow) -> QWidget:
    window.notices.show_offer("Trained", "&Use it", "Use the style", print)
    window.problems.add(Problem("Could not open it", "trace", "Open another one.", at_fault=True))
    window.questions.ask("Install it?", "&Install", print, label="&Title:")
    window.job.show_progress("Installing")
    window.painting.show_share(0.5)
    window.film.show_export("12 frames", 0.5)
    window.playback_bar.show_source(SourceInfo("film", 8, 8, 25.0, 9.0))
    if not window.workspace.panel_shown:
        window.actions_by_key["panel"].trigger()
    if not window.engine_bar.isVisible():
        window.actions_by_key["advanced"].trigger()
    QTest.qWait(350)  # progress bars appear after 300 ms
    return window


def _toast(window: MainWindow) -> QWidget:
    window.notices.show_offer(
        "Open this again?", "&Remember", "Open it", print, other=("Do&n't", "Do not", print)
    )
    return window.notices


def _queue(window: MainWindow) -> QWidget:
    window.actions_by_key["queue"].trigger()
    assert window.queue.page is not None
    return window.queue.page


def _keys(window: MainWindow) -> QWidget:
    window.actions_by_key["help"].trigger()
    assert window.commands.help is not None
    return window.commands.help


def _answers(window: MainWindow) -> QWidget:
    window.actions_by_key["questions"].trigger()
    assert window.commands.help is not None
    return window.commands.help


def _studio(window: MainWindow) -> QWidget:
    window.actions_by_key["train"].trigger()
    studio = window.training_launcher.window
    assert studio is not None
    studio.form.advanced_button.setChecked(True)
    studio.problems.add(Problem("Could not train it", "trace", "Resume it.", at_fault=True))
    return studio


def _film(window: MainWindow) -> QWidget:
    dialog = FilmDialog(window, print)
    dialog.show_film(FilmFacts(1920, 1080, 25.0, 60.0, sound=True))
    dialog.show_options(DEFAULTS)
    dialog.show_hardware({"h264": Hardware(reason="None", details="No driver")})
    dialog.show()
    return dialog


def _paint_all(window: MainWindow) -> QWidget:
    dialog = PaintAllDialog(window, print, print, lambda count: f"{count} s")
    place = PaintPlace(Path("/photos"), Path("/photos/Painted"), frozenset({0}))
    dialog.show_pictures(200, [Tile("Candy", True), Tile("Mosaic", False)], place)
    dialog.show()
    return dialog


def _results(window: MainWindow) -> QWidget:
    window.actions_by_key["queue"].trigger()
    window.queue.results.show_files(["/photos/a.png", "/photos/b.png", "/photos/c.png"])
    page = window.queue.results.page
    assert page is not None
    page.step(1)
    return page


def _camera(window: MainWindow) -> QWidget:
    dialog = CameraDialog(window.settings.value, window)
    dialog.show()
    return dialog


def _obs(window: MainWindow) -> QWidget:
    window.actions_by_key["obs"].trigger()
    dialog = window.findChild(ObsDialog)
    assert dialog is not None
    return dialog


def _camera_mode(window: MainWindow) -> QWidget:
    dialog = CameraModeDialog(window)
    dialog.show_camera(Mode(), USUAL)
    dialog.show()
    return dialog


def _slideshow(window: MainWindow) -> QWidget:
    window.actions_by_key["slideshow_settings"].trigger()
    dialog = window.findChild(SlideshowDialog)
    assert dialog is not None
    return dialog


def _about(window: MainWindow) -> QWidget:
    window.actions_by_key["about_style"].trigger()
    deadline = QDeadlineTimer(20_000)  # a background job reads its facts
    while (dialog := window.findChild(AboutStyle)) is None or not dialog.isVisible():
        assert not deadline.hasExpired()
        QTest.qWait(20)
    return dialog


def _person(window: MainWindow) -> QWidget:
    window.actions_by_key["person"].trigger()
    dialog = window.person.dialog
    assert dialog is not None
    return dialog


def _palette(window: MainWindow) -> QWidget:
    window.actions_by_key["palette"].trigger()
    assert window.commands.palette is not None
    return window.commands.palette.view


def _speed_test(window: MainWindow) -> QWidget:
    window.actions_by_key["view_compare"].trigger()
    return window.speed_test.sheet


def _picker(window: MainWindow) -> QWidget:
    window.actions_by_key["open"].trigger()
    return open_picker(window)


SURFACES: dict[str, Callable[[MainWindow], QWidget]] = {
    "wall": _wall,
    "messages and panel": _messages,
    "toast": _toast,
    "queue": _queue,
    "keys": _keys,
    "answers": _answers,
    "studio": _studio,
    "film": _film,
    "paint all": _paint_all,
    "results": _results,
    "camera": _camera,
    "use in obs": _obs,
    "camera mode": _camera_mode,
    "slideshow": _slideshow,
    "about": _about,
    "person": _person,
    "palette": _palette,
    "speed test": _speed_test,
    "picker": _picker,
}


def daily(first: int) -> list:
    """Return all surfaces; only the `first` (0 or 1) and every second after it are not full."""
    names = list(SURFACES)
    wanted = names[first::2]
    return [pytest.param(n, marks=() if n in wanted else pytest.mark.full) for n in names]


def opened(window: MainWindow, name: str) -> QWidget:
    surface = SURFACES[name](window)
    QTest.qWait(50)
    surface.window().activateWindow()
    assert QTest.qWaitForWindowActive(surface.window())  # a window manager takes its time
    QApplication.processEvents()
    return surface


def controls(surface: QWidget) -> list[QWidget]:
    found = [each for kind in KINDS for each in surface.findChildren(kind)]
    return [
        each
        for each in found
        if each.isVisible() and each.isEnabled() and not _is_qts(each) and each.width() > 0
    ]


def _is_qts(widget: QWidget) -> bool:
    """Return whether Qt created the widget inside a control.

    Examples: the list of a drop-down, a scroll bar, a tab's arrow, the line edit of a number.
    """
    if widget.objectName().startswith("qt_"):
        return True
    parent = widget.parentWidget()
    while parent is not None:
        if isinstance(
            parent, (QComboBox, QAbstractSpinBox, QTabBar)
        ) or parent.objectName().startswith("qt_scroll"):
            return True
        parent = parent.parentWidget()
    return False


def menus(menu: QMenu) -> Iterator[QMenu]:
    """Yield a menu and all menus inside it."""
    yield menu
    for action in menu.actions():
        if inner := action.menu():
            yield from menus(inner)  # type: ignore[arg-type]  (Qt returns an object)


def accessible(widget: QWidget) -> QAccessibleInterface:
    interface = QAccessible.queryAccessibleInterface(widget)
    assert interface is not None
    return interface


def descendants(interface: QAccessibleInterface) -> Iterator[QAccessibleInterface]:
    """Yield `interface` and everything below it that is not invisible."""
    yield interface
    for index in range(interface.childCount()):
        child = interface.child(index)
        if child is not None and child.isValid() and not child.state().invisible:
            yield from descendants(child)
