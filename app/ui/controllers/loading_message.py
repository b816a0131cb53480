"""Shows over the picture what is loading, or that a still picture is being refined.

A style that takes longer appears as its preview in the gallery, enlarged and softened, until its
first result is there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QObject, QTimer

from app.engine.post.blending import Pixels
from app.engine.result import StyledFrame
from app.live.session import Session
from app.ui.startup_view import STARTING_TEXT
from app.ui.viewport.viewport import Viewport
from utils.opencv import cv2
from utils.translation.texts import tr

STAND_IN_MS = 50  # a preview appears if a style takes longer
ENLARGED, SOFTNESS = 4, 3.0  # times a preview's sides, and the blur of that in pixels
LOADING_DELAY_MS = 200  # a message appears if loading takes longer
REFINING_MS = 250  # a message appears if refining takes longer


class LoadingMessage(QObject):
    """Shows messages on `viewport`; `words` returns the label of the chosen style.

    Attributes:
        preview: Returns the newest preview of the whole picture in a style, if there is one.
    """

    def __init__(self, session: Session, viewport: Viewport, words: Callable[[], str]) -> None:
        super().__init__(viewport)
        self.preview: Callable[[str], Pixels | None] = lambda _style: None
        self._session, self._viewport, self._style_label = session, viewport, words
        self._opening = tr(STARTING_TEXT)  # until a source is opened
        self._delay = QTimer(self, interval=LOADING_DELAY_MS, singleShot=True)
        self._delay.timeout.connect(self.show_now)
        self._stand_in_delay = QTimer(self, interval=STAND_IN_MS, singleShot=True)
        self._stand_in_delay.timeout.connect(self._show_stand_in)
        self._refining = ""
        self._share = 0.0
        self._refining_delay = QTimer(self, interval=REFINING_MS, singleShot=True)
        self._refining_delay.timeout.connect(self._show_refining)
        session.refining.connect(self._on_refining)
        session.problem.connect(lambda _problem: viewport.show_stand_in(None))
        session.opening_changed.connect(self._on_opening_changed)
        viewport.show_waiting(tr(STARTING_TEXT))

    def start(self) -> None:
        """Expect a result of another config; show a message if it takes long."""
        self._delay.start()
        self._stand_in_delay.start()

    def stop(self, styled: StyledFrame | None = None) -> None:
        """Note that a result has arrived; a source may still be opening."""
        if styled is not None and not self._is_wanted(styled):
            return  # the last result of the style before
        self._delay.stop()
        self._stand_in_delay.stop()
        self._viewport.show_stand_in(None)
        if self._opening == tr(STARTING_TEXT):
            self._opening = ""
        self._viewport.show_waiting(self._opening or self._refining)

    def show_now(self) -> None:
        if self._session.info is None:
            return
        shown = self._viewport.styled
        same_style = shown is not None and self._is_wanted(shown)
        waiting = (
            tr("Applying...") if same_style else tr("Loading {style}...", style=self._style_label())
        )
        self._viewport.show_waiting(self._opening or waiting)

    def _is_wanted(self, styled: StyledFrame) -> bool:
        """Return whether a result shows the chosen styles."""
        return styled.config.styles == self._session.config.styles

    def _show_stand_in(self) -> None:
        shown, config = self._viewport.styled, self._session.config
        if shown is None or self._is_wanted(shown) or len(config.styles) > 1:
            return
        pixels = self.preview(config.style)
        if pixels is not None:
            self._viewport.show_stand_in(_softened(pixels))
            self.show_now()

    def _on_opening_changed(self, text: str) -> None:
        self._opening = text
        self._viewport.show_waiting(text)

    def _on_refining(self, share: float | None) -> None:
        """Show the finished share of a picture being refined, 0 to 1; None ends it."""
        if share is not None:
            self._share = share
            if self._refining:
                self._show_refining()
            elif not self._refining_delay.isActive():
                self._refining_delay.start()
            return
        self._refining_delay.stop()
        shown = self._refining
        self._refining = ""
        if shown:
            self.stop()

    def _show_refining(self) -> None:
        percent = int(100 * self._share)  # 0 for networks whose shares are unknown
        self._refining = (
            tr("Refining... {percent} %", percent=percent) if percent else tr("Refining...")
        )
        if not (self._opening or self._delay.isActive()):
            self._viewport.show_waiting(self._refining)


def _softened(pixels: Pixels) -> Pixels:
    """Enlarge a preview, whose own pixels would look like a fault."""
    size = ENLARGED * pixels.shape[1], ENLARGED * pixels.shape[0]
    large = cv2.resize(pixels, size, interpolation=cv2.INTER_CUBIC)
    return np.asarray(cv2.GaussianBlur(large, (0, 0), SOFTNESS), np.uint8)
