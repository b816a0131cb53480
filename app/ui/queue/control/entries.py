"""Moves, retries and removes entries of the queue, and opens their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from app.batch.queue.job_queue import JobQueue
from app.errors import Problem
from app.live.session import Session
from app.ui.queue.rows import Row, RowState
from app.ui.queue.store import QueueStore
from utils.text import printable
from utils.translation.texts import mark, tr

GONE_ADVICE = mark("It was moved or deleted; run the job again to make a new one.")
NO_PROGRAM_ADVICE = mark("Choose a program for such files in the system's settings.")


class QueueEntries:
    """Changes the selected rows."""

    def __init__(
        self,
        session: Session,
        store: QueueStore,
        rows: Callable[[], Sequence[Row]],
        chosen: Callable[[], list[Row]],
    ) -> None:
        self._session, self._store = session, store
        self._rows, self._chosen = rows, chosen

    def retry(self, done: Callable[[list[int]], object]) -> None:
        """Requeue the selected failed rows, or all failed rows if no selected row failed.

        `done` gets the numbers of other jobs that wait.
        """
        failed = [row for row in self._chosen() if row.state is RowState.FAILED]
        failed = failed or [row for row in self._rows() if row.state is RowState.FAILED]
        numbers = [row.number for row in failed]

        def work(queue: JobQueue) -> list[int]:
            known, _ = queue.jobs()
            waiting = queue.waiting(known)
            for number in numbers:
                queue.retry(number)
            return waiting

        self._store.change(work, done, failure="Could not queue the entries again")

    def move(self, numbers: Sequence[int], before: int | None) -> None:
        """Move jobs before the job number `before`, or to the end if None."""
        self._store.change(
            lambda queue: queue.arrange(numbers, before),
            failure="Could not change the order of the queue",
        )

    def shift(self, count: int) -> None:
        """Move the selected rows by `count` rows, up if negative."""
        order = [row.number for row in self._rows()]
        chosen = [row.number for row in self._chosen()]
        if not chosen:
            return
        others = [number for number in order if number not in chosen]
        ahead = order.index(chosen[0] if count < 0 else chosen[-1])
        place = ahead if count < 0 else ahead + 1 - len(chosen)
        place = min(len(others), max(0, place + count))
        self.move(chosen, others[place] if place < len(others) else None)

    def shift_to_end(self, *, first: bool) -> None:
        """Move the selected rows to the start, or to the end."""
        count = len(self._rows())
        self.shift(-count if first else count)

    def remove(self) -> None:
        self._remove([row.number for row in self._chosen()])

    def clear(self) -> None:
        """Remove every finished row."""
        self._remove([row.number for row in self._rows() if row.state.ended])

    def open_result(self, *, folder: bool) -> None:
        """Open the result of the one selected row, or the folder that contains it."""
        chosen = self._chosen()
        if len(chosen) != 1 or not chosen[0].result:
            return
        path = Path(chosen[0].result)
        self.open_path(path.parent if folder and not chosen[0].several else path)

    def open_path(self, where: Path) -> None:
        """Open a file or a folder in the system's program for it, or report why not."""
        name = printable(where.name)

        def opened(there: bool) -> None:
            if not there:
                said = tr("'{name}' no longer exists", name=name)
                self._session.problem.emit(Problem(said, advice=tr(GONE_ADVICE)))
            elif not QDesktopServices.openUrl(QUrl.fromLocalFile(str(where))):
                # The path, with which the user finds the files in another way.
                said = tr("No program opens '{name}'", name=printable(str(where)))
                self._session.problem.emit(Problem(said, advice=tr(NO_PROGRAM_ADVICE)))

        self._session.run(where.exists, opened, failure=tr("Could not open {name}", name=name))

    def _remove(self, numbers: Sequence[int]) -> None:
        def work(queue: JobQueue) -> None:
            for number in numbers:
                queue.remove(number)

        if numbers:
            self._store.change(work, failure="Could not remove entries from the queue")
