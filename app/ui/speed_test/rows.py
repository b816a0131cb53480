"""The rows of engines as a list: title, bar, milliseconds, frames a second, ratio."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.speed_test.result import Row
from app.speed_test.text import TIMES, milliseconds, rate, ratio, told
from app.ui.layouts import described
from app.ui.speed_test.colors import engine_color, is_dark
from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import scaled
from utils.text import capitalized
from utils.translation.texts import tr

_ROW = Qt.ItemDataRole.UserRole
_STATE = Qt.ItemDataRole.UserRole + 1
_SMALL = 0.92  # of the font's size
_NUMBERS = ("0,000.0", "0,000.0", f"00.00{TIMES}")  # the widest: ms, fps, ratio
_TITLE_SHARE = 0.42  # of the width
_Index = QModelIndex | QPersistentModelIndex


class RowsModel(QAbstractListModel):
    """Rows of engines, and which one is measured now; a row's text is one sentence."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows: tuple[Row, ...] = ()
        self._number: int | None = None

    @property
    def rows(self) -> tuple[Row, ...]:
        return self._rows

    def show_rows(self, rows: Sequence[Row], number: int | None = None) -> None:
        """Show `rows`; the row `number` is under way, and None if none is."""
        same = len(rows) == len(self._rows)
        if not same:
            self.beginResetModel()
        self._rows, self._number = tuple(rows), number
        if not same:
            self.endResetModel()
        elif rows:
            self.dataChanged.emit(self.index(0), self.index(len(rows) - 1))

    @property
    def slowest(self) -> float:
        """The longest time of a row in ms, or 0."""
        return max((row.latency.median for row in self._rows if row.latency), default=0.0)

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  (Qt's signature)
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self._rows[index.row()]
        if role == _ROW:
            return row
        state = self._state(index.row())
        if role == _STATE:
            return state
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return f"{told(row)}. {state}" if state and not row.reason else told(row)
        if role == Qt.ItemDataRole.ToolTipRole:
            return capitalized(row.detail) or told(row)
        return None

    def _state(self, number: int) -> str:
        """Return the words in place of a row's figures; "" if it has figures."""
        row = self._rows[number]
        if row.latency is not None:
            return ""
        if row.reason:
            return row.reason
        if self._number is None:
            return ""
        return tr("measuring...") if number == self._number else tr("waiting")


class _Columns:
    """The places of a row's parts."""

    def __init__(self, area: QRect, metrics: QFontMetrics) -> None:
        widths = [metrics.horizontalAdvance(text) + SPACE for text in _NUMBERS]
        right = area.right() - SPACE
        self.numbers: list[QRect] = []
        for width in reversed(widths):
            self.numbers.insert(0, QRect(right - width, area.top(), width, area.height()))
            right -= width
        left = area.left() + SPACE
        room = int(_TITLE_SHARE * area.width())
        self.title = QRect(left, area.top(), room, area.height())
        bar = self.title.right() + SPACE
        self.bar = QRect(bar, area.top(), max(0, right - bar - SPACE), area.height())
        self.rest = QRect(bar, area.top(), area.right() - SPACE - bar, area.height())


class _RowDelegate(QStyledItemDelegate):
    """Paints a row in its columns; a reason takes the place of the figures."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        metrics = QFontMetrics(scaled(option.font, _SMALL))
        return QSize(24 * SPACE, metrics.height() + SPACE)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        row, state = index.data(_ROW), str(index.data(_STATE))
        model = index.model()
        assert isinstance(row, Row)
        assert isinstance(model, RowsModel)
        palette, font = option.palette, scaled(option.font, _SMALL)
        area: QRect = option.rect
        focused = bool(option.state & QStyle.StateFlag.State_HasFocus)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if focused:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(palette.midlight())
            painter.drawRoundedRect(QRectF(area), 4, 4)
        painter.setFont(font)
        metrics = painter.fontMetrics()
        places = _Columns(area, metrics)
        ink, muted = palette.text().color(), palette.placeholderText().color()
        painter.setPen(ink if row.latency else muted)
        elided = Qt.TextElideMode.ElideRight
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(
            places.title, middle, metrics.elidedText(row.title, elided, places.title.width())
        )
        if row.latency is None:
            text = metrics.elidedText(state, elided, places.rest.width())
            painter.drawText(places.rest, middle, text)
        else:
            self._bar(painter, places.bar, row, model.slowest, dark=is_dark(palette))
            withheld = tr("differs") if row.differs else ""
            texts = milliseconds(row), rate(row), ratio(row) or withheld
            for place, text in zip(places.numbers, texts, strict=True):
                painter.setPen(muted if text == withheld else ink)
                painter.drawText(place, middle | Qt.AlignmentFlag.AlignRight, text)
        painter.restore()

    def _bar(self, painter: QPainter, area: QRect, row: Row, slowest: float, *, dark: bool) -> None:
        if row.latency is None or area.width() < SPACE:
            return
        width = max(3.0, row.latency.median / slowest * area.width())
        bar = QRectF(area.left(), area.center().y() - 3, width, 6)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(engine_color(ours=row.ours, dark=dark))
        painter.drawRoundedRect(bar, 3, 3)


class RowList(QListView):
    """Shows the rows; without rows, a text says how they come."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows_model = RowsModel(self)
        self.setModel(self.rows_model)
        self.setItemDelegate(_RowDelegate(self))
        described(
            self,
            tr("Engines of this machine"),
            tr("The median time of a picture, and how many times as fast as plain PyTorch"),
        )
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)

    def minimumSizeHint(self) -> QSize:
        return QSize(240, 64)

    def sizeHint(self) -> QSize:
        return QSize(420, 150)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.rows_model.rows:
            return
        painter = QPainter(self.viewport())
        painter.setPen(self.palette().placeholderText().color())
        painter.setFont(scaled(self.font(), _SMALL))
        wrap = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        inner = self.viewport().rect().adjusted(2 * SPACE, 0, -2 * SPACE, 0)
        text = tr("Measure all engines of this machine on this picture to see them side by side")
        painter.drawText(inner, wrap, text)


class RowHead(QWidget):
    """The names of the columns above a RowList."""

    def __init__(self, below: RowList, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._below = below
        self.setFixedHeight(QFontMetrics(scaled(self.font(), _SMALL)).height() + SPACE // 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._below.rows_model.rows:
            return
        painter = QPainter(self)
        painter.setFont(scaled(self.font(), _SMALL))
        painter.setPen(self.palette().placeholderText().color())
        area = QRect(0, 0, self._below.viewport().width(), self.height())
        places = _Columns(area, painter.fontMetrics())
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(places.title, middle, tr("Engine"))
        names = tr("ms"), tr("fps"), tr("ratio")
        for place, name in zip(places.numbers, names, strict=True):
            painter.drawText(place, middle | Qt.AlignmentFlag.AlignRight, name)
