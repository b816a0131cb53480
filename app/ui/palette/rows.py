"""The rows of the palette: a model of entries, and their look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QIcon, QPainter, QPalette
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.ui.palette.entry import Entry
from app.ui.theme.tokens import RADIUS, SPACE
from app.ui.viewport.text_painting import scaled
from utils.translation.joints import clauses

ENTRY = Qt.ItemDataRole.UserRole
ROW_HEIGHT = 44  # px, at the usual font size
_SIDE = 22  # px, before the icon and behind the key
_ICON = 18  # px
_PICTURE = QSize(28, 20)  # px, of a style's thumbnail
_TEXT = 58  # px, before the title
_KIND = 0.86  # size of the kind and of the key, relative to the title's
_Index = QModelIndex | QPersistentModelIndex


class EntryModel(QAbstractListModel):
    """The entries found."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: Sequence[Entry] = ()

    def show_entries(self, entries: Sequence[Entry]) -> None:
        self.beginResetModel()
        self._entries = entries
        self.endResetModel()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  (Qt's signature)
        return 0 if parent.isValid() else len(self._entries)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        entry = self._entries[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return entry.title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return clauses(filter(None, (entry.title, entry.kind, entry.shortcut, entry.reason)))
        if role == Qt.ItemDataRole.ToolTipRole:
            return entry.reason or None
        return entry if role == ENTRY else None


class EntryDelegate(QStyledItemDelegate):
    """Paints icon, title, kind or reason, and the key at the end of the row."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return QSize(0, max(ROW_HEIGHT, option.fontMetrics.height() + 3 * SPACE))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        entry = index.data(ENTRY)
        assert isinstance(entry, Entry)
        area: QRect = option.rect
        state: QStyle.StateFlag = option.state
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(area, option.palette.light())
        self._paint_icon(painter, option, entry)
        end = self._paint_key(painter, option, entry)
        self._paint_words(painter, option, entry, end - 2 * SPACE)
        painter.restore()

    def _paint_icon(self, painter: QPainter, option: QStyleOptionViewItem, entry: Entry) -> None:
        size = _PICTURE if entry.picture else QSize(_ICON, _ICON)
        area: QRect = option.rect
        place = QRect(area.left() + _SIDE - (size.width() - _ICON) // 2, 0, *size.toTuple())
        place.moveTop(area.center().y() - size.height() // 2)
        place = QStyle.visualRect(option.direction, area, place)
        mode = QIcon.Mode.Normal if entry.enabled else QIcon.Mode.Disabled
        if entry.picture and not entry.icon.isNull():
            painter.drawPixmap(place, entry.icon.pixmap(size * 3, mode))
        else:
            entry.icon.paint(painter, place, mode=mode)

    def _paint_key(self, painter: QPainter, option: QStyleOptionViewItem, entry: Entry) -> int:
        """Paint the key, and return the distance from the row's start to it in pixels."""
        area: QRect = option.rect
        end = area.width() - _SIDE
        if not entry.shortcut:
            return end
        painter.setFont(scaled(option.font, _KIND))
        metrics = painter.fontMetrics()
        width = max(metrics.horizontalAdvance(entry.shortcut) + 2 * SPACE, 3 * SPACE)
        place = QRect(area.left() + end - width, 0, width, metrics.height() + SPACE)
        place.moveTop(area.center().y() - place.height() // 2)
        place = QStyle.visualRect(option.direction, area, place)
        painter.setPen(option.palette.mid().color())
        painter.setBrush(option.palette.button())
        painter.drawRoundedRect(place, RADIUS, RADIUS)
        painter.setPen(option.palette.placeholderText().color())
        painter.drawText(place, Qt.AlignmentFlag.AlignCenter, entry.shortcut)
        return end - width

    def _paint_words(
        self, painter: QPainter, option: QStyleOptionViewItem, entry: Entry, end: int
    ) -> None:
        """Paint the title, and behind it the kind or the reason, as far as they fit."""
        group = QPalette.ColorGroup.Normal if entry.enabled else QPalette.ColorGroup.Disabled
        area, palette, start = option.rect, option.palette, _TEXT
        pieces = (
            (entry.title, scaled(option.font, 1.0), palette.color(group, QPalette.ColorRole.Text)),
            (
                entry.reason or entry.kind,
                scaled(option.font, _KIND),
                palette.placeholderText().color(),
            ),
        )
        align = QStyle.visualAlignment(option.direction, Qt.AlignmentFlag.AlignLeft)
        for text, font, color in pieces:
            painter.setFont(font)
            painter.setPen(color)
            metrics = painter.fontMetrics()
            shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, max(0, end - start))
            width = metrics.horizontalAdvance(shown)
            place = QRect(area.left() + start, area.top(), end - start, area.height())
            place = QStyle.visualRect(option.direction, area, place)
            painter.drawText(place, align | Qt.AlignmentFlag.AlignVCenter, shown)
            start += width + 14
