"""Shows the strip while several pictures are open, and follows the picture and its style."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QWidget

from app.engine.config import EngineConfig
from app.frame import SourceInfo
from app.live.session import Session, Spec
from app.sources import strip_of
from app.ui.film_strip.painter import StripPainter
from app.ui.film_strip.strip import TIP, FilmStrip
from app.ui.film_strip.thumbnails import Pixels, StripThumbnails
from utils.translation.texts import tr

SETTLED_MS = 400  # delay after a change of the config before thumbnails are styled again


class Painter(Protocol):
    """Styles thumbnails, see StripPainter."""

    def look(self, config: EngineConfig) -> Hashable: ...

    def paint(self, config: EngineConfig, pixels: Pixels) -> Pixels:
        """Style a thumbnail; called on another thread."""
        ...


class FilmStripController(QObject):
    """Connects the strip and the session.

    Args:
        painter: Styles the thumbnails; None creates one with its own engine.
    """

    def __init__(self, session: Session, parent: QWidget, painter: Painter | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.painter: Painter = painter or StripPainter(session.catalog)
        self.thumbnails = StripThumbnails(session.run, self)
        self.strip = FilmStrip(self.thumbnails, parent)
        self._spec: Spec = ""  # the source of the listed pictures
        self._wanted, self._count = True, 0
        self._settled = QTimer(self, interval=SETTLED_MS, singleShot=True)
        self._settled.timeout.connect(self._follow_look)
        self.strip.picked.connect(lambda row: session.seek(float(row)))
        self.thumbnails.failed.connect(self._on_failed)
        session.source_changed.connect(self._on_source_changed)
        session.position_changed.connect(lambda position: self.strip.show_position(int(position)))
        session.config_changed.connect(lambda _: self._settled.start())

    def set_wanted(self, wanted: bool) -> None:
        """Show the strip whenever several pictures are open, or never."""
        self._wanted = wanted
        self._update()

    def close(self) -> None:
        self._settled.stop()
        self.thumbnails.close()

    def _on_source_changed(self, info: SourceInfo | None) -> None:
        if info is None or info.count < 2:
            self._spec, self._count = "", 0
            self._update()
        elif self._session.spec != self._spec:
            self._spec = self._session.spec
            self._list(self._spec, info.count)

    def _list(self, spec: Spec, count: int) -> None:
        def done(paths: tuple[Path, ...]) -> None:
            # If files appeared or vanished meanwhile, the rows would not match the source.
            if spec == self._spec and len(paths) == count:
                self._count = count
                self.strip.show_pictures(paths)
                self.strip.show_position(int(self._session.position))
                self._follow_look()
                self._update()

        self._session.run(lambda: strip_of(spec), done, failure="Could not list the pictures")

    def _follow_look(self) -> None:
        config, painter = self._session.config, self.painter
        self.strip.view.setToolTip(tr(TIP))
        self.thumbnails.set_look(painter.look(config), lambda pixels: painter.paint(config, pixels))
        self.strip.refresh()

    def _on_failed(self, reason: str) -> None:
        self.strip.view.setToolTip(
            tr("{tip}. StyleForge does not style them: {reason}", tip=tr(TIP), reason=reason)
        )

    def _update(self) -> None:
        self.strip.setVisible(self._wanted and self._count > 1)
