"""The strip: a row of thumbnails with one selected."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QAction, QPainter, QPainterPath, QPen, QPixmap
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.ui.film_strip.thumbnails import SIZE, StripThumbnails
from app.ui.layouts import described, fill
from app.ui.theme.tokens import RADIUS, SPACE
from app.ui.widgets.style_list import paint_focus
from app.ui.widgets.toolbar import tool_button
from utils.text import printable
from utils.translation.texts import mark, tr

PADDING = 4
TIP = mark("The pictures of the folder: click, or use the arrow keys")
_Index = QModelIndex | QPersistentModelIndex


class StripModel(QAbstractListModel):
    """The pictures in order; painting a row requests its thumbnail."""

    def __init__(self, thumbnails: StripThumbnails, parent: QWidget) -> None:
        super().__init__(parent)
        self._thumbnails = thumbnails
        self._paths: tuple[Path, ...] = ()
        self._rows: dict[Path, int] = {}
        thumbnails.made.connect(self._on_made)

    def set_paths(self, paths: Sequence[Path]) -> None:
        self.beginResetModel()
        self._paths = tuple(paths)
        self._rows = {path: row for row, path in enumerate(paths)}
        self.endResetModel()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  (Qt's signature)
        return 0 if parent.isValid() else len(self._paths)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        path = self._paths[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return printable(path.name)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return tr(
                "{name}, {row} of {n}",
                name=printable(path.name),
                row=index.row() + 1,
                n=len(self._paths),
            )
        return self._thumbnails.get(path) if role == Qt.ItemDataRole.DecorationRole else None

    def _on_made(self, path: Path) -> None:
        if (row := self._rows.get(path)) is not None:
            index = self.index(row)
            self.dataChanged.emit(index, index, [Qt.ItemDataRole.DecorationRole])


class StripDelegate(QStyledItemDelegate):
    """Paints a thumbnail, with a ring around the selected one."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return SIZE + QSize(2 * PADDING, 2 * PADDING)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        area: QRect = option.rect
        state: QStyle.StateFlag = option.state
        palette = option.palette
        place = QRect(area.topLeft(), SIZE)
        place.moveCenter(area.center())
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        outline = QPainterPath()
        outline.addRoundedRect(QRectF(place), RADIUS, RADIUS)
        pixmap = index.data(Qt.ItemDataRole.DecorationRole)
        painter.fillPath(outline, palette.mid())
        painter.setClipPath(outline)
        if isinstance(pixmap, QPixmap) and not pixmap.isNull():
            painter.drawPixmap(place, pixmap)
        elif isinstance(pixmap, QPixmap):
            painter.setPen(palette.text().color())
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, tr("Damaged"))
        painter.setClipping(False)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if state & QStyle.StateFlag.State_Selected:
            painter.setPen(QPen(palette.highlight().color(), 3))
            ring = QRectF(place).adjusted(-1.5, -1.5, 1.5, 1.5)
            painter.drawRoundedRect(ring, RADIUS + 1, RADIUS + 1)
        if state & QStyle.StateFlag.State_HasFocus:
            paint_focus(painter, palette, area)
        painter.restore()


class FilmStrip(QFrame):
    """The strip widget, hidden until it has pictures; `picked` carries the row the user chose.

    Args:
        paint_all: The action of the button beside the pictures.
    """

    picked = Signal(int)

    def __init__(
        self, thumbnails: StripThumbnails, paint_all: QAction, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("transport")  # styled like the bar below
        self._updating = False  # suppresses `picked` for programmatic changes
        self.view = described(QListView(self), tr("Film strip"), tr(TIP))
        self.model = StripModel(thumbnails, self)
        self.view.setModel(self.model)
        self.view.setItemDelegate(StripDelegate(self.view))
        self.view.setFlow(QListView.Flow.LeftToRight)
        self.view.setWrapping(False)
        self.view.setUniformItemSizes(True)
        self.view.setHorizontalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.view.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # The position slider below the strip scrolls it too, and a bar would take up height.
        self.view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.view.setFixedHeight(SIZE.height() + 2 * PADDING + 2)
        self.view.selectionModel().currentChanged.connect(self._on_current_changed)
        button = self.paint_all = tool_button(paint_all, self, words=True)
        paint_all.changed.connect(lambda: button.setAccessibleName(paint_all.text().rstrip(".")))
        margins = (SPACE, SPACE // 2, SPACE, 0)
        fill(QHBoxLayout(self), (self.view, 1), button, margins=margins, spacing=SPACE)
        self.hide()

    def show_pictures(self, paths: Sequence[Path]) -> None:
        self._updating = True
        self.model.set_paths(paths)
        self._updating = False

    def show_position(self, row: int) -> None:
        index = self.model.index(row)
        if index.isValid() and self.view.currentIndex().row() != row:
            self._updating = True
            self.view.setCurrentIndex(index)
            self._updating = False
        if index.isValid():
            self.view.scrollTo(index, QListView.ScrollHint.PositionAtCenter)

    def refresh(self) -> None:
        """Request the visible thumbnails again."""
        self.view.viewport().update()

    def _on_current_changed(self, current: QModelIndex, _: QModelIndex) -> None:
        if not self._updating and current.isValid():
            self.picked.emit(current.row())
