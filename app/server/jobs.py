"""The server's jobs: a queue in its own folder, with the pictures to style.

A job is a run of `stylize`, so `styleforge queue` can list and run a server's jobs too.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path

import platformdirs

from app.batch.queue.job import JobState, QueuedJob, QueueError
from app.batch.queue.job_queue import APP_NAME, JobQueue
from app.errors import StyleForgeError
from app.server.line import Line, Place
from app.server.look import Look, look_of_words
from app.server.painting import Painter, Stopped
from app.server.refusal import Refused
from utils.images.opening import ImageError

UPLOAD = "upload"  # name of a picture's file, which error messages show
RESULT = "styled"
MOST_KEPT = 64  # ended jobs; older ones are removed with their results
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Files:
    source: Path
    target: Path

    @classmethod
    def of(cls, job: QueuedJob) -> _Files:
        words = job.arguments
        outputs = [w.partition("=")[2] for w in words if w.startswith("--output=")]
        if len(outputs) != 1 or words[-2:-1] != ("--",):
            raise QueueError(f"job {job.number} was not added by a server")
        return cls(Path(words[-1]), Path(outputs[0]))


class Jobs:
    """The jobs, and their turns in the line before the engine; `root` need not exist."""

    def __init__(self, root: Path, painter: Painter, line: Line) -> None:
        self._queue, self._pictures = JobQueue(root), root / "pictures"
        self._painter, self._line = painter, line
        self._lock = threading.Lock()  # for the two attributes below
        self._turns: dict[int, Future[None]] = {}
        self._cancelled: set[int] = set()

    @staticmethod
    def default_folder() -> Path:
        return platformdirs.user_data_path(APP_NAME, appauthor=False) / "serve"

    def new_folder(self) -> Path:
        self._pictures.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=self._pictures))

    def add(self, folder: Path, look: Look, place: Place) -> QueuedJob:
        """Add a job for UPLOAD in a folder from `new_folder`. Raises Refused while stopping."""
        target = folder / f"{RESULT}.{look.format}"
        words = [*look.words, "--overwrite", f"--output={target}", "--", str(folder / UPLOAD)]
        job = self._queue.add(words)
        try:
            self._take_turn(job, place)
        except Refused:
            self._queue.remove(job.number)
            raise
        ended = [each for each in self.all() if each.state in (JobState.DONE, JobState.FAILED)]
        for each in ended[:-MOST_KEPT]:
            self.remove(each.number)
        return job

    def resume(self) -> int:
        """Put the jobs of an earlier process into the line; return how many there are."""
        left = [job for job in self.all() if job.state is JobState.WAITING]
        for job in left:
            self._take_turn(job, self._line.place(always=True))
        return len(left)

    def all(self) -> list[QueuedJob]:
        """Return the jobs in their order; interrupted ones count as waiting."""
        return [self._now(job) for job in self._queue.jobs()[0]]

    def get(self, number: int) -> QueuedJob:
        """Look up a job.

        Raises:
            QueueError: If the job does not exist.
        """
        return self._now(self._queue.get(number))

    def result(self, job: QueuedJob) -> Path:
        """Return the result file of a finished job.

        Raises:
            QueueError: If the job does not belong to a server.
        """
        return _Files.of(job).target

    def cancel(self, number: int) -> bool:
        """Remove a job, done or not, with its files; return False if it is being styled.

        It is then removed at the end.

        Raises:
            QueueError: If there is none, or another process runs it.
        """
        self._queue.get(number)
        with self._lock:
            turn = self._turns.get(number)
            if turn is not None and not turn.cancel() and not turn.done():
                self._cancelled.add(number)
                return False
            self._turns.pop(number, None)
        self.remove(number)
        return True

    def remove(self, number: int) -> None:
        """Remove a job that is not being styled, with its files.

        Raises:
            QueueError: If there is none, or it cannot be removed.
        """
        job = self._queue.get(number)
        self._queue.remove(number)
        folder = _Files.of(job).target.parent
        if folder.parent == self._pictures:  # never another folder, whatever the file says
            shutil.rmtree(folder, ignore_errors=True)

    def _take_turn(self, job: QueuedJob, place: Place) -> None:
        with self._lock:
            turn = place.put(lambda: self._run(job.number))
            self._turns[job.number] = turn
        turn.add_done_callback(_tell_fault)

    def _run(self, number: int) -> None:
        try:
            with self._queue.take(number) as job:
                if job is not None:
                    self._paint(job)
        finally:
            with self._lock:
                del self._turns[number]
                cancelled = number in self._cancelled
                self._cancelled.discard(number)
        if cancelled:
            self.remove(number)

    def _paint(self, job: QueuedJob) -> None:
        def stop() -> bool:
            return self._line.is_closing or job.number in self._cancelled

        try:
            files = _Files.of(job)
            look = look_of_words(job.arguments, files.target.suffix)
            self._painter.paint(files.source, files.target, look, stop)
        except Stopped:
            self._queue.put_back(job)
        except (StyleForgeError, ImageError, OSError) as exc:
            self._queue.finish(job, str(exc))
        else:
            self._queue.finish(job)
            files.source.unlink(missing_ok=True)

    def _now(self, job: QueuedJob) -> QueuedJob:
        interrupted = job.state is JobState.RUNNING and not self._queue.is_running(job)
        return replace(job, state=JobState.WAITING) if interrupted else job


def _tell_fault(turn: Future[None]) -> None:
    """Log an unexpected fault, which ends only its own job."""
    if not turn.cancelled() and (fault := turn.exception()) is not None:
        log.error("a job ended unexpectedly", exc_info=fault)
