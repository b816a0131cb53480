"""The grid of tiles: a thumbnail or an icon, and the name below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPalette,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QFrame,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.ui.picker.colors import tokens_in_use
from app.ui.picker.entries import Entry
from app.ui.picker.model import ENTRY, EntryModel
from app.ui.picker.thumbnails import SIZE, Thumbnail, has_thumbnail
from app.ui.theme.icons import icon
from app.ui.theme.tokens import RADIUS, SPACE
from app.ui.viewport.text_painting import draw_pill, scaled
from app.ui.widgets.style_list import paint_focus
from utils.images.moving import FILM_ENDINGS
from utils.text import clock

_CHOSEN = 36  # opacity of the accent behind a selected tile, of 255
_DIMMED = 0.45  # opacity of files where only a folder can be chosen
_FOLDER, _SMALL = 56, 36  # px, sides of icons
_CORNER = 4  # px, radius of a thumbnail
_Index = QModelIndex | QPersistentModelIndex


class TileDelegate(QStyledItemDelegate):
    """Paints tiles of equal size; only painted tiles request thumbnails."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return tile_size(option.fontMetrics)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        entry: Entry = index.data(ENTRY)
        whole: QRect = option.rect
        palette: QPalette = option.palette
        state: QStyle.StateFlag = option.state
        tile = QRect(QPoint(0, 0), tile_size(option.fontMetrics))
        tile.moveCenter(whole.center())
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        self._ground(painter, tile, palette, state)
        if not state & QStyle.StateFlag.State_Enabled:
            painter.setOpacity(_DIMMED)
        place = QRect(QPoint(0, tile.top() + SPACE), SIZE)
        place.moveLeft(tile.center().x() - SIZE.width() // 2)
        self._picture(painter, place, entry, index)
        self._name(painter, tile, option, str(index.data()))
        painter.restore()

    def _ground(
        self, painter: QPainter, tile: QRect, palette: QPalette, state: QStyle.StateFlag
    ) -> None:
        area = QRectF(tile).adjusted(1, 1, -1, -1)
        if state & QStyle.StateFlag.State_Selected:
            ground = palette.highlight().color()
            ground.setAlpha(_CHOSEN)
            painter.setBrush(ground)
            painter.setPen(QPen(palette.highlight().color(), 2))
            painter.drawRoundedRect(area, RADIUS, RADIUS)
        elif state & QStyle.StateFlag.State_HasFocus and self._by_keys():
            paint_focus(painter, palette, tile)
        elif state & QStyle.StateFlag.State_MouseOver and state & QStyle.StateFlag.State_Enabled:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(palette.light())
            painter.drawRoundedRect(area, RADIUS, RADIUS)

    def _by_keys(self) -> bool:
        grid = self.parent()
        return isinstance(grid, TileGrid) and grid.by_keys

    def _picture(self, painter: QPainter, place: QRect, entry: Entry, index: _Index) -> None:
        made = None if entry.folder else index.data(Qt.ItemDataRole.DecorationRole)
        if isinstance(made, Thumbnail) and not made.pixmap.isNull():
            self._thumbnail(painter, place, made)
            return
        tokens = tokens_in_use()
        faint = replace(tokens, text=tokens.muted)
        side = _FOLDER if entry.folder else _SMALL
        if not entry.folder:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.raised))
            painter.drawRoundedRect(place.adjusted(SPACE, 0, -SPACE, 0), RADIUS, RADIUS)
        middle = QRect(0, 0, side, side)
        middle.moveCenter(place.center())
        icon(_icon_of(entry, made), faint).paint(painter, middle)

    def _thumbnail(self, painter: QPainter, place: QRect, made: Thumbnail) -> None:
        size = made.pixmap.size()
        if size.width() > SIZE.width() or size.height() > SIZE.height():
            size.scale(SIZE, Qt.AspectRatioMode.KeepAspectRatio)
        inner = QRect(QPoint(0, 0), size)
        inner.moveCenter(place.center())
        outline = QPainterPath()
        outline.addRoundedRect(QRectF(inner), _CORNER, _CORNER)
        painter.save()
        painter.setClipPath(outline)
        painter.drawPixmap(inner, made.pixmap)
        painter.restore()
        if made.seconds:
            painter.setFont(scaled(painter.font(), 0.85))
            low = QFontMetrics(painter.font()).height() + SPACE
            corner = inner.bottomLeft() + QPoint(SPACE // 2, -low - SPACE // 2)
            draw_pill(painter, corner, clock(round(made.seconds)))

    def _name(
        self, painter: QPainter, tile: QRect, option: QStyleOptionViewItem, name: str
    ) -> None:
        font = scaled(option.font, 0.92)
        metrics = QFontMetrics(font)
        line = tile.adjusted(SPACE // 2, SIZE.height() + SPACE, -SPACE // 2, -SPACE // 2)
        painter.setFont(font)
        painter.setPen(option.palette.color(QPalette.ColorGroup.Active, QPalette.ColorRole.Text))
        shown = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, line.width())
        painter.drawText(line, Qt.AlignmentFlag.AlignCenter, shown)


class TileGrid(QListView):
    """Tiles in rows that fill the width.

    Attributes:
        by_keys: Whether a key was pressed since the last click, so that the focus is shown.
    """

    def __init__(self, model: EntryModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._entries = model
        self.by_keys = False
        self.setModel(model)
        self.setItemDelegate(TileDelegate(self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFlow(QListView.Flow.LeftToRight)
        self.setWrapping(True)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setDragDropMode(QListView.DragDropMode.NoDragDrop)

    @property
    def columns(self) -> int:
        """The number of tiles in a row."""
        bar = self.style().pixelMetric(QStyle.PixelMetric.PM_ScrollBarExtent)
        return max(1, (self.width() - max(bar, 10)) // tile_size(self.fontMetrics()).width())

    def in_view(self) -> Sequence[Entry]:
        """Return the visible entries, the first ones first."""
        if not self.isVisible():
            return ()
        height, columns = self.gridSize().height(), self.columns
        top = self.verticalScrollBar().value() // height
        bottom = (self.verticalScrollBar().value() + self.viewport().height()) // height
        return self._entries.entries[top * columns : (bottom + 1) * columns]

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self.by_keys = True
        super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.by_keys = False
        super().mousePressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Distribute the width among as many tiles as fit, whether or not there is a scroll bar."""
        bar = max(self.style().pixelMetric(QStyle.PixelMetric.PM_ScrollBarExtent), 10)
        tile = tile_size(self.fontMetrics())
        size = QSize(max(tile.width(), (self.width() - bar) // self.columns), tile.height() + 4)
        if size != self.gridSize():
            self.setGridSize(size)
        super().resizeEvent(event)


def tile_size(metrics: QFontMetrics) -> QSize:
    """Return the size of a tile in pixels, with a line for the name."""
    return QSize(SIZE.width() + 2 * SPACE, SIZE.height() + metrics.height() + 3 * SPACE)


def _icon_of(entry: Entry, made: object) -> str:
    if entry.folder:
        return "open"
    if isinstance(made, Thumbnail) and made.fault:
        return "warning"
    if not has_thumbnail(entry):
        return "file"
    return "film" if entry.path.suffix.lower() in FILM_ENDINGS else "photo"
