"""The window's requests for previews, as signals to the engine's thread and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal, Slot

from app.background_jobs import Jobs
from app.live.previews.painter import Preview
from app.live.style_jobs import StyleJobs
from app.styles.catalog import Catalog


class PreviewRequests(QObject):
    """Requests to the worker for previews; a style without a code gets one from a job first.

    No such job starts while a stream plays.
    """

    made = Signal(object)  # Preview
    wanted = Signal(object, int)  # for PreviewPainter.want

    def __init__(
        self,
        catalog: Catalog,
        jobs: Jobs,
        style_jobs: StyleJobs,
        stands_still: Callable[[], bool],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._catalog, self._jobs, self._style_jobs = catalog, jobs, style_jobs
        self._stands_still = stands_still
        self._styles: tuple[str, ...] = ()
        self._visible = 0
        self._sent: tuple[tuple[str, ...], int] = ((), 0)
        self._preparing = ""  # the style being prepared
        self._refused: set[str] = set()  # styles that cannot be prepared

    def want(self, styles: Sequence[str], visible: int) -> None:
        """Ask for previews in this order, with `visible` in view; `made` is emitted with each."""
        self._styles, self._visible = tuple(styles), visible
        self._send()

    def forget(self, style: str) -> None:
        """Try to prepare a style again, after its files were replaced or removed."""
        self._refused.discard(style)

    def _send(self) -> None:
        unprepared = self._style_jobs.unprepared(self._styles)
        ready = tuple(style for style in self._styles if style not in unprepared)
        visible = sum(style not in unprepared for style in self._styles[: self._visible])
        if (ready, visible) != self._sent:
            self._sent = ready, visible
            self.wanted.emit(ready, visible)
        left = [style for style in unprepared if style not in self._refused]
        if left and not self._preparing and self._stands_still():
            self._prepare(left[0])

    def _prepare(self, style: str) -> None:
        self._preparing = style

        def done(_: None) -> None:
            self._style_jobs.mark_prepared(style)
            ended()

        def failed(exc: Exception) -> None:
            self._refused.add(style)
            self.made.emit(Preview(style, None, str(exc)))
            ended()

        def ended() -> None:
            self._preparing = ""
            self._send()

        self._jobs.run(lambda: self._catalog.prepare(style), done, failed)

    @Slot(object)
    def take(self, preview: Preview) -> None:
        if preview.style in self._styles:
            self.made.emit(preview)
