"""Work for a GPU that a thread submits piece by piece, in order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from utils.leaving import BackgroundThread

T = TypeVar("T")


class Background:
    """The pictures that threads submit. Each waits for the one before. Threads may share it."""

    def __init__(self) -> None:
        self._newest: Future[Any] | None = None
        self._lock = threading.Lock()

    def begin(self, work: Callable[[], T]) -> Future[T]:
        """Call `work` on a thread once all earlier work has ended, perhaps with errors."""
        future: Future[T] = Future()
        with self._lock:
            before, self._newest = self._newest, future

        def run() -> None:
            if before is not None:
                wait([before])
            try:
                future.set_result(work())
            except Exception as error:  # noqa: BLE001  (the caller of `result` gets it)
                future.set_exception(error)

        BackgroundThread(run, "pieces").start()
        return future

    def wait(self) -> None:
        """Wait until all work begun so far has ended, perhaps with errors."""
        with self._lock:
            newest = self._newest
        if newest is not None:
            wait([newest])
