"""Shows the strip while several pictures are open, and styles its thumbnails in their style."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np
from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.process_mode import ProcessMode
from app.frame import Frame, SourceInfo
from app.live.session import Session, Spec
from app.sources import strip_of
from app.styles.catalog import Catalog
from app.ui.film_strip.strip import TIP, FilmStrip
from app.ui.film_strip.thumbnails import SCALE, SIZE, Pixels, StripThumbnails
from utils.translation.texts import tr

SETTLED_MS = 400  # delay after a change of the config before thumbnails are styled again


def small_config(config: EngineConfig) -> EngineConfig:
    """Return the look of `config` on the processor: quick for small pictures, it frees the GPU."""
    return replace(
        config.unmatted(),
        size=SIZE.width() * SCALE,
        device="cpu",
        precision=EngineConfig().precision,
        kernels=EngineConfig().kernels,
        network="lite",
        smoothing=0.0,
        compare=False,
    )


class StripPainter:
    """Styles one thumbnail at a time, on the calling thread."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._engine: Engine | None = None

    def look(self, config: EngineConfig) -> Hashable:
        """Return the part of a config that affects thumbnails; equal for equal thumbnails."""
        return small_config(config)

    def paint(self, config: EngineConfig, pixels: Pixels) -> Pixels:
        """Style a thumbnail, [H, W, 3] uint8 RGB.

        Raises:
            StyleForgeError: If the style or the engine cannot be used.
        """
        engine = self._engine = self._engine or Engine(self._catalog)
        wanted = small_config(config)
        if engine.config != wanted:
            engine.configure(wanted)
        styled = engine.process_batch([Frame(pixels.copy())], ProcessMode.REFINE)[0]
        return np.ascontiguousarray(styled.frame.pixels)


class Painter(Protocol):
    """Styles thumbnails, see StripPainter."""

    def look(self, config: EngineConfig) -> Hashable: ...

    def paint(self, config: EngineConfig, pixels: Pixels) -> Pixels:
        """Style a thumbnail; called on another thread."""
        ...


class FilmStripController(QObject):
    """Connects the strip and the session.

    Args:
        paint_all: The window's action that paints all pictures, for a button on the strip.
        painter: Styles the thumbnails; None creates one with its own engine.
    """

    wanted_changed = Signal(bool)  # whether the strip should be shown

    def __init__(
        self,
        session: Session,
        parent: QWidget,
        paint_all: QAction,
        painter: Painter | None = None,
    ) -> None:
        super().__init__(parent)
        self._session = session
        self.painter: Painter = painter or StripPainter(session.catalog)
        self.thumbnails = StripThumbnails(session.run, self)
        self.strip = FilmStrip(self.thumbnails, paint_all, parent)
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
        self.wanted_changed.emit(self._wanted and self._count > 1)
