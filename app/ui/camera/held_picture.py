"""Shows over the picture why it stands still: its camera was lost, or it is frozen."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import draw_pill, pill_size, scaled
from utils.translation.texts import tr

DIMMED = QColor(12, 13, 15, 150)


class HeldPicture(QWidget):
    """Covers the picture while it shows a message; transparent to the mouse."""

    def __init__(self, picture: QWidget) -> None:
        super().__init__(picture)
        self._picture = picture
        self._text, self._dimmed, self._covered = "", False, 0
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAccessibleName(tr("Why the picture stands still"))
        picture.installEventFilter(self)
        self.hide()

    @property
    def text(self) -> str:
        return self._text

    @property
    def dimmed(self) -> bool:
        return self._dimmed

    def show_text(self, text: str, *, dimmed: bool) -> None:
        """Show why the picture stands still, or "" to hide it; `dimmed` darkens an old picture."""
        self._text, self._dimmed = text, dimmed
        self.setAccessibleDescription(text)
        self.setVisible(bool(text))
        self.update()

    def set_covered_height(self, covered: int) -> None:
        """Move the message below other messages that cover the top `covered` pixels."""
        self._covered = covered
        self.update()

    def showEvent(self, event: QEvent) -> None:
        self.setGeometry(self._picture.rect())
        self.lower()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.setGeometry(self._picture.rect())
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._dimmed:
            painter.fillRect(self.rect(), DIMMED)
        painter.setFont(scaled(painter.font(), 1.15, bold=True))
        metrics = painter.fontMetrics()
        wanted, most = pill_size(metrics, self._text).width(), self.width() - 4 * SPACE
        corner = QPoint((self.width() - min(wanted, most)) // 2, 7 * SPACE + self._covered)
        draw_pill(painter, corner, self._text, widest=most if wanted > most else None)
