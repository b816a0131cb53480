"""The gallery of styles below the picture: thumbnails, titles, number keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QKeySequence,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QListView,
    QMenu,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.background_jobs import RunJob
from app.options import Part, percentages
from app.styles.pack import Style
from app.ui.gallery.cards_view import CardsView
from app.ui.layouts import described, fill
from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import INK, draw_card, smooth_painter
from app.ui.widgets.style_list import KEY, PADDING, SHARE, THUMBNAIL, StyleDelegate, StyleModel
from utils.translation.texts import tr


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """A command for a style.

    Attributes:
        title: Menu title with its mnemonic.
        keys: Shortcut for the chosen style; may be empty.
        reason: Why the command does not apply to this style, as a sentence; "" if it does.
    """

    title: str
    keys: QKeySequence
    tip: str
    reason: str
    act: Callable[[], object]


class _DropHint(QWidget):
    """Covers the gallery during a drag and shows the effect of a drop."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._over = parent
        self._title, self._detail, self._accepted = "", "", False
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def say(self, title: str, detail: str, *, accepted: bool) -> None:
        self._title, self._detail, self._accepted = title, detail, accepted
        self.setGeometry(self._over.rect())
        self.show()
        self.raise_()
        self.update()

    @property
    def text(self) -> str:
        return "" if self.isHidden() else self._title

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth_painter(self)
        edge = self.palette().highlight().color() if self._accepted else INK
        draw_card(painter, self.rect(), self._title, self._detail, edge=edge, shade=True)


