"""The strip of styles under the picture: thumbnails, titles, number keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

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
from PySide6.QtGui import QColor, QImage, QPainter, QPainterPath, QPen, QPixmap
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QWidget,
)

from app.styles import Style
from app.ui.actions import STYLE_KEYS
from app.ui.lettering import INK, SHADE, scaled
from app.ui.tokens import RADIUS, SPACE

THUMBNAIL = QSize(96, 72)
_PADDING = 6
_KEY = Qt.ItemDataRole.UserRole
_Index = QModelIndex | QPersistentModelIndex


class RunJob(Protocol):
    """session.run: `done` gets what `work` returns, on the GUI thread."""

    def __call__(
        self, work: Callable[[], Any], done: Callable[[Any], None], *, doing: str
    ) -> None: ...


class StyleModel(QAbstractListModel):
    """Styles in gallery order. Thumbnails are read in the background and come later."""

    def __init__(self, run: RunJob, parent: QWidget) -> None:
        super().__init__(parent)
        self._run = run
        self._styles: tuple[Style, ...] = ()
        self._pixmaps: dict[Path, QPixmap] = {}

    def set_styles(self, styles: tuple[Style, ...]) -> None:
        self.beginResetModel()
        self._styles = styles
        self.endResetModel()
        for style in styles:
            if style.thumbnail and style.thumbnail not in self._pixmaps:
                self._fetch(style.thumbnail)

    def _fetch(self, path: Path) -> None:
        def done(image: QImage) -> None:
            self._pixmaps[path] = QPixmap.fromImage(image)
            last = self.index(max(0, len(self._styles) - 1))
            self.dataChanged.emit(self.index(0), last, [Qt.ItemDataRole.DecorationRole])

        self._run(lambda: _thumbnail(path), done, doing=f"read {path.name}")

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  (Qt's signature)
        return 0 if parent.isValid() else len(self._styles)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        style = self._styles[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return style.title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            hint = f", key {index.row() + 1}" if index.row() < STYLE_KEYS else ""
            return f"{style.title}{hint}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return "\n".join(part for part in (style.title, style.credit, style.licence) if part)
        if role == Qt.ItemDataRole.DecorationRole:
            return self._pixmaps.get(style.thumbnail) if style.thumbnail else None
        return style.key if role == _KEY else None

    def row_of(self, key: str) -> int:
        """The row of the style `key`, -1 if it is not there."""
        return next((n for n, style in enumerate(self._styles) if style.key == key), -1)


def _thumbnail(path: Path) -> QImage:
    """Read off the GUI thread, cut to the gallery's shape at twice its size (for scaled
    displays). A null image where the file is no picture: the gallery then draws initials."""
    image = QImage(str(path))
    if image.isNull():
        return image
    size = THUMBNAIL * 2
    image = image.scaled(
        size,
        Qt.AspectRatioMode.KeepAspectRatioByExpanding,
        Qt.TransformationMode.SmoothTransformation,
    )
    corner = (image.size() - size) / 2
    return image.copy(corner.width(), corner.height(), size.width(), size.height())


class Tile(QStyledItemDelegate):
    """Draws a style: thumbnail, number key, title; a ring around the chosen one."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        metrics = option.fontMetrics
        title = str(index.data())
        width = max(THUMBNAIL.width(), min(160, metrics.horizontalAdvance(title)))
        return QSize(width + 2 * _PADDING, THUMBNAIL.height() + metrics.height() + 3 * _PADDING)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        area: QRect = option.rect
        state: QStyle.StateFlag = option.state
        palette = option.palette
        chosen = bool(state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(palette.light())
            painter.drawRoundedRect(area, RADIUS, RADIUS)
        place = QRect(area.topLeft(), THUMBNAIL)
        place.moveCenter(area.center())
        place.moveTop(area.top() + _PADDING)
        self._picture(painter, place, index)
        if chosen:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(palette.highlight().color(), 3))
            ring = QRectF(place).adjusted(-2.5, -2.5, 2.5, 2.5)
            painter.drawRoundedRect(ring, RADIUS + 2, RADIUS + 2)
        if state & QStyle.StateFlag.State_HasFocus:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(palette.text().color(), 1, Qt.PenStyle.DashLine))
            painter.drawRoundedRect(QRectF(area).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        base = option.font
        painter.setFont(scaled(base, 1.0, bold=chosen))
        painter.setPen((palette.text() if chosen else palette.placeholderText()).color())
        title = area.adjusted(2, place.bottom() - area.top() + _PADDING // 2, -2, 0)
        metrics = painter.fontMetrics()
        text = metrics.elidedText(str(index.data()), Qt.TextElideMode.ElideRight, title.width())
        painter.drawText(title, Qt.AlignmentFlag.AlignCenter, text)
        painter.restore()

    def _picture(self, painter: QPainter, place: QRect, index: _Index) -> None:
        outline = QPainterPath()
        outline.addRoundedRect(QRectF(place), RADIUS, RADIUS)
        painter.setClipPath(outline)
        base = painter.font()
        pixmap = index.data(Qt.ItemDataRole.DecorationRole)
        title = str(index.data())
        if isinstance(pixmap, QPixmap) and not pixmap.isNull():
            painter.drawPixmap(place, pixmap)
        else:
            # A style without a thumbnail gets a color of its own, always the same.
            painter.fillRect(place, QColor.fromHsv(sum(map(ord, title)) * 37 % 360, 110, 110))
            painter.setPen(INK)
            painter.setFont(scaled(base, 1.8, bold=True))
            initials = "".join(word[0] for word in title.split()[:2]).upper()
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, initials)
        painter.setClipping(False)
        if index.row() < STYLE_KEYS:
            badge = QRect(place.left() + 4, place.top() + 4, 18, 18)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(SHADE)
            painter.drawRoundedRect(badge, 4, 4)
            painter.setPen(INK)
            painter.setFont(scaled(base, 1.0))
            painter.drawText(badge, Qt.AlignmentFlag.AlignCenter, str(index.row() + 1))


class StyleGallery(QFrame):
    """Follows the chosen style through `choose`; `chosen(key)` is the user's wish."""

    chosen = Signal(str)

    def __init__(self, run: RunJob, install: QToolButton, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("gallery")
        self._following = False  # what changes now is not the user's doing
        self.model = StyleModel(run, self)
        self.view = QListView(self)
        self.view.setModel(self.model)
        self.view.setItemDelegate(Tile(self.view))
        self.view.setFlow(QListView.Flow.LeftToRight)
        self.view.setWrapping(False)
        self.view.setSpacing(2)
        self.view.setMouseTracking(True)  # for the hover tint
        self.view.setHorizontalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.view.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.view.setAccessibleName("Styles")
        self.view.setToolTip("Choose a style: click, arrow keys, or 1 to 9")
        self.view.selectionModel().currentChanged.connect(self._current_changed)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE, SPACE // 2, SPACE, SPACE // 2)
        row.addWidget(self.view, 1)
        row.addWidget(install, 0, Qt.AlignmentFlag.AlignVCenter)
        self._fit()

    def _fit(self) -> None:
        line = self.view.fontMetrics().height()
        self.view.setFixedHeight(THUMBNAIL.height() + line + 3 * _PADDING + 4 + 12)

    def set_styles(self, styles: tuple[Style, ...], chosen: str) -> None:
        """Show `styles`, `chosen` marked."""
        self._following = True
        self.model.set_styles(styles)
        self._following = False
        self.choose(chosen)

    def choose(self, key: str) -> None:
        """Mark the style `key`, without saying so."""
        row = self.model.row_of(key)
        if row < 0:
            self.view.clearSelection()
        elif self.view.currentIndex().row() != row:
            self._following = True
            self.view.setCurrentIndex(self.model.index(row))
            self._following = False
            self.view.scrollTo(self.model.index(row))

    def key_at(self, row: int) -> str:
        """The key of the style in `row`; empty if there is none."""
        index = self.model.index(row)
        return str(index.data(_KEY)) if index.isValid() else ""

    def neighbor(self, step: int) -> str:
        """The key of the style `step` further on, wrapping; empty if there are none."""
        count = self.model.rowCount()
        return self.key_at((self.view.currentIndex().row() + step) % count) if count else ""

    def _current_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        if current.isValid() and not self._following:
            self.chosen.emit(str(current.data(_KEY)))
