"""A red dot on the picture with the duration and size of the current recording."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QHideEvent, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from app.ui.theme.motion import moves
from app.ui.theme.tokens import RADIUS, SPACE
from app.ui.viewport.text_painting import INK, REDRAW_MS, SHADE, smooth_painter
from utils.text import clock
from utils.translation.numbers import number
from utils.translation.texts import tr

RED = QColor("#e5383b")
_DOT = 10  # px
BLINK_S = 1.0


class RecordingLight(QWidget):
    """A light in the lower right corner; `told` returns seconds and bytes, None when idle."""

    def __init__(self, told: Callable[[], tuple[float, int] | None], parent: QWidget) -> None:
        super().__init__(parent)
        self._told, self._text, self._picture = told, "", parent
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setObjectName("recording")
        self.setAccessibleName(tr("Recording"))
        self._timer = QTimer(self, interval=REDRAW_MS)
        self._timer.timeout.connect(self._refresh)
        parent.installEventFilter(self)
        self.hide()

    @property
    def text(self) -> str:
        return self._text

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        digits = "".join("0" if letter.isdigit() else letter for letter in self._text)
        width = 3 * SPACE + _DOT + metrics.horizontalAdvance(digits)
        return QSize(width, metrics.height() + SPACE)

    def showEvent(self, event: QShowEvent) -> None:
        self._refresh()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        self._timer.stop()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._place()
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth_painter(self)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(SHADE)
        painter.drawRoundedRect(self.rect(), RADIUS, RADIUS)
        red = QColor(RED)
        if moves(self) and int(time.monotonic() / BLINK_S) % 2:
            red.setAlpha(110)
        painter.setBrush(red)
        painter.drawEllipse(QRect(SPACE, (self.height() - _DOT) // 2, _DOT, _DOT))
        painter.setPen(INK)
        area = self.rect().adjusted(2 * SPACE + _DOT, 0, 0, 0)
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, self._text)

    def _refresh(self) -> None:
        told = self._told()
        seconds, size = told or (0.0, 0)
        self._text = f"{clock(int(seconds))}  {number(size / 1e6, 1)} MB"
        self.setAccessibleDescription(self._text)
        self._place()
        self.update()

    def _place(self) -> None:
        self.resize(self.sizeHint())
        outer = self._picture.rect().adjusted(0, 0, -2 * SPACE, -2 * SPACE)
        self.move(outer.right() - self.width(), outer.bottom() - self.height())
