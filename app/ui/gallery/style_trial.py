"""Tries a style on the large picture while the pointer rests on its card, or by keys."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QModelIndex, QObject, Qt, QTimer
from PySide6.QtGui import QCursor, QGuiApplication, QKeyEvent, QMouseEvent

from app.live.session import Session
from app.ui.gallery.style_gallery import StyleGallery
from app.ui.widgets.style_list import KEY
from utils.translation.texts import tr

DELAY_MS = 250  # time the pointer rests on a card before its style is tried
_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class StyleTrial(QObject):
    """Shows a style of `gallery` on the picture without choosing it.

    The chosen style returns when the pointer leaves the card, the focus leaves the cards, or
    `stop` is called. A card that appears or scrolls under a resting pointer is not tried.

    Args:
        on_hover: Returns whether resting the pointer on a card tries its style.
        show_title: Shows a title over the picture; "" restores the title of the choice.
    """

    def __init__(
        self,
        session: Session,
        gallery: StyleGallery,
        on_hover: Callable[[], bool],
        choose: Callable[[str], object],
        show_title: Callable[[str], object],
    ) -> None:
        super().__init__(gallery)
        self._session, self._gallery, self._on_hover = session, gallery, on_hover
        self._choose, self._show_title = choose, show_title
        self._hovered = ""
        self._pointer = QCursor.pos()
        self._rested = QTimer(self, interval=DELAY_MS, singleShot=True)
        self._rested.timeout.connect(self._try_hovered)
        session.tried_changed.connect(self._show)
        gallery.view.entered.connect(self._stop_other)
        gallery.view.installEventFilter(self)
        gallery.view.viewport().installEventFilter(self)

    @property
    def key(self) -> str:
        return self._session.choice.tried

    def stop(self) -> None:
        self._rested.stop()
        self._session.choice.try_style("")

    def step(self, count: int) -> None:
        """Try the style `count` cards on; reaching the chosen style ends the trial."""
        keys = self._gallery.keys
        chosen = self._session.config.style
        at = self.key or chosen
        if not keys:
            return
        key = keys[(keys.index(at) + count) % len(keys)] if at in keys else keys[0]
        self._gallery.view.setFocus()
        if key == chosen:
            self.stop()
        elif reason := self._session.trial_refusal(key):
            self._session.notice.emit(reason)
        else:
            self._session.choice.try_style(key)
            self._gallery.scroll_to(key)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind in (QEvent.Type.Leave, QEvent.Type.FocusOut, QEvent.Type.Hide):
            self._leave()
        elif kind == QEvent.Type.Show:
            self._pointer = QCursor.pos()
        elif kind == QEvent.Type.MouseMove and isinstance(event, QMouseEvent):
            self._pointer_moved(event)
        elif kind == QEvent.Type.MouseButtonPress:
            self._rested.stop()
        elif kind == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            return self._key_pressed(event)
        return False

    def _key_pressed(self, event: QKeyEvent) -> bool:
        control = event.modifiers() == Qt.KeyboardModifier.ControlModifier
        if control and event.key() in _STEPS:
            self.step(_STEPS[Qt.Key(event.key())])
            return True
        if self.key and event.key() in _ENTER:
            self._choose(self.key)
            return True
        return False

    def _pointer_moved(self, event: QMouseEvent) -> None:
        """Start the delay on the card that the pointer moved onto."""
        pointer = event.globalPosition().toPoint()
        if pointer == self._pointer:  # Qt sends a move when a widget appears under the pointer
            return
        self._pointer = pointer
        index = self._gallery.view.indexAt(event.position().toPoint())
        if not index.isValid():
            self._leave()
        elif (key := str(index.data(KEY))) != self._hovered:
            self._hovered = key
            self._stop_other(index)
            pressed = QGuiApplication.mouseButtons() != Qt.MouseButton.NoButton
            if self._on_hover() and not pressed:
                self._rested.start()

    def _stop_other(self, index: QModelIndex) -> None:
        """End the trial of another card than the one under the pointer."""
        if self.key and self.key != str(index.data(KEY)):
            self.stop()

    def _leave(self) -> None:
        self._hovered = ""
        self.stop()

    def _try_hovered(self) -> None:
        key = self._hovered
        if key != self._session.config.style and not self._session.trial_refusal(key):
            self._session.choice.try_style(key)

    def _show(self, key: str) -> None:
        self._gallery.model.set_tried(key)
        row = self._gallery.model.row_of(key)
        title = self._gallery.model.index(row).data() if row >= 0 else ""
        self._show_title(tr("Trying {title}", title=title) if title else "")
