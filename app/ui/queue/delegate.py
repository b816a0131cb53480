"""Paints a row of the queue: thumbnail, name, style, state, progress and remaining time."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPainterPath, QPalette, QPen, QPixmap
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.batch.queue.description import Kind
from app.ui.queue.row_model import ROW
from app.ui.queue.rows import Row, RowState
from app.ui.queue.thumbnails import SIZE
from app.ui.theme.tokens import RADIUS, SPACE
from app.ui.viewport.text_painting import scaled
from utils.translation.texts import mark, tr

STATE_WIDTH = 190  # px, width of the state column
CHOSEN = 36  # opacity of the accent behind a selected row, of 255
BAR = 6  # px, height of the progress bar
_Index = QModelIndex | QPersistentModelIndex
_MARKS = {Kind.FOLDER: mark("Folder"), Kind.SEVERAL: mark("Files"), Kind.FILM: mark("Film")}


class RowDelegate(QStyledItemDelegate):
    """Paints rows of equal height; only painted rows request thumbnails."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        text = 2 * option.fontMetrics.height() + SPACE
        return QSize(40 * SPACE, max(SIZE.height(), text) + SPACE)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        row: Row = index.data(ROW)
        area: QRect = option.rect.adjusted(SPACE // 2, 2, -SPACE // 2, -2)
        palette: QPalette = option.palette
        state: QStyle.StateFlag = option.state
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._ground(painter, area, palette, state)
        picture = QRect(area.topLeft(), SIZE)
        picture.moveCenter(area.center())
        picture.moveLeft(area.left() + SPACE)
        self._picture(painter, picture, palette, index, row)
        width = min(STATE_WIDTH, area.width() // 3)
        right = area.adjusted(area.width() - width - SPACE, 0, -SPACE, 0)
        middle = QRect(
            picture.right() + 2 * SPACE,
            area.top(),
            right.left() - picture.right() - 4 * SPACE,
            area.height(),
        )
        font = option.font
        muted = palette.placeholderText().color()
        strong = palette.text().color()
        first = muted if row.state.ended else strong
        second = palette.linkVisited().color() if row.state is RowState.FAILED else muted
        self._lines(
            painter,
            middle,
            (scaled(font, 1.0, bold=True), first, row.title, Qt.TextElideMode.ElideMiddle),
            (scaled(font, 0.92), second, row.detail, Qt.TextElideMode.ElideRight),
        )
        self._state(painter, right, option, row)
        painter.restore()

    def _ground(
        self, painter: QPainter, area: QRect, palette: QPalette, state: QStyle.StateFlag
    ) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        if state & QStyle.StateFlag.State_Selected:
            ground = palette.highlight().color()
            ground.setAlpha(CHOSEN)
            painter.setBrush(ground)
            painter.drawRoundedRect(area, RADIUS, RADIUS)
            painter.setBrush(palette.highlight())
            mark = QRectF(area.left(), area.top() + SPACE, 3, area.height() - 2 * SPACE)
            painter.drawRoundedRect(mark, 1.5, 1.5)
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.setBrush(palette.light())
            painter.drawRoundedRect(area, RADIUS, RADIUS)
        if state & QStyle.StateFlag.State_HasFocus:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(palette.text().color(), 1, Qt.PenStyle.DashLine))
            painter.drawRoundedRect(QRectF(area).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)

    def _picture(
        self, painter: QPainter, place: QRect, palette: QPalette, index: _Index, row: Row
    ) -> None:
        pixmap = index.data(Qt.ItemDataRole.DecorationRole)
        outline = QPainterPath()
        outline.addRoundedRect(QRectF(place), 4, 4)
        painter.save()
        painter.setClipPath(outline)
        if isinstance(pixmap, QPixmap) and not pixmap.isNull():
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawPixmap(place, pixmap)
        else:
            painter.fillRect(place, palette.mid())
            if pixmap is not None:  # requested, but without a picture
                painter.setPen(palette.placeholderText().color())
                painter.setFont(scaled(painter.font(), 0.85))
                kind = tr(_MARKS[row.kind]) if row.kind in _MARKS else "?"
                painter.drawText(place, Qt.AlignmentFlag.AlignCenter, kind)
        painter.restore()

    def _state(
        self, painter: QPainter, place: QRect, option: QStyleOptionViewItem, row: Row
    ) -> None:
        palette: QPalette = option.palette
        muted, strong = palette.placeholderText().color(), palette.text().color()
        colors = {RowState.RUNNING: strong, RowState.FAILED: palette.linkVisited().color()}
        font = scaled(option.font, 0.92)
        metrics = QFontMetrics(font)
        painter.setFont(font)
        painter.setPen(colors.get(row.state, muted))
        share = row.share
        bar = row.state is RowState.RUNNING or share is not None
        line = QRect(place)
        if bar:
            line.setHeight(metrics.height())
            line.moveTop(place.center().y() - (metrics.height() + SPACE + BAR) // 2)
        words = metrics.elidedText(row.words, Qt.TextElideMode.ElideRight, line.width())
        vertical = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(line, vertical | Qt.AlignmentFlag.AlignLeft, words)
        if row.left:
            painter.setPen(muted)
            painter.drawText(line, vertical | Qt.AlignmentFlag.AlignRight, row.left)
        if not bar:
            return
        whole = QRectF(line.left(), line.bottom() + SPACE, line.width(), BAR)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(palette.mid())
        painter.drawRoundedRect(whole, BAR / 2, BAR / 2)
        if share:
            painter.setBrush(palette.highlight())
            done = QRectF(whole)
            done.setWidth(max(float(BAR), whole.width() * min(1.0, share)))
            painter.drawRoundedRect(done, BAR / 2, BAR / 2)

    def _lines(self, painter: QPainter, place: QRect, *lines: tuple) -> None:
        """Draw a vertically centered block of lines: (font, color, text, elide mode) each."""
        heights = [QFontMetrics(font).height() for font, *_ in lines]
        top = place.center().y() - (sum(heights) + 2) // 2
        for (font, color, text, elide), height in zip(lines, heights, strict=True):
            painter.setFont(font)
            painter.setPen(color)
            line = QRect(place.left(), top, place.width(), height)
            words = painter.fontMetrics().elidedText(text, elide, line.width())
            painter.drawText(
                line, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, words
            )
            top += height + 2
