"""The list of styles: its model and its delegate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QHelpEvent,
    QImage,
    QPainter,
    QPainterPath,
    QPalette,
    QPen,
    QPixmap,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
    QWidget,
)

from app.background_jobs import RunJob
from app.styles.pack import Style
from app.ui.actions import STYLE_KEYS
from app.ui.theme.tokens import RADIUS, SPACE
from app.ui.viewport.text_painting import INK, SHADE, scaled
from utils.translation.joints import labeled
from utils.translation.texts import tr

THUMBNAIL = QSize(96, 72)
PADDING = 6
KEY = Qt.ItemDataRole.UserRole
SHARE = Qt.ItemDataRole.UserRole + 1  # share of the mix in percent; None if not part of it
TRIED = Qt.ItemDataRole.UserRole + 2
FAVORITE = Qt.ItemDataRole.UserRole + 3
HEADING = Qt.ItemDataRole.UserRole + 4  # name of the group that starts here, or ""
PAINTING = Qt.ItemDataRole.UserRole + 5  # pixmap of the painting that a preview covers, or None
HEADING_WIDTH = 24  # px before the first card of a group, with its name from bottom to top
CORNER = QSize(32, 24)  # px, of the small painting in the lower left corner of a thumbnail
TIP_ABOVE = 40  # px; Qt shows a tip up to 24 px below its place, and its frame takes the rest
STAR = 20  # px, side of the star in the upper right corner of a thumbnail
_Index = QModelIndex | QPersistentModelIndex


class StyleModel(QAbstractListModel):
    """List model of the styles in gallery order; thumbnails load in the background."""

    def __init__(self, run: RunJob, parent: QWidget) -> None:
        super().__init__(parent)
        self._run = run
        self._styles: tuple[Style, ...] = ()
        self._pixmaps: dict[Path, QPixmap] = {}
        self._shares: dict[str, int] = {}
        self._previews: dict[str, QPixmap] = {}  # the user's picture, by style key
        self._refusals: dict[str, str] = {}  # why a preview is missing, by style key
        self._tried = ""
        self._favorites: frozenset[str] = frozenset()
        self._headings: tuple[str, ...] = ()  # by row

    def set_favorites(self, keys: Iterable[str]) -> None:
        """Mark the favorite styles, which form a group of their own."""
        self._favorites = frozenset(keys)
        self._headings = self._headed()
        self._tell_changed(FAVORITE, HEADING)
        self.layoutChanged.emit()  # headings make cards wider

    def set_tried(self, key: str) -> None:
        if key != self._tried:
            self._tried = key
            self._tell_changed(TRIED)

    def set_preview(self, key: str, preview: QPixmap, reason: str = "") -> None:
        """Show the user's picture in a style instead of its thumbnail; a null one restores it."""
        if preview.isNull():
            self._previews.pop(key, None)
            self._refusals[key] = reason
        else:
            self._previews[key] = preview
            self._refusals.pop(key, None)
        if (row := self.row_of(key)) >= 0:
            roles = [Qt.ItemDataRole.DecorationRole, Qt.ItemDataRole.ToolTipRole]
            self.dataChanged.emit(self.index(row), self.index(row), roles)

    def clear_previews(self) -> None:
        self._previews.clear()
        self._refusals.clear()
        self._tell_changed(Qt.ItemDataRole.DecorationRole)

    def set_shares(self, shares: dict[str, int]) -> None:
        """Set the percentages of the mixed styles by key; empty without a mix."""
        if shares != self._shares:
            self._shares = shares
            self._tell_changed(SHARE)

    def set_styles(self, styles: tuple[Style, ...]) -> None:
        self.beginResetModel()
        self._styles = styles
        self._headings = self._headed()
        self.endResetModel()
        for style in styles:
            if style.thumbnail and style.thumbnail not in self._pixmaps:
                self._load_thumbnail(style.thumbnail)

    def _headed(self) -> tuple[str, ...]:
        """Return the name of the group that starts in each row; all "" if only one group exists."""
        groups = [
            tr("Favorites") if style.key in self._favorites else style.group or tr("Others")
            for style in self._styles
        ]
        if len(set(groups)) < 2:
            return ("",) * len(groups)
        before = ("", *groups[:-1])
        return tuple(g if g != b else "" for g, b in zip(groups, before, strict=True))

    def _load_thumbnail(self, path: Path) -> None:
        def done(picture: QPixmap) -> None:
            self._pixmaps[path] = picture
            self._tell_changed(Qt.ItemDataRole.DecorationRole)

        load_thumbnail(self._run, path, done)

    def _tell_changed(self, *roles: int) -> None:
        """Tell the views that these roles changed in any of the rows."""
        last = self.index(max(0, len(self._styles) - 1))
        self.dataChanged.emit(self.index(0), last, list(roles))

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  (Qt's signature)
        return 0 if parent.isValid() else len(self._styles)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        style = self._styles[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return style.title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            hint = tr(", key {row}", row=index.row() + 1) if index.row() < STYLE_KEYS else ""
            share = self._shares.get(style.key)
            mixed = tr(", {share} % of the mix", share=share) if share is not None else ""
            tried = tr(", being tried") if style.key == self._tried else ""
            favorite = tr(", favorite") if style.key in self._favorites else ""
            group = tr(", group {group}", group=style.group) if style.group else ""
            return f"{style.title}{hint}{favorite}{mixed}{tried}{group}"
        if role == Qt.ItemDataRole.ToolTipRole:
            refusal = self._refusals.get(style.key)
            why = (
                tr("This style cannot paint your picture: {refusal}", refusal=refusal)
                if refusal
                else ""
            )
            group = labeled(tr("Group"), style.group) if style.group else ""
            return "\n".join(filter(None, (style.title, style.credit, group, why)))
        if role == Qt.ItemDataRole.DecorationRole:
            return self._previews.get(style.key, self._shipped(style))
        if role == PAINTING:  # the thumbnail of a trained style is no painting
            covered = style.picture is not None and style.key in self._previews
            return self._shipped(style) if covered else None
        if role == HEADING:
            return self._headings[index.row()]
        if role == FAVORITE:
            return style.key in self._favorites
        if role == TRIED:
            return style.key == self._tried
        if role == SHARE:
            return self._shares.get(style.key)
        return style.key if role == KEY else None

    def _shipped(self, style: Style) -> QPixmap | None:
        return self._pixmaps.get(style.thumbnail) if style.thumbnail else None

    def row_of(self, key: str) -> int:
        """Return the row of the style `key`, or -1."""
        return next((n for n, style in enumerate(self._styles) if style.key == key), -1)


def load_thumbnail(run: RunJob, path: Path, done: Callable[[QPixmap], None]) -> None:
    """Read a thumbnail in a job; `done` gets it, null if the file is not a picture."""
    failure = tr("Could not read {name}", name=path.name)
    run(lambda: _read(path), lambda image: done(QPixmap.fromImage(image)), failure=failure)


def initials(title: str) -> str:
    """Return the initials of a style without a thumbnail, at most two."""
    return "".join(word[0] for word in title.split()[:2]).upper()


def color_of(title: str) -> QColor:
    """Return the color of a style or a look without a picture, derived from its title."""
    return QColor.fromHsv(sum(map(ord, title)) * 37 % 360, 110, 110)


def paint_badge(painter: QPainter, place: QRect, text: str) -> None:
    """Paint a text on a dark rounded rectangle."""
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(SHADE)
    painter.drawRoundedRect(place, 4, 4)
    painter.setPen(INK)
    painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)


def paint_focus(painter: QPainter, palette: QPalette, area: QRect) -> None:
    """Paint the dashed frame of a focused item."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(palette.text().color(), 1, Qt.PenStyle.DashLine))
    painter.drawRoundedRect(QRectF(area).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)


def _read(path: Path) -> QImage:
    """Read a thumbnail, cropped to the gallery's aspect ratio, at twice its size for scaling.

    The image is null if the file is not a picture; the gallery then paints initials.
    """
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


def card_place(area: QRect, index: _Index, direction: Qt.LayoutDirection) -> QRect:
    """Return the card's rectangle in the item's `area`; a heading precedes the card."""
    width = HEADING_WIDTH if index.data(HEADING) else 0
    if direction == Qt.LayoutDirection.RightToLeft:
        return area.adjusted(0, 0, -width, 0)
    return area.adjusted(width, 0, 0, 0)


def thumbnail_place(area: QRect) -> QRect:
    """Return the thumbnail's rectangle in a card's `area`."""
    place = QRect(area.topLeft(), THUMBNAIL)
    place.moveCenter(area.center())
    place.moveTop(area.top() + PADDING)
    return place


def painting_place(place: QRect) -> QRect:
    """Return the rectangle of the small painting in a thumbnail's `place`."""
    return QRect(place.left() + 4, place.bottom() - 3 - CORNER.height(), *CORNER.toTuple())


def star_place(area: QRect) -> QRect:
    """Return the rectangle of the favorite star in a card's `area`."""
    place = thumbnail_place(area)
    return QRect(place.right() - STAR - 3, place.top() + 4, STAR, STAR)


class StyleDelegate(QStyledItemDelegate):
    """Paints a style: thumbnail, number key, title, and its share of a mix.

    If a preview covers the painting that a style was made from, the painting stays in a corner.
    The chosen style has a ring; mixed styles have a thinner one.
    """

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        metrics = option.fontMetrics
        title = str(index.data())
        width = max(THUMBNAIL.width(), min(160, metrics.horizontalAdvance(title)))
        width += HEADING_WIDTH if index.data(HEADING) else 0
        return QSize(width + 2 * PADDING, THUMBNAIL.height() + metrics.height() + 3 * PADDING)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        area = card_place(option.rect, index, option.direction)
        state: QStyle.StateFlag = option.state
        palette = option.palette
        chosen = bool(state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if index.data(HEADING):
            _heading(painter, option, area, str(index.data(HEADING)))
        hovered = bool(state & QStyle.StateFlag.State_MouseOver)
        focused = bool(state & QStyle.StateFlag.State_HasFocus)
        mixed, tried = index.data(SHARE) is not None, bool(index.data(TRIED))
        ringed = chosen or mixed or tried
        if hovered or (focused and ringed):  # a second frame would be one too many
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(palette.light())
            painter.drawRoundedRect(area, RADIUS, RADIUS)
        place = thumbnail_place(area)
        self._picture(painter, place, index)
        if hovered or index.data(FAVORITE):
            paint_badge(painter, star_place(area), "\u2605" if index.data(FAVORITE) else "\u2606")
        if ringed:
            line = Qt.PenStyle.DotLine if tried else Qt.PenStyle.SolidLine
            painter.setBrush(Qt.BrushStyle.NoBrush)
            width = (1.5 if mixed else 3) + (1.5 if focused else 0)
            painter.setPen(QPen(palette.highlight().color(), width, line))
            ring = QRectF(place).adjusted(-2.5, -2.5, 2.5, 2.5)
            painter.drawRoundedRect(ring, RADIUS + 2, RADIUS + 2)
        elif focused:
            paint_focus(painter, palette, area)
        base = option.font
        painter.setFont(scaled(base, 1.0, bold=chosen))
        painter.setPen((palette.text() if chosen or mixed else palette.placeholderText()).color())
        title = area.adjusted(2, place.bottom() - area.top() + PADDING // 2, -2, 0)
        metrics = painter.fontMetrics()
        text = metrics.elidedText(str(index.data()), Qt.TextElideMode.ElideRight, title.width())
        painter.drawText(title, Qt.AlignmentFlag.AlignCenter, text)
        painter.restore()

    def helpEvent(
        self,
        event: QHelpEvent,
        view: QAbstractItemView,
        option: QStyleOptionViewItem,
        index: _Index,
    ) -> bool:
        """Show the tip above the card, where it covers no name."""
        tip = str(index.data(Qt.ItemDataRole.ToolTipRole) or "")
        if event.type() != QEvent.Type.ToolTip or not tip:
            return super().helpEvent(event, view, option, index)
        area: QRect = option.rect
        height = QFontMetrics(QToolTip.font()).lineSpacing() * (tip.count("\n") + 1)
        above = QPoint(area.left(), area.top() - height - TIP_ABOVE)
        QToolTip.showText(view.viewport().mapToGlobal(above), tip, view.viewport(), area)
        return True

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
            painter.fillRect(place, color_of(title))
            painter.setPen(INK)
            painter.setFont(scaled(base, 1.8, bold=True))
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, initials(title))
        painter.setClipping(False)
        painting = index.data(PAINTING)
        if isinstance(painting, QPixmap) and not painting.isNull():
            _corner(painter, painting_place(place), painting)
        painter.setFont(scaled(base, 1.0))
        if index.row() < STYLE_KEYS:
            paint_badge(
                painter, QRect(place.left() + 4, place.top() + 4, 18, 18), str(index.row() + 1)
            )
        share = index.data(SHARE)
        if share is not None:
            text = f"{share} %"
            width = painter.fontMetrics().horizontalAdvance(text) + SPACE
            corner = place.right() - 3 - width, place.bottom() - 21
            paint_badge(painter, QRect(*corner, width, 18), text)


def _corner(painter: QPainter, place: QRect, painting: QPixmap) -> None:
    """Paint a painting as small as `place`, with a light frame."""
    size = place.size() * painter.device().devicePixelRatioF()
    aspect, way = Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation
    painter.drawPixmap(place, painting.scaled(size, aspect, way))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(INK, 1))
    painter.drawRect(place)


def _heading(painter: QPainter, option: QStyleOptionViewItem, card: QRect, heading: str) -> None:
    """Paint a group's name next to its first card, from bottom to top, along a line."""
    left_to_right = option.direction == Qt.LayoutDirection.LeftToRight
    left = option.rect.left() if left_to_right else card.right() + 1
    strip = QRect(left, card.top(), HEADING_WIDTH, card.height()).adjusted(0, PADDING, 0, -PADDING)
    line = strip.left() + 4 if left_to_right else strip.right() - 4
    painter.setPen(QPen(option.palette.mid().color(), 1))
    painter.drawLine(line, strip.top(), line, strip.bottom())
    painter.save()
    painter.translate(strip.left(), strip.bottom() + 1)
    painter.rotate(-90)
    painter.setFont(scaled(option.font, 0.9, bold=True))
    painter.setPen(option.palette.placeholderText().color())
    text = painter.fontMetrics().elidedText(heading, Qt.TextElideMode.ElideRight, strip.height())
    place = QRect(0, 3 if left_to_right else -3, strip.height(), HEADING_WIDTH)
    painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)
    painter.restore()
