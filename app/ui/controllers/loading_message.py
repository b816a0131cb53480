"""Says over the picture what is waited for: the program, a source, a style that takes long."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

from app.live.session import Session
from app.ui.startup_view import STARTING
from app.ui.viewport.viewport import Viewport

PATIENCE_MS = 200  # a style that takes longer to load is announced


class LoadingMessage(QObject):
    """Writes on `viewport`; `words` says which style is chosen."""

    def __init__(self, session: Session, viewport: Viewport, words: Callable[[], str]) -> None:
        super().__init__(viewport)
        self._session, self._viewport, self._words = session, viewport, words
        self._opening = STARTING  # until something is opened
        self._patience = QTimer(self, interval=PATIENCE_MS, singleShot=True)
        self._patience.timeout.connect(self.announce)
        session.opening_changed.connect(self._follow_opening)
        viewport.say_waiting(STARTING)

    def begin(self) -> None:
        """A result of another config is due; announced if it takes long."""
        self._patience.start()

    def end(self) -> None:
        """A result is here; a source may still be opening."""
        self._patience.stop()
        if self._opening == STARTING:
            self._opening = ""
        self._viewport.say_waiting(self._opening)

    def announce(self) -> None:
        """Say at once what is waited for, if anything is open."""
        if self._session.info is None:
            return
        shown = self._viewport.styled
        same_style = shown is not None and shown.config.style == self._session.config.style
        waiting = "Applying..." if same_style else f"Loading {self._words()}..."
        self._viewport.say_waiting(self._opening or waiting)

    def _follow_opening(self, text: str) -> None:
        self._opening = text
        self._viewport.say_waiting(text)
