"""The tiles of the dialog: one picture in every style, of which the user ticks some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPalette,
    QPen,
    QPixmap,
    QPolygonF,
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.ui.theme.tokens import RADIUS, SPACE
from app.ui.viewport.text_painting import scaled
from app.ui.widgets.style_list import paint_focus
from utils.translation.joints import labeled
from utils.translation.texts import tr

SIZE = QSize(132, 99)
COLUMNS, ROWS = 5, 2  # visible without scrolling, if the screen has room
LEAST_COLUMNS, LEAST_ROWS = 3, 1
PADDING = SPACE
UNPAINTED = 0.35  # opacity of the picture until it is painted
CHECK = 22  # px, diameter of the check mark in the upper right corner
_PAINTED = Qt.ItemDataRole.UserRole
_Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile's title, and whether it is ticked at first."""

    title: str
    ticked: bool


class TileList(QListView):
    """Shows the tiles; a click or Space ticks one, and `ticks_changed` follows."""

    ticks_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tiles = QStandardItemModel(self)
        self.setModel(self._tiles)
        self.setItemDelegate(TileDelegate(self))
        self.setFlow(QListView.Flow.LeftToRight)
        self.setWrapping(True)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(tr("Styles"))
        self.setToolTip(tr("Click the styles to paint in, or tick them with the space bar"))
        self.verticalScrollBar().setToolTip(tr("Scroll the styles"))
        self.setMinimumSize(self._size_of(LEAST_COLUMNS, LEAST_ROWS))
        self._tiles.itemChanged.connect(lambda _: self.ticks_changed.emit())

    def sizeHint(self) -> QSize:
        return self._size_of(COLUMNS, ROWS)

    def _size_of(self, columns: int, rows: int) -> QSize:
        """Return the size of a list with so many tiles in view."""
        tile = tile_size(self.fontMetrics().height())
        bar = self.verticalScrollBar().sizeHint().width()
        return QSize(columns * tile.width() + bar + 4, rows * tile.height() + 4)

    def show_tiles(self, tiles: Sequence[Tile]) -> None:
        """Replace all tiles, whose pictures follow."""
        self._tiles.clear()
        for tile in tiles:
            item = QStandardItem(tile.title)
            item.setCheckable(True)
            item.setCheckState(Qt.CheckState.Checked if tile.ticked else Qt.CheckState.Unchecked)
            item.setToolTip(tile.title)
            self._tiles.appendRow(item)
        ticked = next((at for at, tile in enumerate(tiles) if tile.ticked), 0)
        self.setCurrentIndex(self._tiles.index(ticked, 0))
        self.ticks_changed.emit()

    def show_picture(self, picture: QPixmap) -> None:
        """Show the unpainted picture on tiles that are not painted yet."""
        for at in range(self._tiles.rowCount()):
            if not self._tiles.item(at).data(_PAINTED):
                self._tiles.item(at).setData(picture, Qt.ItemDataRole.DecorationRole)

    def show_painting(self, at: int, painting: QPixmap) -> None:
        self._tiles.item(at).setData(True, _PAINTED)
        self._tiles.item(at).setData(painting, Qt.ItemDataRole.DecorationRole)

    def refuse(self, at: int, reason: str) -> None:
        """Disable a tile whose style cannot paint."""
        item = self._tiles.item(at)
        item.setCheckState(Qt.CheckState.Unchecked)
        item.setEnabled(False)
        item.setToolTip(labeled(item.text(), reason))

    def toggle(self, at: int) -> None:
        """Tick a tile, or remove its tick."""
        item = self._tiles.item(at)
        on = item.checkState() == Qt.CheckState.Checked
        if item.isEnabled():
            item.setCheckState(Qt.CheckState.Unchecked if on else Qt.CheckState.Checked)

    @property
    def ticked(self) -> list[int]:
        """The numbers of the ticked tiles, in order."""
        rows = range(self._tiles.rowCount())
        return [at for at in rows if self._tiles.item(at).checkState() == Qt.CheckState.Checked]


