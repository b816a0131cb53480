"""The path of the shown folder: a button for each folder above it, or a field to type one."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QStackedWidget, QWidget

from app.ui.layouts import described
from app.ui.picker.model import plain_tip
from app.ui.theme.tokens import SPACE
from utils.text import printable
from utils.translation.texts import tr

_WIDEST, _NARROWEST = 180, 40  # px of one name


class PathBar(QStackedWidget):
    """Shows the path as crumbs or as a field.

    Signals:
        chosen: The Path of a crumb.
        typed: The text of the field, after Return.
        left: The field was left with Escape.
    """

    chosen = Signal(object)
    typed = Signal(str)
    left = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.crumbs = _Crumbs(self)
        self.field = described(
            _PathField(self),
            tr("Path"),
            tr("Type the path of a folder or a file; Return goes there, Esc leaves the field"),
        )
        self.field.setAcceptDrops(False)  # the dialog takes dropped files
        self.addWidget(self.crumbs)
        self.addWidget(self.field)
        self.field.returnPressed.connect(lambda: self.typed.emit(self.field.text()))
        self.field.left.connect(self._leave)
        self.crumbs.chosen.connect(self.chosen)
        self.crumbs.clicked.connect(self.edit)
        self._folder: Path | None = None

    def show_folder(self, folder: Path | None, title: str = "") -> None:
        """Show the crumbs of a folder, or `title` if there is none."""
        self._folder = folder
        self.crumbs.show_path(folder, title)
        self.setCurrentWidget(self.crumbs)

    def edit(self) -> None:
        """Show the field with the whole path selected."""
        self.field.setText("" if self._folder is None else str(self._folder))
        self.setCurrentWidget(self.field)
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def _leave(self) -> None:
        self.setCurrentWidget(self.crumbs)
        self.left.emit()


class _PathField(QLineEdit):
    """A field that Return and Escape leave without closing the dialog."""

    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
            return
        super().keyPressEvent(event)
        event.accept()  # Return would otherwise press the dialog's button too


class _Crumbs(QWidget):
    """Buttons side by side; the first ones are hidden where there is no room."""

    chosen = Signal(object)
    clicked = Signal()  # beside the buttons

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._buttons: list[QPushButton] = []
        self._signs: list[QLabel] = []
        self.setToolTip(tr("Click, or press Ctrl+L, to type a path"))

    @property
    def buttons(self) -> list[QPushButton]:
        return self._buttons

    def show_path(self, folder: Path | None, title: str) -> None:
        for widget in (*self._buttons, *self._signs):
            widget.hide()
            widget.deleteLater()
        self._buttons, self._signs = [], []
        if folder is None:
            self._add(None, title)
        else:
            for step in _steps(folder):
                self._add(step, _title(step))
        self._place()

    def sizeHint(self) -> QSize:
        height = self._buttons[-1].sizeHint().height() if self._buttons else 0
        return QSize(40 * SPACE, height)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._place()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.clicked.emit()

    def _add(self, folder: Path | None, title: str) -> None:
        if self._buttons:
            sign = QLabel("/", self)
            sign.setProperty("role", "muted")
            self._signs.append(sign)
        shown = self.fontMetrics().elidedText(title, Qt.TextElideMode.ElideMiddle, _WIDEST)
        button = QPushButton(shown.replace("&", "&&"), self)
        described(button, title, plain_tip(title if folder is None else printable(str(folder))))
        button.setObjectName("quiet")
        button.setMinimumWidth(_NARROWEST)
        if folder is not None:
            button.clicked.connect(lambda: self.chosen.emit(folder))
        self._buttons.append(button)

    def _place(self) -> None:
        """Place the buttons from the end of the path, as many as fit."""
        widths = [max(button.sizeHint().width(), _NARROWEST) for button in self._buttons]
        between = self._signs[0].sizeHint().width() if self._signs else 0
        first, room = len(widths), self.width()
        while first and widths[first - 1] + (between if first < len(widths) else 0) <= room:
            first -= 1
            room -= widths[first] + between
        first = min(first, len(widths) - 1)
        x = 0
        for number, button in enumerate(self._buttons):
            shown = number >= first
            button.setVisible(shown)
            if number:
                sign = self._signs[number - 1]
                sign.setVisible(shown and number > first)
                if shown and number > first:
                    self._put(sign, x, between)
                    x += between
            if shown:
                self._put(button, x, min(widths[number], self.width()))
                x += widths[number]

    def _put(self, widget: QWidget, x: int, width: int) -> None:
        height = self.height()
        if self.layoutDirection() == Qt.LayoutDirection.RightToLeft:
            x = self.width() - x - width
        widget.setGeometry(x, 0, width, height)


def _steps(folder: Path) -> list[Path]:
    """Return the folders from the home folder, or from the root, to `folder`."""
    steps = [folder, *folder.parents][::-1]
    home = Path.home()
    return steps[steps.index(home) :] if home in steps else steps


def _title(folder: Path) -> str:
    if folder == Path.home():
        return tr("Home")
    return printable(folder.name or str(folder))
