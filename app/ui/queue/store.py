"""Reads and changes the queue's files in the background, one change at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.background_jobs import Jobs
from app.batch.queue.job_queue import JobQueue
from app.batch.queue.overview import JobView, Overview
from app.errors import Problem
from utils.translation.texts import mark, tr

# For the current change when the program ends; each file is written completely or not at all.
CLOSE_S = 5.0
COUNT_S = 0.5  # for the files of a waiting folder
DAMAGED_ADVICE = mark("The other jobs run. Delete this file, and add its pictures or films again.")


@dataclass(frozen=True, slots=True)
class _Change:
    work: Callable[[JobQueue], Any]
    done: Callable[[Any], object]
    failed: Callable[[], object]
    failure: str
    writes: bool


def _nothing(*_: object) -> None:
    pass


_READ = _Change(_nothing, _nothing, _nothing, failure="Could not read the queue", writes=False)


class QueueStore(QObject):
    """Runs changes in the order of their requests, one at a time; reads the queue after each.

    `read(views)` carries all jobs, `problem(Problem)` a failure or damage.
    """

    read = Signal(object)  # list[JobView]
    problem = Signal(object)

    def __init__(self, queue: JobQueue, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.queue = queue
        self._overview = Overview(queue, COUNT_S)
        self._jobs = Jobs(self)
        self._coming: deque[_Change] = deque()
        self._under_way: _Change | None = None
        self._told: set[str] = set()  # damaged files already reported

    @property
    def busy(self) -> bool:
        return self._under_way is not None

    @property
    def changing(self) -> bool:
        under_way = () if self._under_way is None else (self._under_way,)
        return any(change.writes for change in (*under_way, *self._coming))

    def refresh(self) -> None:
        """Read the queue, unless a read is pending anyway."""
        if not self.busy:
            self._add(_READ)

    def change(
        self,
        work: Callable[[JobQueue], Any],
        done: Callable[[Any], object] = lambda result: None,
        failed: Callable[[], object] = lambda: None,
        *,
        failure: str,
    ) -> None:
        """Change the queue.

        Args:
            work: Called on another thread.
            done: Called with its result on the GUI thread, after the jobs have been read.
            failed: Called instead, after the problem is reported.
            failure: Begins the problem that is reported if `work` raises.
        """
        self._add(_Change(work, done, failed, failure, writes=True))

    def close(self) -> None:
        """Complete the current change, and start no other."""
        self._coming.clear()
        self._jobs.close(CLOSE_S)

    def _add(self, change: _Change) -> None:
        self._coming.append(change)
        if not self.busy:
            self._begin()

    def _begin(self) -> None:
        change = self._under_way = self._coming.popleft()

        def work() -> tuple[Any, list[JobView], list[str]]:
            result = change.work(self.queue)
            return result, *self._overview.read()

        def done(made: tuple[Any, list[JobView], list[str]]) -> None:
            result, views, damaged = made
            self._end()
            for sentence in damaged:
                if sentence not in self._told:
                    self._told.add(sentence)
                    said = tr("The queue: {fault}", fault=sentence)
                    self.problem.emit(Problem(said, advice=tr(DAMAGED_ADVICE)))
            self.read.emit(views)
            change.done(result)

        def failed(exc: Exception) -> None:
            self._end()
            self.problem.emit(Problem.of(exc, failure=change.failure))
            change.failed()

        self._jobs.run(work, done, failed)

    def _end(self) -> None:
        self._under_way = None
        if self._coming:
            self._begin()
