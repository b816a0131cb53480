"""The strip of looks: named ones, then the last ones, as thumbnails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QAction, QIcon, QImage, QKeyEvent, QKeySequence, QPixmap
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QVBoxLayout,
    QWidget,
)

from app.engine.result import StyledFrame
from app.looks.look import Look
from app.ui.layouts import described, fill
from app.ui.theme.tokens import SPACE
from app.ui.viewport.frame_painter import as_image
from app.ui.viewport.scaling import scale_frame
from app.ui.widgets.style_list import color_of
from app.ui.widgets.toolbar import tool_button
from utils.translation.joints import labeled
from utils.translation.texts import tr

THUMBNAIL = QSize(80, 60)
DENSITY = 2  # thumbnail pixels per window pixel, for scaled screens
_KEYS = (Qt.Key.Key_F2, Qt.Key.Key_Delete)


@dataclass(frozen=True, slots=True)
class ShownLook:
    """A look in the strip; `name` is "" for an unsaved one, `title` is displayed."""

    look: Look
    title: str
    name: str
    picture: QImage


def thumbnail(styled: StyledFrame) -> QImage:
    """Return the center of a result, at DENSITY times THUMBNAIL."""
    size, frame = THUMBNAIL * DENSITY, styled.frame
    whole = QSize(frame.width, frame.height).scaled(
        size, Qt.AspectRatioMode.KeepAspectRatioByExpanding
    )
    small = np.ascontiguousarray(scale_frame(frame, whole.width(), whole.height()).pixels)
    corner = (whole - size) / 2
    return as_image(small).copy(corner.width(), corner.height(), size.width(), size.height())


class _List(QListWidget):
    """Emits `renamed` and `deleted` with an item for F2 and Delete."""

    renamed = Signal(object)
    deleted = Signal(object)

    def event(self, event: QEvent) -> bool:
        """Keep F2 and Delete from becoming shortcuts of the window."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() in _KEYS
            and not event.modifiers()
        ):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.currentItem()
        if item is not None and event.key() == Qt.Key.Key_F2:
            self.renamed.emit(item)
        elif item is not None and event.key() == Qt.Key.Key_Delete:
            self.deleted.emit(item)
        elif item is not None and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.itemClicked.emit(item)
        else:
            super().keyPressEvent(event)


class LookStrip(QFrame):
    """A row of looks. A click or Enter uses one; F2 and Delete, or the context menu, change it.

    Signals carry a ShownLook. The action `save` saves the current look.
    """

    used = Signal(object)
    named = Signal(object)  # to save or rename
    removed = Signal(object)

    def __init__(self, save: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("looks")
        self._shown: list[ShownLook] = []
        self.view = described(
            _List(self),
            tr("Looks"),
            tr("Saved looks, then recent ones; Enter uses one, F2 names it"),
        )
        self.view.setViewMode(QListWidget.ViewMode.IconMode)
        self.view.setFlow(QListWidget.Flow.LeftToRight)
        self.view.setWrapping(False)
        self.view.setMovement(QListWidget.Movement.Static)
        self.view.setIconSize(THUMBNAIL)
        self.view.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.view.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.view.setUniformItemSizes(True)
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        line = self.view.fontMetrics().height()
        cell = QSize(THUMBNAIL.width() + 2 * SPACE, THUMBNAIL.height() + line + 2 * SPACE)
        self.view.setGridSize(cell)
        bar = self.view.horizontalScrollBar().sizeHint().height()
        self.view.setFixedHeight(cell.height() + bar + SPACE)
        beside = fill(QVBoxLayout(), None, tool_button(save, self, words=True), None)
        fill(QHBoxLayout(self), (self.view, 1), beside, margins=(SPACE, SPACE // 2, SPACE, 0))
        self.view.itemClicked.connect(lambda item: self.used.emit(self._of(item)))
        self.view.renamed.connect(lambda item: self.named.emit(self._of(item)))
        self.view.deleted.connect(lambda item: self.removed.emit(self._of(item)))
        self.view.customContextMenuRequested.connect(self._pop_up)

    @property
    def shown(self) -> Sequence[ShownLook]:
        """The looks, from left to right."""
        return self._shown

    def show_looks(self, looks: Sequence[ShownLook], current: Look) -> None:
        if list(looks) != self._shown:
            row = self.view.currentRow()
            self._shown = list(looks)
            self.view.clear()
            for each in looks:
                self.view.addItem(self._item(each))
            self.view.setCurrentRow(min(row, len(looks) - 1))
        for row, each in enumerate(self._shown):
            self.view.item(row).setSelected(each.look == current)

    def context_menu(self, shown: ShownLook) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("&Use this look"), lambda: self.used.emit(shown))
        rename = tr("&Rename...") if shown.name else tr("&Save...")
        menu.addAction(_with_key(rename, Qt.Key.Key_F2), lambda: self.named.emit(shown))
        delete = tr("&Delete...") if shown.name else tr("&Remove from the strip")
        menu.addAction(_with_key(delete, Qt.Key.Key_Delete), lambda: self.removed.emit(shown))
        return menu

    def _of(self, item: QListWidgetItem) -> ShownLook:
        return self._shown[self.view.row(item)]

    def _pop_up(self, place: QPoint) -> None:
        item = self.view.itemAt(place)
        if item is not None:
            self.context_menu(self._of(item)).popup(self.view.viewport().mapToGlobal(place))

    def _item(self, shown: ShownLook) -> QListWidgetItem:
        pixmap = QPixmap.fromImage(shown.picture)
        if pixmap.isNull():
            pixmap = QPixmap(THUMBNAIL)
            pixmap.fill(color_of(shown.title))
        icon = QIcon(pixmap)
        icon.addPixmap(pixmap, QIcon.Mode.Selected)  # otherwise Qt tints the current picture
        item = QListWidgetItem(icon, shown.title)
        kind = tr("Saved look") if shown.name else tr("Look")
        item.setToolTip(tr("{title}\n{kind}; click or Enter uses it", title=shown.title, kind=kind))
        item.setData(Qt.ItemDataRole.AccessibleTextRole, labeled(kind, shown.title))
        return item


def _with_key(text: str, key: Qt.Key) -> str:
    """Return a menu entry with a key, which Qt displays and the list handles."""
    return f"{text}\t{QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)}"
