"""Shows over the picture what is loading, or that a still picture is being refined."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

from app.live.session import Session
from app.ui.startup_view import STARTING_TEXT
from app.ui.viewport.viewport import Viewport
from utils.translation.texts import tr

LOADING_DELAY_MS = 200  # a message appears if loading takes longer
REFINING_MS = 250  # a message appears if refining takes longer


class LoadingMessage(QObject):
    """Shows messages on `viewport`; `words` returns the label of the chosen style."""

    def __init__(self, session: Session, viewport: Viewport, words: Callable[[], str]) -> None:
        super().__init__(viewport)
        self._session, self._viewport, self._style_label = session, viewport, words
        self._opening = tr(STARTING_TEXT)  # until a source is opened
        self._delay = QTimer(self, interval=LOADING_DELAY_MS, singleShot=True)
        self._delay.timeout.connect(self.show_now)
        self._refining = ""
        self._refining_delay = QTimer(self, interval=REFINING_MS)
        self._refining_delay.timeout.connect(self._show_refining)
        session.refining.connect(self._on_refining)
        session.opening_changed.connect(self._on_opening_changed)
        viewport.show_waiting(tr(STARTING_TEXT))

    def start(self) -> None:
        """Expect a result of another config; show a message if it takes long."""
        self._delay.start()

    def stop(self) -> None:
        """Note that a result has arrived; a source may still be opening."""
        self._delay.stop()
        if self._opening == tr(STARTING_TEXT):
            self._opening = ""
        self._viewport.show_waiting(self._opening or self._refining)

    def show_now(self) -> None:
        if self._session.info is None:
            return
        shown = self._viewport.styled
        same_style = shown is not None and shown.config.style == self._session.config.style
        waiting = (
            tr("Applying...") if same_style else tr("Loading {style}...", style=self._style_label())
        )
        self._viewport.show_waiting(self._opening or waiting)

    def _on_opening_changed(self, text: str) -> None:
        self._opening = text
        self._viewport.show_waiting(text)

    def _on_refining(self, begun: bool) -> None:
        if begun:
            self._refining_delay.start()
            return
        self._refining_delay.stop()
        shown = self._refining
        self._refining = ""
        if shown:
            self.stop()

    def _show_refining(self) -> None:
        self._refining = tr("Refining...")
        if not (self._opening or self._delay.isActive()):
            self._viewport.show_waiting(self._refining)
