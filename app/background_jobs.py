"""Runs one-shot jobs on background threads and delivers their results on the GUI thread."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from PySide6.QtCore import QObject, Signal, Slot

from app.errors import format_details
from utils.leaving import BackgroundThread

log = logging.getLogger(__name__)
T = TypeVar("T")
_Work = tuple[int, Callable[[], Any]]  # job number, function


class RunJob(Protocol):
    """Signature of `Session.run`: `done` gets the result of `work` on the GUI thread.

    An exception becomes a problem that begins with `failure`, as in "Could not read a.png".
    """

    def __call__(
        self, work: Callable[[], Any], done: Callable[[Any], None], *, failure: str
    ) -> None: ...


class Jobs(QObject):
    """A pool of daemon threads, so that a hanging driver cannot keep the program alive.

    Callbacks run on the thread that owns this object, and none runs after `close()`. Idle threads
    are reused, because starting a thread on a busy machine takes long.
    """

    _finished = Signal(int, object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._callbacks: dict[int, tuple[Callable[[Any], None], Callable[[Exception], None]]] = {}
        self._writing: set[int] = set()  # numbers of jobs that write the user's files
        self._threads: list[BackgroundThread] = []
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)  # counts the idle threads
        self._next = 0
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._finished.connect(self._deliver)
        # If this object is deleted without `close`, for instance with its window, its threads still
        # end.
        self.destroyed.connect(partial(_end, self._lock, self._closed, self._work, self._threads))

    @property
    def writing(self) -> bool:
        """Whether a job that writes one of the user's files is running."""
        return bool(self._writing)

    def run(
        self,
        work: Callable[[], T],
        done: Callable[[T], None],
        failed: Callable[[Exception], None],
        *,
        writes: bool = False,
    ) -> None:
        """Run `work` on a background thread, see `writing`; `failed` gets the exception raised."""
        self._next += 1
        key = self._next
        self._callbacks[key] = (done, failed)
        if writes:
            self._writing.add(key)

        self._work.put((key, work))
        if not self._idle.acquire(blocking=False):
            name = f"jobs-{len(self._threads) + 1}"
            self._threads.append(BackgroundThread(self._run_jobs, name))
            self._threads[-1].start()

    def _run_jobs(self) -> None:
        while (item := self._work.get()) is not None:
            self._run_job(*item)
            del item  # its result may be large
            self._idle.release()

    def _run_job(self, key: int, work: Callable[[], Any]) -> None:
        try:
            outcome, fault = work(), None
        except Exception as exc:  # becomes a Problem in `failed`
            log.debug("job failed", exc_info=True)
            outcome, fault = None, exc
            format_details(exc)  # on this thread: formatting reads source files
        with self._lock:  # signals of a closed window cannot be emitted
            if not self._closed.is_set():
                self._finished.emit(key, outcome, fault)

    @Slot(int, object, object)
    def _deliver(self, key: int, outcome: object, fault: Exception | None) -> None:
        self._writing.discard(key)
        callbacks = self._callbacks.pop(key, None)
        if callbacks is None:
            return
        done, failed = callbacks
        if fault is None:
            done(outcome)
        else:
            failed(fault)

    def close(self, timeout: float = 1.0) -> bool:
        """Stop delivering results; return whether all jobs end within `timeout` seconds."""
        _end(self._lock, self._closed, self._work, self._threads)
        self._callbacks.clear()
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)


def _end(
    lock: threading.Lock,
    closed: threading.Event,
    work: queue.SimpleQueue[_Work | None],
    threads: Sequence[threading.Thread],
    *_: object,
) -> None:
    with lock:
        closed.set()
    for _thread in threads:
        work.put(None)
