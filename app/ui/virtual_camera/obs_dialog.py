"""The two ways of the painting into OBS and other programs, in a window that can stay open."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QFontDatabase, QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from app.ui.layouts import Part, described, fill
from app.ui.theme.tokens import SPACE
from app.ui.widgets.dialogs import ModelessDialog, lay_out_dialog
from app.ui.widgets.message_bars import make_button
from app.ui.widgets.remark_label import RemarkLabel
from app.ui.window_geometry import WindowGeometry
from app.virtual_camera.installing import Needed
from utils.translation.texts import tr

WIDTH = 560  # pixels


class ObsDialog(ModelessDialog):
    """Offers the virtual camera and the projector window, with what to do in OBS.

    Args:
        camera, projector: The actions that switch them.

    Signals:
        test_wanted: The camera should show a test picture for a while.
        settings_wanted: The settings of the camera should be shown.
    """

    test_wanted = Signal()
    settings_wanted = Signal()

    def __init__(self, camera: QAction, projector: QAction, parent: QWidget | None = None) -> None:
        super().__init__(tr("StyleForge: use in OBS"), parent)
        self._camera, self._projector = camera, projector
        self.needed = _paragraph()
        self.command = described(
            QLineEdit(), tr("What to install"), tr("The command or the address to copy")
        )
        self.command.setReadOnly(True)
        self.command.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.copy = make_button(
            tr("&Copy"), tr("Copy this line to the clipboard"), self._copy_command
        )
        self.start = make_button(
            tr("&Start the camera"), tr("Switch the virtual camera on or off"), camera.trigger
        )
        self.start.setProperty("role", "primary")
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
        self.status = RemarkLabel()
        for action in (camera, projector):
            action.changed.connect(self._update)
        self._lay_out()
        self._update()
        WindowGeometry(self)

    def show_needed(self, needed: Needed) -> None:
        """Show what has to be installed first."""
        self.needed.setText(needed.sentence)
        self.command.setText(needed.command)
        self.command.setCursorPosition(0)
        for part in (self.command, self.copy):
            part.setVisible(bool(needed.command))

    def show_status(self, text: str) -> None:
        """Show the state of the camera; "" while it is off."""
        self.status.show_text(text)

    def _copy_command(self) -> None:
        QGuiApplication.clipboard().setText(self.command.text())

    def _update(self) -> None:
        sends, projects = self._camera.isChecked(), self._projector.isChecked()
        self.start.setText(tr("&Stop the camera") if sends else tr("&Start the camera"))
        self.project.setText(tr("Close the pr&ojector") if projects else tr("&Open the projector"))
        self.test.setEnabled(sends)

    def _lay_out(self) -> None:
        line = fill(QHBoxLayout(), (self.command, 1), self.copy, spacing=SPACE)
        buttons = fill(QHBoxLayout(), self.start, self.test, self.settings, None, spacing=SPACE)
        camera = _way(
            1,
            tr("As a camera"),
            tr("OBS, Zoom, Meet and Discord find the painting in their list of cameras."),
            self.needed,
            line,
            buttons,
            self.status,
        )
        window = _way(
            2,
            tr("As a window"),
            tr(
                "Nothing has to be installed. In OBS, add the source Window Capture and choose the "
                "window StyleForge: projector."
            ),
            fill(QHBoxLayout(), self.project, None),
        )
        content = QWidget()
        margins = (2 * SPACE, 2 * SPACE, 2 * SPACE, SPACE)
        fill(QVBoxLayout(content), camera, window, None, margins=margins, spacing=2 * SPACE)
        lay_out_dialog(self, content, self.close_button(tr("C&lose")))
        self.setMinimumWidth(WIDTH)


def _way(number: int, title: str, text: str, *parts: Part) -> QWidget:
    """Return a card of a way: its number, title and description, and parts below."""
    card = QFrame()
    card.setObjectName("card")
    sign, heading = QLabel(str(number)), QLabel(title)
    sign.setProperty("role", "key")
    heading.setProperty("role", "title")
    head = fill(QHBoxLayout(), sign, heading, None, spacing=SPACE)
    words = _paragraph()
    words.setText(text)
    margins = (2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
    fill(QVBoxLayout(card), head, words, *parts, margins=margins, spacing=SPACE)
    return card


def _paragraph() -> QLabel:
    label = QLabel()
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label
