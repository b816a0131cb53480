"""The two ways of the painting into OBS and other programs, in a window that can stay open."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction, QFontDatabase, QGuiApplication, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QVBoxLayout,
    QWidget,
)

from app.ui.layouts import Part, described, fill
from app.ui.theme.tokens import SPACE
from app.ui.widgets.dialogs import ModelessDialog, lay_out_dialog
from app.ui.widgets.message_bars import make_button
from app.ui.widgets.roles import show_role
from app.ui.widgets.status_line import StatusLine
from app.ui.window_geometry import WindowGeometry
from app.virtual_camera.installing import Needed
from utils.translation.texts import tr

WIDTH = 560  # pixels
RAISE_MS = 250


class ObsDialog(ModelessDialog):
    """Offers the virtual camera and the projector window, with what to do in OBS.

    The way that works at once comes first, with the primary button.

    Args:
        camera, projector: The actions that switch them.
        person: The action that shows the choice of person and background.

    Signals:
        test_wanted: The camera should show a test picture for a while.
        settings_wanted: The settings of the camera should be shown.
    """

    test_wanted = Signal()
    settings_wanted = Signal()

    def __init__(
        self,
        camera: QAction,
        projector: QAction,
        person: QAction,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(tr("StyleForge: use in OBS"), parent)
        self._camera, self._projector = camera, projector
        self.needed = _paragraph()
        self.command = described(
            _paragraph(), tr("What to install"), tr("The command or the address to copy")
        )
        self.command.setProperty("role", "command")
        self.command.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.command.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.copy = make_button(
            tr("&Copy"), tr("Copy this line to the clipboard"), self._copy_command
        )
        self.start = make_button(
            tr("&Start the camera"), tr("Switch the virtual camera on or off"), camera.trigger
        )
        self.test = make_button(
            tr("Send a &test picture"),
            tr("Show color bars to the other program for five seconds"),
            self.test_wanted.emit,
        )
        self.settings = make_button(
            tr("S&ettings..."),
            tr("Choose size, rate and format of the virtual camera"),
            self.settings_wanted.emit,
        )
        self.project = make_button(
            tr("&Open the projector"),
            tr("Show the painting alone in a window, or close that window"),
            projector.trigger,
        )
        self.person = make_button(
            tr("&Person and background..."),
            tr("Choose what is painted, and what is shown in place of the rest"),
            person.trigger,
        )
        self.status = StatusLine()
        self.status.setAccessibleName(tr("State of the virtual camera"))
        for action in (camera, projector):
            action.changed.connect(self._update)
        # Wait until the window system has shown the projector, which would cover this dialog.
        self._soon = QTimer(self, interval=RAISE_MS, singleShot=True)
        self._soon.timeout.connect(self._come_forward)
        projector.toggled.connect(lambda _: self._soon.start())
        self._lay_out()
        self._update()
        WindowGeometry(self)

    def show_needed(self, needed: Needed) -> None:
        """Show what has to be installed first."""
        self.needed.setText(needed.sentence)
        self.command.setText(needed.command)
        for part in (self.command, self.copy):
            part.setVisible(bool(needed.command))
        first = self._window_way if needed.missing else self._camera_way
        if self._ways.indexOf(first) != 0:
            self._ways.insertWidget(0, first)
        show_role(self.start, "" if needed.missing else "primary")
        show_role(self.project, "primary" if needed.missing else "")
        self.make_room()

    def show_status(self, text: str) -> None:
        """Show the state of the camera; "" while it is off."""
        self.status.show_text(text)
        self.make_room()

    def show_fault(self, text: str) -> None:
        """Show why the camera does not start."""
        self.status.show_fault(text)
        self.make_room()

    def showEvent(self, event: QShowEvent) -> None:
        """Make room again: the theme shapes texts and buttons when they are first shown."""
        super().showEvent(event)
        self.make_room()

    def _come_forward(self) -> None:
        if self.isVisible():
            self.raise_()
            self.activateWindow()

    def _copy_command(self) -> None:
        QGuiApplication.clipboard().setText(self.command.text())
        self.status.show_answer(tr("Copied"))

    def _update(self) -> None:
        sends, projects = self._camera.isChecked(), self._projector.isChecked()
        self.start.setText(tr("&Stop the camera") if sends else tr("&Start the camera"))
        self.project.setText(tr("Close the pr&ojector") if projects else tr("&Open the projector"))
        self.test.setEnabled(sends)

    def _lay_out(self) -> None:
        line = fill(QHBoxLayout(), (self.command, 1), self.copy, spacing=SPACE)
        buttons = fill(QHBoxLayout(), self.start, self.test, self.settings, None, spacing=SPACE)
        self._camera_way = _way(
            tr("As a camera"),
            tr("OBS, Zoom, Meet and Discord find the painting in their list of cameras."),
            self.needed,
            line,
            buttons,
            self.status,
        )
        self._window_way = _way(
            tr("As a window"),
            tr(
                "Nothing has to be installed. In OBS, add the source Window Capture and choose the "
                "window StyleForge: projector."
            ),
            fill(QHBoxLayout(), self.project, None),
        )
        self._green = _way(
            tr("With only you in it"),
            tr(
                "Choose Unpainted: Green in Person and background, and add the filter Chroma Key "
                "to the source in OBS."
            ),
            fill(QHBoxLayout(), self.person, None),
        )
        content = QWidget()
        margins = (2 * SPACE, 2 * SPACE, 2 * SPACE, SPACE)
        self._ways = QVBoxLayout(content)
        ways = self._camera_way, self._window_way, self._green
        fill(self._ways, *ways, None, margins=margins, spacing=2 * SPACE)
        lay_out_dialog(self, content, self.close_button(tr("C&lose")))
        self.setMinimumWidth(WIDTH)


def _way(title: str, text: str, *parts: Part) -> QWidget:
    """Return a card of a way: its title and description, and parts below."""
    card = QFrame()
    card.setObjectName("card")
    heading = QLabel(title)
    heading.setProperty("role", "title")
    words = _paragraph()
    words.setText(text)
    margins = (2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
    fill(QVBoxLayout(card), heading, words, *parts, margins=margins, spacing=SPACE)
    return card


def _paragraph() -> QLabel:
    label = QLabel()
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label
