"""Shows the picture that was just saved, with what one does next: copy, compare, send, find it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData, QPoint, QSize, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import (
    QAction,
    QDrag,
    QImage,
    QMouseEvent,
    QPixmap,
)
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QMenu,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.layouts import described, fill
from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import breakable
from app.ui.widgets.message_bars import make_button, message_label
from app.ui.widgets.toast import CloseCross, ToastCard, in_use
from utils.translation.mnemonics import without_mnemonic
from utils.translation.texts import tr

THUMBNAIL = QSize(128, 80)  # px, the most that it takes
SHOWN_MS = 30_000


class SavedCard(ToastCard):
    """A card about the last saved picture.

    It disappears after SHOWN_MS, or later while the pointer or the focus is in it. Newer messages
    cover it meanwhile.

    Signals:
        copy_wanted, before_after_wanted, folder_wanted: A button was pressed.
        wipe_wanted: A wipe film is wanted; with whether it is square.
    """

    copy_wanted = Signal()
    before_after_wanted = Signal()
    wipe_wanted = Signal(bool)
    folder_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("saved")
        self.setAccessibleName(tr("Saved picture"))
        self.thumbnail = DraggedThumbnail(self)
        self._text = message_label(self)
        self.copy = make_button(
            tr("&Copy"), tr("Copy the saved picture to the clipboard"), self.copy_wanted.emit
        )
        self.before_after = make_button(
            tr("&Before/after"),
            tr("Save the picture and its original in one file"),
            self.before_after_wanted.emit,
        )
        self.wipe = self._wipe_button()
        self.folder = make_button(
            tr("Show in &folder"), tr("Show the file in its folder"), self.folder_wanted.emit
        )
        close = CloseCross()
        close.clicked.connect(self.dismiss)
        buttons = self.copy, self.before_after, self.wipe, self.folder
        column = fill(
            QVBoxLayout(),
            None,
            self._text,
            fill(QHBoxLayout(), *buttons, None, spacing=SPACE),
            None,
            spacing=SPACE // 2,
        )
        margins = (SPACE, SPACE, SPACE, SPACE)
        row = fill(QHBoxLayout(self), self.thumbnail, (column, 1), close, margins=margins)
        row.setSpacing(2 * SPACE)
        row.setAlignment(close, Qt.AlignmentFlag.AlignTop)
        self._said = ""
        self._file: Path | None = None
        self._picture = QImage()
        self._timer = QTimer(self, interval=SHOWN_MS, singleShot=True)
        self._timer.timeout.connect(self._on_time_up)
        self.hide()

    @property
    def text(self) -> str:
        return self._said

    @property
    def pending(self) -> bool:
        return bool(self._said)

    def show_saved(self, path: Path, text: str, picture: QImage) -> None:
        """Show a saved file, with a small copy of its picture."""
        self._said, self._file, self._picture = text, path, picture
        self._timer.start()
        if self.isVisible():
            self.present()  # also while it is in use, since its buttons are about the newest file
        self.came.emit()

    def present(self) -> None:
        if self._file is not None:
            self.thumbnail.show_file(self._file, self._picture)
        self._text.setText(breakable(self._said))
        self.setAccessibleDescription(self._said)
        self.show()

    def dismiss(self) -> None:
        self._timer.stop()
        self._said = ""
        self.closed.emit()

    def _wipe_button(self) -> QToolButton:
        """Make the button of the two shapes of a wipe."""
        button = QToolButton(self)
        button.setText(tr("&Wipe film"))
        described(
            button,
            without_mnemonic(button.text()),
            tr("Save a film of 6 seconds that wipes from the original to the picture"),
        )
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(button)
        for title, square in ((tr("As wide as the picture"), False), (tr("Square"), True)):
            action = QAction(title, menu)
            action.triggered.connect(lambda _=False, square=square: self.wipe_wanted.emit(square))
            menu.addAction(action)
        button.setMenu(menu)
        return button

    def _on_time_up(self) -> None:
        if in_use(self):
            self._timer.start()
        else:
            self.dismiss()


class DraggedThumbnail(QLabel):
    """A small copy of a file, to be dragged into other programs."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._path: Path | None = None
        self._pressed: QPoint | None = None

    def show_file(self, path: Path, picture: QImage) -> None:
        self._path = path
        ratio = self.devicePixelRatioF()
        pixmap = QPixmap.fromImage(picture)
        pixmap.setDevicePixelRatio(ratio)
        self.setPixmap(pixmap)
        described(self, path.name, tr("Drag this picture into another program"))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = event.position().toPoint()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._pressed = None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None or self._path is None:
            return
        moved = (event.position().toPoint() - self._pressed).manhattanLength()
        if moved >= QApplication.startDragDistance():
            self._pressed = None
            drag = QDrag(self)
            drag.setMimeData(file_data(self._path))
            drag.setPixmap(self.pixmap())
            drag.exec(Qt.DropAction.CopyAction)


def file_data(path: Path, picture: QImage | None = None) -> QMimeData:
    """Return a file, and its picture if given, for the clipboard or a drag."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    if picture is not None:
        data.setImageData(picture)
    return data


def small_copy(picture: QImage, ratio: float) -> QImage:
    """Return a copy that fits THUMBNAIL on a screen with `ratio` pixels per point."""
    return picture.scaled(
        THUMBNAIL * ratio,
        Qt.AspectRatioMode.KeepAspectRatio,
        Qt.TransformationMode.SmoothTransformation,
    )
