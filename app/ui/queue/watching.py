"""Checks a folder every few seconds for new pictures to queue."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from app.batch.queue.job_queue import JobQueue
from app.batch.queue.watched_folder import WatchedFolder, not_queued
from app.ui.queue.look import Order
from app.ui.queue.store import QueueStore

INTERVAL_MS = 2000  # a picture is queued once unchanged for this long


class FolderWatch(QObject):
    """Watches one folder at a time, until it cannot be read.

    `added(count)` is emitted after jobs are added, `stopped()` after a fault is reported.
    """

    added = Signal(int)
    stopped = Signal()

    def __init__(
        self, store: QueueStore, order: Callable[[], Order], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._store, self._order = store, order
        self._folder: Path | None = None
        self._watched: WatchedFolder | None = None  # used by the store's thread
        self._looking = False
        self._timer = QTimer(self, interval=INTERVAL_MS)
        self._timer.timeout.connect(self._look)

    @property
    def folder(self) -> Path | None:
        return self._folder

    def watch(self, folder: Path | None) -> None:
        """Watch a folder, or stop watching if None."""
        if folder == self._folder:
            return
        self._folder = folder
        self._watched = None if folder is None else WatchedFolder(folder.absolute())
        self._looking = False
        if folder is None:
            self._timer.stop()
        else:
            self._timer.start()
            self._look()

    def _look(self) -> None:
        watched, order = self._watched, self._order()
        if watched is None or self._looking:
            return
        self._looking = True

        def work(queue: JobQueue) -> int:
            known, _ = queue.jobs()
            new = not_queued(watched.settled(), known)
            made, _ = order.jobs(new, known)
            return len(queue.add_all(made)) if made else 0

        def done(count: int) -> None:
            self._looking = False
            if count:
                self.added.emit(count)

        def failed() -> None:
            if watched is self._watched:
                self.watch(None)
                self.stopped.emit()

        self._store.change(work, done, failed, failure="Could not watch the folder")
