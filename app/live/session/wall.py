"""Paintings of the source in several styles, in place of the stream."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal, Slot

from app.background_jobs import Jobs
from app.live.previews.painter import Preview
from app.live.previews.requests import PreviewRequests
from app.live.previews.tiles import UNPAINTED
from app.live.style_jobs import StyleJobs
from app.live.worker import Worker
from app.styles.catalog import Catalog


class Wall(QObject):
    """The session's wall. While it is shown, the source is read, but the stream is not styled."""

    painted = Signal(object)  # Preview of a tile; style UNPAINTED for the softened picture
    ended = Signal()  # something else needs the stream

    def __init__(
        self,
        catalog: Catalog,
        jobs: Jobs,
        style_jobs: StyleJobs,
        worker: Worker,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._worker = worker
        self._requests = PreviewRequests(catalog, jobs, style_jobs, lambda: True, self)
        self._requests.wanted.connect(self._send)
        self._requests.made.connect(self.painted)
        worker.tiled.connect(self._take)
        self._ready: tuple[str, ...] = ()  # the styles sent to the worker
        self._size = (1, 1)
        self._shown = False

    @property
    def shown(self) -> bool:
        return self._shown

    def show(self, styles: Sequence[str], width: int, height: int) -> None:
        """Paint the source in these styles, by key and in this order, instead of the stream.

        Args:
            width: The width of a painting, in pixels of the screen.
            height: The height of a painting.
        """
        changed = (width, height) != self._size
        self._size = width, height
        if not self._shown:
            self._shown = True
            self._rest(True)
        self._requests.want(styles, len(styles))
        if changed:
            self._send(self._ready, 0)

    def hide(self) -> None:
        """Style the stream again."""
        if self._shown:
            self._shown = False
            self._requests.want((), 0)
            self._rest(False)

    def end(self) -> None:
        """Style the stream again, for something else that needs it."""
        if self._shown:
            self.hide()
            self.ended.emit()

    def forget(self, style: str) -> None:
        """Try to prepare a style again, after its files were replaced or removed."""
        self._requests.forget(style)

    def _rest(self, on: bool) -> None:
        self._worker.loop.interrupted.set()
        self._worker.post(self._worker.loop.rest, on)

    @Slot(object, int)
    def _send(self, ready: tuple[str, ...], _visible: int) -> None:
        self._ready = ready
        self._worker.post(self._worker.want_tiles, ready, *self._size)

    @Slot(object)
    def _take(self, preview: Preview) -> None:
        if not self._shown:
            return
        if preview.style == UNPAINTED:
            self.painted.emit(preview)
        else:
            self._requests.take(preview)
