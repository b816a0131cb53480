"""Shows over the picture what is loading: the program, a source, or a style."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

from app.live.session import Session
from app.ui.startup_view import STARTING_TEXT
from app.ui.viewport.viewport import Viewport

LOADING_DELAY_MS = 200  # shown if loading a style takes longer


class LoadingMessage(QObject):
    """Writes on `viewport`; `words` returns the label of the chosen style."""

    def __init__(self, session: Session, viewport: Viewport, words: Callable[[], str]) -> None:
        super().__init__(viewport)
        self._session, self._viewport, self._style_label = session, viewport, words
        self._opening = STARTING_TEXT  # until a source is opened
        self._delay = QTimer(self, interval=LOADING_DELAY_MS, singleShot=True)
        self._delay.timeout.connect(self.show_now)
        session.opening_changed.connect(self._on_opening_changed)
        viewport.show_waiting(STARTING_TEXT)

    def start(self) -> None:
        """A result of another config is due; show a message if it takes long."""
        self._delay.start()

    def stop(self) -> None:
        """A result has arrived; a source may still be opening."""
        self._delay.stop()
        if self._opening == STARTING_TEXT:
            self._opening = ""
        self._viewport.show_waiting(self._opening)

    def show_now(self) -> None:
        """Show at once what is loading, if a source is open."""
        if self._session.info is None:
            return
        shown = self._viewport.styled
        same_style = shown is not None and shown.config.style == self._session.config.style
        waiting = "Applying..." if same_style else f"Loading {self._style_label()}..."
        self._viewport.show_waiting(self._opening or waiting)

    def _on_opening_changed(self, text: str) -> None:
        self._opening = text
        self._viewport.show_waiting(text)
