"""The page of the wall: nine tiles between a bar and a row of sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from app.styles.pack import Style
from app.ui.layouts import described, fill
from app.ui.theme.tokens import SPACE
from app.ui.wall.bars import SourceRow, WallBar
from app.ui.wall.tile import Tile
from utils.translation.texts import tr

SIDE = 3  # tiles in a row, and rows
TILES = SIDE * SIDE
_Key = Qt.Key
_STEPS = {
    _Key.Key_Left: (-1, 0),
    _Key.Key_Right: (1, 0),
    _Key.Key_Up: (0, -1),
    _Key.Key_Down: (0, 1),
}
_PAGES = {_Key.Key_PageUp: -1, _Key.Key_PageDown: 1}


class WallPage(QWidget):
    """Covers its parent while shown; drops on it still reach the window.

    Arrow keys move between tiles and from page to page, Page Up and Page Down turn pages.
    """

    chosen = Signal(str)  # the key of a style
    turned = Signal()  # other styles are shown, or tiles have another size

    def __init__(self, actions: Mapping[str, QAction], parent: QWidget) -> None:
        super().__init__(parent)
        self._parent = parent
        self._styles: tuple[Style, ...] = ()
        self._page, self._current = 0, ""
        self._paintings: dict[str, QPixmap] = {}
        self._reasons: dict[str, str] = {}
        self.setObjectName("wall")
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        described(self, tr("Wall of paintings"), "")
        self.bar, self.sources = WallBar(actions, self), SourceRow(actions, self)
        self.bar.page_wanted.connect(lambda: self.turn(1))
        self.tiles = [Tile(number + 1, self) for number in range(TILES)]
        grid = QGridLayout()
        grid.setSpacing(SPACE)
        grid.setContentsMargins(SPACE * 3 // 2, 0, SPACE * 3 // 2, 0)
        for number, tile in enumerate(self.tiles):
            grid.addWidget(tile, number // SIDE, number % SIDE)
            tile.clicked.connect(lambda _=False, tile=tile: self.chosen.emit(tile.key))
        for line in range(SIDE):
            grid.setRowStretch(line, 1)
            grid.setColumnStretch(line, 1)
        parts = self.bar, (grid, 1), self.sources
        fill(QVBoxLayout(self), *parts, margins=(0, 0, 0, 0), spacing=0)
        parent.installEventFilter(self)
        self.hide()

    # Content

    @property
    def keys(self) -> list[str]:
        """The keys of the styles on the page shown, in order."""
        return [tile.key for tile in self.tiles if tile.key]

    @property
    def page(self) -> int:
        return self._page

    @property
    def pages(self) -> int:
        return max(1, -(-len(self._styles) // TILES))

    @property
    def tile_size(self) -> QSize:
        """The size of a tile in pixels of the screen."""
        return (self.tiles[0].size().toSizeF() * self.devicePixelRatioF()).toSize()

    def tile_of(self, key: str) -> Tile | None:
        return next((tile for tile in self.tiles if tile.key == key and key), None)

    def set_styles(self, styles: Sequence[Style]) -> None:
        if tuple(styles) != self._styles:
            self._styles = tuple(styles)
            self._show_page(min(self._page, self.pages - 1))

    def turn(self, count: int) -> None:
        """Show the page `count` further on; the first follows the last."""
        self._show_page((self._page + count) % self.pages)

    def _show_page(self, page: int) -> None:
        self._page = page
        shown = self._styles[page * TILES : (page + 1) * TILES]
        focused = next((tile for tile in self.tiles if tile.hasFocus()), None)
        for tile, style in zip_longest(self.tiles, shown):
            if style is None:
                tile.set_style("", "", QPixmap(), "")
            else:
                painting = self._paintings.get(style.key, QPixmap())
                tile.set_style(style.key, style.title, painting, self._reasons.get(style.key, ""))
            tile.setVisible(style is not None)
        self.show_current(self._current)
        if focused is not None and not focused.key:
            self.focus_tile()
        self.bar.dots.show_page(page, self.pages)
        self.turned.emit()

    def show_current(self, key: str) -> None:
        """Mark the present style; "" for a mix."""
        self._current = key
        for tile in self.tiles:
            tile.show_current(on=bool(key) and tile.key == key)

    def show_painting(self, key: str, painting: QPixmap, reason: str = "") -> None:
        """Show a style's painting, or the reason why it cannot paint."""
        self._paintings[key], self._reasons[key] = painting, reason
        if (tile := self.tile_of(key)) is not None:
            tile.show_painting(painting, reason)

    def show_soft(self, picture: QPixmap) -> None:
        """Show the softened picture on the tiles without a painting."""
        for tile in self.tiles:
            tile.show_soft(picture)

    def mirror(self, on: bool) -> None:
        for tile in self.tiles:
            tile.mirror(on)

    def clear_paintings(self) -> None:
        self._paintings.clear()
        self._reasons.clear()
        for tile in self.tiles:
            tile.show_painting(QPixmap())

    # Place

    def eventFilter(self, watched: object, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.setGeometry(self._parent.rect())
        elif event.type() == QEvent.Type.FocusIn and self.isVisible():
            self.focus_tile()
        return False

    def show_page(self, on: bool) -> None:
        """Show the wall, or the picture below it, and move the focus there."""
        if on == (not self.isHidden()):
            return
        focused = self.window().focusWidget()
        inside = focused is not None and self.isAncestorOf(focused)
        # Tab passes over the picture behind the wall.
        policy = Qt.FocusPolicy.NoFocus if on else Qt.FocusPolicy.StrongFocus
        self._parent.setFocusPolicy(policy)
        self.setGeometry(self._parent.rect())
        self.setVisible(on)
        self.raise_()
        if on and focused in (None, self._parent):
            self.focus_tile()
        elif inside and not on:
            self._parent.setFocus()

    def focus_tile(self) -> None:
        """Focus the present style's tile, or else the first."""
        first = self.tile_of(self._current) or next((t for t in self.tiles if t.key), None)
        (first or self.sources.buttons["open_camera"]).setFocus()

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), self.palette().window())

    # Keys

    def event(self, event: QEvent) -> bool:
        """Take the wall's own keys before they become shortcuts."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            plain = event.modifiers() in (_NO_MODIFIER, _KEYPAD)
            if plain and event.key() in (*_STEPS, *_PAGES, _Key.Key_Home, _Key.Key_End):
                event.accept()
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = _Key(event.key())
        if key in _PAGES:
            self.turn(_PAGES[key])
        elif key in _STEPS:
            self._step(*_STEPS[key])
        elif key in (_Key.Key_Home, _Key.Key_End):
            keyed = [tile for tile in self.tiles if tile.key]
            keyed[0 if key == _Key.Key_Home else -1].setFocus()
        else:
            super().keyPressEvent(event)

    def _step(self, across: int, down: int) -> None:
        """Move the focus by tiles; across the edge, to the next page."""
        if self.isRightToLeft():
            across = -across
        focused = next((tile for tile in self.tiles if tile.hasFocus()), None)
        if focused is None:
            self.focus_tile()
            return
        place = focused.number - 1 + across + SIDE * down
        if across and not 0 <= place < len(self.keys):
            self.turn(across)
            place = 0 if across > 0 else len(self.keys) - 1
        if 0 <= place < len(self.keys):
            self.tiles[place].setFocus()
        elif down > 0:
            self.sources.buttons["open_camera"].setFocus()


_NO_MODIFIER = Qt.KeyboardModifier.NoModifier
_KEYPAD = Qt.KeyboardModifier.KeypadModifier
