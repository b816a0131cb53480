"""The palette: a field and the entries found, over the darkened window."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QModelIndex, QObject, QRect, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QColor,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QLabel,
    QLineEdit,
    QListView,
    QVBoxLayout,
    QWidget,
)

from app.ui.layouts import described, fill
from app.ui.palette.entry import Entry
from app.ui.palette.rows import ENTRY, EntryDelegate, EntryModel
from app.ui.palette.search import Index, ranked
from app.ui.theme.tokens import SPACE
from utils.translation.texts import tr

_SHADE = QColor(0, 0, 0, 128)
_WIDEST = 600  # px
_TOP = 110  # px from the top of the window, or a tenth of its height in a low one
_MOST = 8  # rows shown at once
_STEPS = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: _MOST - 1}
_STEPS[Qt.Key.Key_PageUp] = 1 - _MOST
_ENTERS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class Palette(QWidget):
    """Covers `parent` while it is open; the focus returns where it was when it closes.

    `chosen(Entry)` is emitted after closing.

    Attributes:
        field: Gets the words.
        list: Shows the entries found; the current one runs with Return.
    """

    chosen = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._over = parent
        self._entries: Sequence[Entry] = ()
        self._recent: Sequence[str] = ()
        self._index = Index(())
        self._before: QWidget | None = None  # had the focus
        self._model = EntryModel()
        self.setObjectName("palette")
        self.setAccessibleName(tr("Command palette"))
        self._card = QFrame(self)
        self._card.setObjectName("paletteCard")
        self.field = described(
            QLineEdit(self._card),
            tr("Search everything"),
            tr("Find actions, styles, settings and answers by words; Return runs the chosen one"),
        )
        self.field.setPlaceholderText(tr("Search actions, styles, settings and answers"))
        self.list = described(
            QListView(self._card),
            tr("Found"),
            tr("Choose with the arrow keys; Return or a click runs it"),
        )
        self._nothing = QLabel(tr("Nothing has these words"), self._card)
        self._nothing.setProperty("role", "muted")
        self._nothing.setContentsMargins(22, SPACE, 22, SPACE)
        self._set_up_list()
        line = QFrame(self._card)
        line.setObjectName("paletteLine")
        line.setFixedHeight(1)
        parts = (self.field, line, SPACE, (self.list, 1), self._nothing, SPACE)
        fill(QVBoxLayout(self._card), *parts, margins=(0, 0, 0, 0), spacing=0)
        self.field.textChanged.connect(self._search)
        for part in (self.field, self.list, parent):
            part.installEventFilter(self)
        self.hide()

    def _set_up_list(self) -> None:
        self.list.setModel(self._model)
        self.list.setItemDelegate(EntryDelegate(self.list))
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.list.entered.connect(self.list.setCurrentIndex)
        self.list.clicked.connect(self._run)
        self.list.selectionModel().currentChanged.connect(self._tell)

    # Opening and closing

    def open(self, entries: Sequence[Entry], recent: Sequence[str]) -> None:
        """Show all entries, those with the keys in `recent` first, and focus the field."""
        self._entries, self._recent = entries, recent
        self._index = Index((entry.title, f"{entry.more} {entry.kind}") for entry in entries)
        self._before = QApplication.focusWidget()
        self.field.clear()
        self.setGeometry(self._over.rect())
        self.raise_()
        self.show()
        self._search()
        self.field.setFocus(Qt.FocusReason.PopupFocusReason)
        _application().focusChanged.connect(self._follow_focus)

    def close_up(self) -> None:
        """Hide the palette, and return the focus unless another control has it."""
        if self.isHidden():
            return
        _application().focusChanged.disconnect(self._follow_focus)
        inside = self.isAncestorOf(self.window().focusWidget() or self.window())
        self.hide()
        before, self._before = self._before, None
        if inside and before is not None and before.isVisible():
            before.setFocus(Qt.FocusReason.PopupFocusReason)
        self._entries = ()

    def _follow_focus(self, _old: QWidget | None, new: QWidget | None) -> None:
        """Close when another control of the window gets the focus."""
        if new is not None and new.window() is self.window() and not self.isAncestorOf(new):
            self.close_up()

    # Searching and running

    def _search(self) -> None:
        query = self.field.text()
        found = ranked(self._entries, self._index, query, self._recent, lambda entry: entry.key)
        self._model.show_entries(found)
        self.list.setVisible(bool(found))
        self._nothing.setVisible(not found)
        self._place()
        self._go_to(0)

    def _go_to(self, row: int) -> None:
        last = self._model.rowCount() - 1
        if last >= 0:
            self.list.setCurrentIndex(self._model.index(max(0, min(row, last))))

    def _run(self, index: QModelIndex) -> None:
        entry = index.data(ENTRY)
        if isinstance(entry, Entry) and entry.enabled:
            self.close_up()
            self.chosen.emit(entry)

    def _tell(self, index: QModelIndex) -> None:
        """Tell screen readers the current entry, since the focus stays in the field."""
        if index.isValid() and self.isVisible():
            said = str(index.data(Qt.ItemDataRole.AccessibleTextRole))
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.list, said))

    # Keys, clicks and places

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the size of the window, and take the keys of the field and the list."""
        if watched is self._over:
            if event.type() == QEvent.Type.Resize and self.isVisible():
                self.setGeometry(self._over.rect())
                self._place()
            return False
        if not isinstance(event, QKeyEvent):
            return False
        key = Qt.Key(event.key())
        if event.type() == QEvent.Type.ShortcutOverride:
            # Otherwise the window would take them as shortcuts.
            if key in (*_STEPS, *_ENTERS, Qt.Key.Key_Escape):
                event.accept()
            return False
        return event.type() == QEvent.Type.KeyPress and self._takes(key)

    def _takes(self, key: Qt.Key) -> bool:
        """Run the command of a key, and return whether there is one."""
        if key in _STEPS:
            self._go_to(self.list.currentIndex().row() + _STEPS[key])
        elif key in _ENTERS:
            self._run(self.list.currentIndex())
        elif key == Qt.Key.Key_Escape:
            self.close_up()
        else:
            return False
        return True

    def focusNextPrevChild(self, next: bool) -> bool:
        """Keep the Tab key between the field and the list."""
        other = self.list if self.field.hasFocus() and self.list.isVisible() else self.field
        other.setFocus(Qt.FocusReason.TabFocusReason)
        return True

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Close at a click beside the card."""
        if not self._card.geometry().contains(event.position().toPoint()):
            self.close_up()

    def _place(self) -> None:
        """Place the card at the top middle, as high as its rows."""
        top = min(_TOP, self.height() // 10)
        rows = min(self._model.rowCount(), _MOST)
        room = self.height() - top - self.field.sizeHint().height() - 5 * SPACE
        self.list.setFixedHeight(min(rows * max(0, self.list.sizeHintForRow(0)), max(0, room)))
        layout = self._card.layout()
        assert layout is not None
        layout.activate()
        width = min(_WIDEST, self.width() - 4 * SPACE)
        height = self._card.sizeHint().height()
        self._card.setGeometry(QRect((self.width() - width) // 2, top, width, height))

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(event.rect(), _SHADE)


def _application() -> QApplication:
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    return application
