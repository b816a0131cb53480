"""The times by layer as a list: name, milliseconds of both networks, how many times as fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.speed_test.layers import LayerRow, LayerTable
from app.speed_test.result import OURS, PLAIN
from app.speed_test.text import TIMES, fine, layer_told
from app.ui.layouts import described
from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import scaled
from utils.text import capitalized
from utils.translation.joints import labeled
from utils.translation.numbers import number
from utils.translation.texts import tr

_LINE = Qt.ItemDataRole.UserRole
_SMALL = 0.92  # of the font's size
_Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the list: a layer, or a title such as a device or a reason in `name`."""

    name: str
    row: LayerRow | None = None

    @property
    def told(self) -> str:
        return self.name if self.row is None else layer_told(self.row)


class LayersModel(QAbstractListModel):
    """The layers of all devices; a line's text is one sentence."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._lines: tuple[_Line, ...] = ()

    def show_tables(self, tables: Sequence[LayerTable]) -> None:
        """Show tables one below the other; with several, each has its device as a title."""
        self.beginResetModel()
        lines: list[_Line] = []
        for table in tables:
            if table.reason:
                lines.append(_Line(labeled(table.device, table.reason)))
                continue
            if len(tables) > 1:
                lines.append(_Line(table.device))
            lines += [_Line(_name(row.name), row) for row in table.rows]
        self._lines = tuple(lines)
        self.endResetModel()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  (Qt's signature)
        return 0 if parent.isValid() else len(self._lines)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        line = self._lines[index.row()]
        if role == _LINE:
            return line
        texts = (
            Qt.ItemDataRole.DisplayRole,
            Qt.ItemDataRole.AccessibleTextRole,
            Qt.ItemDataRole.ToolTipRole,
        )
        return line.told if role in texts else None


def _name(name: str) -> str:
    """Return "Encoder: conv1" for "encoder/conv1"."""
    group, _, layer = name.partition("/")
    return labeled(capitalized(group), layer) if layer else capitalized(group)


def _columns(area: QRect, metrics: QFontMetrics) -> list[QRect]:
    """Return the places of name, plain PyTorch's time, our time and the ratio."""
    heads = tr(PLAIN), OURS, f"00.00{TIMES}"
    places, right = list[QRect](), area.right() - SPACE
    for text in reversed(heads):
        width = metrics.horizontalAdvance(text) + 2 * SPACE
        places.insert(0, QRect(right - width, area.top(), width, area.height()))
        right -= width
    left = area.left() + SPACE
    return [QRect(left, area.top(), max(0, right - left), area.height()), *places]


class _LineDelegate(QStyledItemDelegate):
    """Paints a line in its columns; a title or a reason takes the whole width."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        metrics = QFontMetrics(scaled(option.font, _SMALL))
        return QSize(24 * SPACE, metrics.height() + SPACE // 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        line = index.data(_LINE)
        assert isinstance(line, _Line)
        palette, area = option.palette, option.rect
        painter.save()
        painter.setFont(scaled(option.font, _SMALL))
        metrics, middle = painter.fontMetrics(), Qt.AlignmentFlag.AlignVCenter
        elided = Qt.TextElideMode.ElideRight
        if line.row is None:
            painter.setPen(palette.placeholderText().color())
            whole = area.adjusted(SPACE, 0, -SPACE, 0)
            painter.drawText(whole, middle, metrics.elidedText(line.name, elided, whole.width()))
        else:
            name, *numbers = _columns(area, metrics)
            painter.setPen(palette.text().color())
            painter.drawText(name, middle, metrics.elidedText(line.name, elided, name.width()))
            ratio = f"{number(line.row.ratio, 2)}{TIMES}"
            texts = fine(line.row.plain_ms), fine(line.row.ours_ms), ratio
            for place, text in zip(numbers, texts, strict=True):
                painter.drawText(place, middle | Qt.AlignmentFlag.AlignRight, text)
        painter.restore()


class LayerList(QListView):
    """Shows the times by layer; without any, a text says how they come."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.layers_model = LayersModel(self)
        self.setModel(self.layers_model)
        self.setItemDelegate(_LineDelegate(self))
        described(
            self,
            tr("Times by layer"),
            tr("The median milliseconds of each layer in both networks, on one device each"),
        )
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUniformItemSizes(True)

    def minimumSizeHint(self) -> QSize:
        return QSize(240, 64)

    def sizeHint(self) -> QSize:
        return QSize(420, 150)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.layers_model.rowCount():
            return
        painter = QPainter(self.viewport())
        painter.setPen(self.palette().placeholderText().color())
        painter.setFont(scaled(self.font(), _SMALL))
        wrap = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        inner = self.viewport().rect().adjusted(2 * SPACE, 0, -2 * SPACE, 0)
        text = tr("Measure all engines to see the layers of plain PyTorch and StyleForge")
        painter.drawText(inner, wrap, text)


class LayerHead(QWidget):
    """The names of the columns above a LayerList."""

    def __init__(self, below: LayerList, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._below = below
        self.setFixedHeight(QFontMetrics(scaled(self.font(), _SMALL)).height() + SPACE // 2)
        below.layers_model.modelReset.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._below.layers_model.rowCount():
            return
        painter = QPainter(self)
        painter.setFont(scaled(self.font(), _SMALL))
        painter.setPen(self.palette().placeholderText().color())
        area = QRect(0, 0, self._below.viewport().width(), self.height())
        name, *numbers = _columns(area, painter.fontMetrics())
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(name, middle, tr("Layer, in ms"))
        for place, title in zip(numbers, (tr(PLAIN), OURS, tr("ratio")), strict=True):
            painter.drawText(place, middle | Qt.AlignmentFlag.AlignRight, title)
