"""Shows the results of a row in place of the queue, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, Signal
from PySide6.QtGui import QImage, QKeyEvent, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.background_jobs import RunJob
from app.errors import StyleForgeError
from app.ui.layouts import fill
from app.ui.theme.tokens import SPACE
from app.ui.viewport.frame_painter import as_image
from app.ui.widgets.message_bars import make_button
from app.ui.widgets.small_pictures import read_reduced
from utils.images.opening import ImageError
from utils.text import printable
from utils.translation.numbers import number
from utils.translation.texts import tr

LONGEST = 2560  # px, of a picture on screen
_STEPS = {
    Qt.Key.Key_Left: -1,
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_PageUp: -1,
    Qt.Key.Key_Right: 1,
    Qt.Key.Key_Down: 1,
    Qt.Key.Key_PageDown: 1,
}


class ResultPage(QFrame):
    """Shows pictures; arrow keys step through them, also while a button has the focus.

    `left()` follows Escape, `revealed(str)` the wish to see the shown file in its folder.
    """

    left = Signal()
    revealed = Signal(str)

    def __init__(self, run: RunJob, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._run = run
        self._paths: Sequence[str] = ()
        self._at = 0
        self._keys: dict[int, Callable[[], object]] = {
            **{key: lambda step=step: self.step(step) for key, step in _STEPS.items()},
            Qt.Key.Key_Escape: self.left.emit,
        }
        self._shifted: dict[int, Callable[[], object]] = {
            Qt.Key.Key_Return: self._reveal,
            Qt.Key.Key_Enter: self._reveal,
        }
        self.setObjectName("queue")
        self.setAccessibleName(tr("Results of the queue"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.title = QLabel(self)
        self.title.setTextFormat(Qt.TextFormat.PlainText)
        self.title.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.picture = _Picture(self)
        self.back = make_button(
            tr("&Back to the queue"),
            tr("Show the entries of the queue again (Esc)"),
            self.left.emit,
        )
        self.previous = make_button(
            tr("Pre&vious"), tr("Show the painting before this one (Left)"), lambda: self.step(-1)
        )
        self.next = make_button(
            tr("&Next"), tr("Show the painting after this one (Right)"), lambda: self.step(1)
        )
        self.reveal = make_button(
            tr("Show in &folder"),
            tr("Open the folder of this painting (Shift+Enter)"),
            self._reveal,
        )
        for button in (self.back, self.reveal, self.previous, self.next):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click leaves the focus to the page
            button.installEventFilter(self)
        head = self.back, (self.title, 1), self.reveal, self.previous, self.next
        margins = (2 * SPACE, SPACE, 2 * SPACE, SPACE)
        rows = fill(QHBoxLayout(), *head, spacing=SPACE), (self.picture, 1)
        fill(QVBoxLayout(self), *rows, margins=margins, spacing=SPACE)

    def show_results(self, paths: Sequence[str]) -> None:
        """Show the first of these files."""
        self._paths, self._at = paths, 0
        self._read()

    @property
    def path(self) -> str:
        """The file on screen."""
        return self._paths[self._at] if self._paths else ""

    def step(self, count: int) -> None:
        """Show another file, `count` further; stop at the first and the last."""
        at = min(len(self._paths) - 1, max(0, self._at + count))
        if at != self._at:
            self._at = at
            self._read()

    def _read(self) -> None:
        path, count = self.path, len(self._paths)
        name = printable(Path(path).name)
        place = tr("{name}, {row} of {n}", name=name, row=number(self._at + 1), n=number(count))
        self.title.setText(place if count > 1 else name)
        self.picture.setAccessibleName(self.title.text())
        for button, at in ((self.previous, 0), (self.next, count - 1)):
            button.setVisible(count > 1)
            if self._at == at and button.hasFocus():
                self.setFocus()  # Qt would give the focus of a disabled button to another page
            button.setEnabled(self._at != at)

        def done(image: QImage) -> None:
            if path == self.path:
                gone = tr("'{name}' no longer exists", name=name)
                self.picture.show_picture(QPixmap.fromImage(image), gone)

        self._run(lambda: _read(path), done, failure=tr("Could not open {name}", name=name))

    def _reveal(self) -> None:
        self.revealed.emit(self.path)

    # The window's own actions have the arrow keys and Escape too

    def event(self, event: QEvent) -> bool:
        overrides = event.type() == QEvent.Type.ShortcutOverride
        if overrides and isinstance(event, QKeyEvent) and self._act_of(event) is not None:
            event.accept()
            return True
        return super().event(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take the keys of the page from its buttons, which would move the focus with arrows."""
        if event.type() != QEvent.Type.KeyPress or not isinstance(event, QKeyEvent):
            return False
        act = self._act_of(event)
        if act is not None:
            act()
        return act is not None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        act = self._act_of(event)
        if act is None:
            super().keyPressEvent(event)
        else:
            act()

    def _act_of(self, event: QKeyEvent) -> Callable[[], object] | None:
        held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if held == Qt.KeyboardModifier.ShiftModifier:
            return self._shifted.get(event.key())
        return self._keys.get(event.key()) if held == Qt.KeyboardModifier.NoModifier else None


class _Picture(QWidget):
    """A picture, as large as fits; without one, a sentence."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._pixmap, self._text = QPixmap(), ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    @property
    def pixmap(self) -> QPixmap:
        return self._pixmap

    def show_picture(self, pixmap: QPixmap, otherwise: str) -> None:
        self._pixmap = pixmap
        self._text = otherwise if pixmap.isNull() else ""
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self._pixmap.isNull():
            painter.setPen(self.palette().placeholderText().color())
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self._text)
            return
        size = self._pixmap.size().scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
        place = QRect(self.rect().topLeft(), size)
        place.moveCenter(self.rect().center())
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawPixmap(place, self._pixmap)


def _read(path: str) -> QImage:
    """Read a picture for the screen; null if it cannot be read."""
    try:
        return as_image(read_reduced(Path(path), QSize(LONGEST // 2, LONGEST // 2))).copy()
    except (StyleForgeError, ImageError, OSError):
        return QImage()
