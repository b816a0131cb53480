"""The list of cards: clicks, stars, and dragging cards between or onto others."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QMimeData, QModelIndex, QPoint, QRect, Qt, Signal
from PySide6.QtGui import (
    QDrag,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QMouseEvent,
    QPaintEvent,
    QPen,
    QPixmap,
)
from PySide6.QtWidgets import QApplication, QListView, QWidget

from app.ui.theme.tokens import RADIUS
from app.ui.viewport.text_painting import smooth_painter
from app.ui.widgets.style_list import KEY, THUMBNAIL, card_place, star_place

MIME = "application/x-styleforge-style"  # a dragged card: the key of its style
EDGE = 0.25  # fraction of a card at each side where a drop lands next to the card


class CardsView(QListView):
    """A list view that chooses a style on release and mixes it on Shift-click.

    Clicking the star makes a style a favorite; dragging moves it.
    """

    mix_clicked = Signal(QModelIndex)
    star_clicked = Signal(QModelIndex)
    moved = Signal(str, str)  # a style, and the one it was dropped before; "" for the end
    dropped_on = Signal(str, str)  # a style, and the one it was dropped on

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._pressed = QModelIndex()
        self._pressed_at = QPoint()
        self._mark: tuple[QRect, bool] | None = None  # drop position, and whether it is on a card
        self.setAcceptDrops(True)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Mix or toggle a favorite at once; choose on release, since a drag may follow."""
        self._pressed = QModelIndex()
        if event.button() != Qt.MouseButton.LeftButton:
            return  # the right button only opens the menu
        place = event.position().toPoint()
        index = self.indexAt(place)
        if not index.isValid():
            super().mousePressEvent(event)
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.mix_clicked.emit(index)
        elif star_place(self._card(index)).contains(place):
            self.star_clicked.emit(index)
        else:
            self._pressed, self._pressed_at = index, place
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        way = (event.position().toPoint() - self._pressed_at).manhattanLength()
        if not self._pressed.isValid() or not event.buttons() & Qt.MouseButton.LeftButton:
            super().mouseMoveEvent(event)
        elif way >= QApplication.startDragDistance():
            index, self._pressed = self._pressed, QModelIndex()
            self._drag(index)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._pressed.isValid():
            if self.indexAt(event.position().toPoint()) == self._pressed:
                self.setCurrentIndex(self._pressed)
            self._pressed = QModelIndex()
        else:
            super().mouseReleaseEvent(event)

    def _card(self, index: QModelIndex) -> QRect:
        return card_place(self.visualRect(index), index, self.layoutDirection())

    def _drag(self, index: QModelIndex) -> None:
        data = QMimeData()
        data.setData(MIME, QByteArray(str(index.data(KEY)).encode()))
        drag = QDrag(self)
        drag.setMimeData(data)
        picture = index.data(Qt.ItemDataRole.DecorationRole)
        if isinstance(picture, QPixmap) and not picture.isNull():
            drag.setPixmap(picture.scaled(THUMBNAIL, Qt.AspectRatioMode.KeepAspectRatio))
        drag.exec(Qt.DropAction.MoveAction)

    # Dragged cards only; the gallery handles all other drags

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self._follow(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        self._follow(event)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._show_mark(None)

    def dropEvent(self, event: QDropEvent) -> None:
        self._show_mark(None)
        key = _dragged(event)
        if not key:
            event.ignore()
            return
        event.accept()
        row, onto = self._target(event.position().toPoint())
        other = self.model().index(row, 0).data(KEY)
        if onto and other != key:
            self.dropped_on.emit(key, str(other))
        elif not onto and other != key:
            self.moved.emit(key, str(other or ""))

    def _follow(self, event: QDragMoveEvent) -> None:
        if not _dragged(event):
            event.ignore()
            return
        event.accept()
        row, onto = self._target(event.position().toPoint())
        last = self.model().rowCount() - 1
        area = self._card(self.model().index(min(row, last), 0))
        if not onto:
            edge = area.left() - 1 if row <= last else area.right() + 1
            area = QRect(edge - 1, area.top(), 3, area.height())
        self._show_mark((area, onto))

    def _target(self, place: QPoint) -> tuple[int, bool]:
        """Return the row of a drop, and whether it is onto the card instead of before it."""
        for row in range(self.model().rowCount()):
            area = self._card(self.model().index(row, 0))
            if place.x() < area.left() + EDGE * area.width():
                return row, False
            if place.x() <= area.right() - EDGE * area.width():
                return row, True
        return self.model().rowCount(), False

    def _show_mark(self, mark: tuple[QRect, bool] | None) -> None:
        self._mark = mark
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._mark is None:
            return
        area, onto = self._mark
        painter = smooth_painter(self.viewport())
        color = self.palette().highlight().color()
        if onto:
            painter.setPen(QPen(color, 3))
            painter.drawRoundedRect(area.adjusted(2, 2, -2, -2), RADIUS, RADIUS)
            title = area.adjusted(6, 0, -6, -6)
            painter.drawText(title, Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignRight, "+")
        else:
            painter.fillRect(area, color)


def _dragged(event: QDropEvent) -> str:
    """Return the style key of a dragged card; "" for any other drag."""
    data = event.mimeData()
    return bytes(data.data(MIME).data()).decode() if data.hasFormat(MIME) else ""