def tile_size(line: int) -> QSize:
    """Return the size of a tile whose title is `line` pixels high."""
    return SIZE + QSize(2 * PADDING, line + 2 * PADDING)


class TileDelegate(QStyledItemDelegate):
    """Paints a picture with its title; a ticked one has a ring and a check mark."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return tile_size(option.fontMetrics.height())

    def editorEvent(
        self,
        event: QEvent,
        model: QAbstractItemModel,
        option: QStyleOptionViewItem,
        index: _Index,
    ) -> bool:
        """Tick a tile clicked anywhere; the base class asks for a click on a small box."""
        if event.type() == QEvent.Type.MouseButtonRelease and isinstance(event, QMouseEvent):
            view = self.parent()
            if event.button() == Qt.MouseButton.LeftButton and isinstance(view, TileList):
                view.toggle(index.row())
                return True
        elif event.type() == QEvent.Type.KeyPress:
            return super().editorEvent(event, model, option, index)
        return False

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        area: QRect = option.rect
        state: QStyle.StateFlag = option.state
        palette = option.palette
        usable = bool(state & QStyle.StateFlag.State_Enabled)
        stored = Qt.CheckState(index.data(Qt.ItemDataRole.CheckStateRole))
        ticked = stored == Qt.CheckState.Checked
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if state & QStyle.StateFlag.State_MouseOver and usable:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(palette.light())
            painter.drawRoundedRect(area.adjusted(1, 1, -1, -1), RADIUS, RADIUS)
        place = QRect(area.topLeft(), SIZE)
        place.moveCenter(area.center())
        place.moveTop(area.top() + PADDING)
        self._picture(painter, place, palette, index)
        if ticked:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(palette.highlight().color(), 3))
            ring = QRectF(place).adjusted(-1.5, -1.5, 1.5, 1.5)
            painter.drawRoundedRect(ring, RADIUS + 1, RADIUS + 1)
            self._check(painter, place, palette)
        if state & QStyle.StateFlag.State_HasFocus:
            paint_focus(painter, palette, area.adjusted(1, 1, -1, -1))
        painter.setFont(scaled(option.font, 1.0, bold=ticked))
        painter.setPen((palette.text() if usable else palette.placeholderText()).color())
        title = QRect(area.left() + 4, place.bottom() + 1, area.width() - 8, 0)
        title.setBottom(area.bottom() - PADDING // 2)
        metrics = painter.fontMetrics()
        text = metrics.elidedText(str(index.data()), Qt.TextElideMode.ElideRight, title.width())
        painter.drawText(title, Qt.AlignmentFlag.AlignCenter, text)
        painter.restore()

    def _picture(self, painter: QPainter, place: QRect, palette: QPalette, index: _Index) -> None:
        outline = QPainterPath()
        outline.addRoundedRect(QRectF(place), RADIUS, RADIUS)
        painter.fillPath(outline, palette.mid())
        pixmap = index.data(Qt.ItemDataRole.DecorationRole)
        if not isinstance(pixmap, QPixmap) or pixmap.isNull():
            return
        painter.save()
        painter.setClipPath(outline)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.setOpacity(1.0 if index.data(_PAINTED) else UNPAINTED)
        painter.drawPixmap(place, pixmap)
        painter.restore()

    def _check(self, painter: QPainter, place: QRect, palette: QPalette) -> None:
        circle = QRectF(0, 0, CHECK, CHECK)
        circle.moveTopRight(QPointF(place.right() - 4, place.top() + 5))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(palette.highlight())
        painter.drawEllipse(circle)
        left, top = circle.left(), circle.top()
        corners = ((0.28, 0.52), (0.44, 0.68), (0.73, 0.34))
        line = QPolygonF([QPointF(left + x * CHECK, top + y * CHECK) for x, y in corners])
        ink = palette.highlightedText().color()
        painter.setPen(
            QPen(
                ink, 2.5, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin
            )
        )
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(line)