class StyleGallery(QFrame):
    """Shows the styles; emits `chosen(key)` and `mixed(key)` for the user's choices.

    `mark_style` and `show_mix` follow the config without emitting signals.

    Attributes:
        mix_reason: Returns why a style cannot be mixed in, as a sentence; "" if it can.
    """

    chosen = Signal(str)
    mixed = Signal(str)
    moved = Signal(str, str)  # a style, and the one it was dragged before; "" for the end
    dropped_on = Signal(str, str)  # a style, and the one it was dragged onto
    star_clicked = Signal(str)
    drag_entered = Signal(object)  # QDragEnterEvent
    drag_left = Signal()
    dropped = Signal(object)  # QDropEvent

    def __init__(
        self, run: RunJob, buttons: Sequence[QToolButton], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.entries: Callable[[str], Iterable[MenuEntry]] = lambda _key: ()
        self.mix_reason: Callable[[str], str] = lambda _key: ""
        self.additions: Sequence[QAction] = ()
        self.setObjectName("gallery")
        self.setAcceptDrops(True)
        self._updating = False  # suppresses signals for programmatic changes
        self.model = StyleModel(run, self)
        self.view = CardsView(self)
        self.view.setModel(self.model)
        self.view.setItemDelegate(StyleDelegate(self.view))
        self.view.setFlow(QListView.Flow.LeftToRight)
        self.view.setWrapping(False)
        self.view.setSpacing(2)
        self.view.setMouseTracking(True)  # for the hover tint
        self.view.setHorizontalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.view.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.view.setAccessibleName(tr("Styles"))
        self.view.setToolTip(
            tr(
                "Choose a style by a click, the arrow keys or 1 to 9. Shift-click a style to mix "
                "it in. Rest the pointer on a style, or press T, to try it. Drag a style to move "
                "it, or drop it on a card to mix the two. Drop or paste a picture here to make a "
                "style from it"
            )
        )
        self.view.mix_clicked.connect(lambda index: self.mixed.emit(str(index.data(KEY))))
        self.view.moved.connect(self.moved)
        self.view.dropped_on.connect(self.dropped_on)
        self.view.star_clicked.connect(lambda index: self.star_clicked.emit(str(index.data(KEY))))
        self.search = described(
            QLineEdit(self),
            tr("Search styles"),
            tr("Show the styles with these words in title, artist or group (Ctrl+F)"),
        )
        self.search.setPlaceholderText(tr("Search styles"))
        self.search.setClearButtonEnabled(True)
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.customContextMenuRequested.connect(self._pop_up)
        self.view.selectionModel().currentChanged.connect(self._current_changed)
        for button in buttons:
            button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        column = fill(QVBoxLayout(), None, self.search, *buttons, None, spacing=SPACE // 2)
        margins = (SPACE, SPACE // 2, SPACE, SPACE // 2)
        fill(QHBoxLayout(self), (self.view, 1), column, margins=margins)
        self._hint = _DropHint(self)
        self._fit()

    def _fit(self) -> None:
        line = self.view.fontMetrics().height()
        self.view.setFixedHeight(THUMBNAIL.height() + line + 3 * PADDING + 4 + 12)

    def set_styles(self, styles: tuple[Style, ...], chosen: str) -> None:
        self._updating = True
        self.model.set_styles(styles)
        self._updating = False
        self.mark_style(chosen)

    def mark_style(self, key: str) -> None:
        row = self.model.row_of(key)
        if row < 0:
            self.view.clearSelection()
        elif self.view.currentIndex().row() != row:
            self._updating = True
            self.view.setCurrentIndex(self.model.index(row))
            self._updating = False
            self.view.scrollTo(self.model.index(row))

    def scroll_to(self, key: str) -> None:
        self.view.scrollTo(self.model.index(self.model.row_of(key)))

    def show_mix(self, parts: Sequence[Part]) -> None:
        """Mark the styles of a mix with shares that add up to 1; one style clears the marks."""
        percents = percentages([share for _, share in parts])
        mixed = {key: percent for (key, _), percent in zip(parts, percents, strict=True)}
        self.model.set_shares(mixed if len(parts) > 1 else {})

    @property
    def has_focus(self) -> bool:
        focused = self.window().focusWidget()
        return focused is not None and self.isAncestorOf(focused)

    # Drag and drop

    @property
    def drop_hint(self) -> str:
        return self._hint.text

    def show_drop_hint(self, title: str, detail: str = "", *, accepted: bool = True) -> None:
        self._hint.say(title, detail, accepted=accepted)

    def hide_drop_hint(self) -> None:
        self._hint.hide()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self.drag_entered.emit(event)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.drag_left.emit()

    def dropEvent(self, event: QDropEvent) -> None:
        self.dropped.emit(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._hint.setGeometry(self.rect())

    # Menus

    def context_menu(self, key: str) -> QMenu:
        """Return the context menu of the style `key`; it deletes itself when closed."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        index = self.model.index(self.model.row_of(key))
        chosen = index == self.view.currentIndex()
        use = menu.addAction(tr("&Use this style"), lambda: self.chosen.emit(key))
        use.setEnabled(not chosen)
        words = tr("Stop &mixing") if index.data(SHARE) is not None else tr("&Mix with this style")
        mix = menu.addAction(words, lambda: self.mixed.emit(key))
        reason = self.mix_reason(key)
        mix.setEnabled((not chosen and not reason) or index.data(SHARE) is not None)
        mix.setToolTip(reason or tr("Mix this style in, or take it out of the mix (Shift-click)"))
        menu.addSeparator()
        for entry in self.entries(key):
            action = menu.addAction(entry.title, entry.act)
            # For display only: the window's own action owns the key and acts on the chosen style.
            action.setShortcut(entry.keys)
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.setShortcutVisibleInContextMenu(True)
            action.setEnabled(not entry.reason)
            action.setToolTip(entry.reason or entry.tip)
        return menu

    def additions_menu(self) -> QMenu:
        """Return the context menu outside the styles; it deletes itself when closed."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        menu.addActions(list(self.additions))
        return menu

    def _pop_up(self, place: QPoint) -> None:
        index = self.view.indexAt(place)
        menu = self.context_menu(str(index.data(KEY))) if index.isValid() else self.additions_menu()
        menu.popup(self.view.viewport().mapToGlobal(place))

    @property
    def keys(self) -> list[str]:
        return [self.key_at(row) for row in range(self.model.rowCount())]

    def keys_in_view(self) -> list[str]:
        """Return the keys of the styles visible without scrolling, in order."""
        area = self.view.viewport().rect()
        rows = range(self.model.rowCount())
        seen = [r for r in rows if area.intersects(self.view.visualRect(self.model.index(r)))]
        return [self.key_at(row) for row in seen]

    def key_at(self, row: int) -> str:
        """Return the key of the style in `row`; "" if there is none."""
        index = self.model.index(row)
        return str(index.data(KEY)) if index.isValid() else ""

    def neighbor(self, step: int) -> str:
        """Return the key of the style `step` rows further, wrapping around; "" without styles."""
        count = self.model.rowCount()
        return self.key_at((self.view.currentIndex().row() + step) % count) if count else ""

    def _current_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        if current.isValid() and not self._updating:
            self.chosen.emit(str(current.data(KEY)))
