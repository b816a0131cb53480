"""The queue: a folder with a file for each job, which outlives the processes that use it.

Any number of processes may add and run jobs at once. Who runs a job holds a lock that the system
releases with the process, so a job whose process died is found, and goes on where it was.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import platformdirs

from app.batch.description import inputs_of
from app.batch.job import JobState, QueuedJob, QueueError, read_job, stamp_of
from utils.files import small_json
from utils.files.atomic import atomic_write, remove_leftovers
from utils.files.locks import LockedError, locked
from utils.text import printable

APP_NAME = "styleforge"
MOST_ATTEMPTS = 3  # of processes that die with a job, before it counts as failed
PATIENCE_S = 30.0  # for another process that adds a job
GLANCE_S = 0.2  # for one that only looks whether a job is running
MAX_ORDER_BYTES = 64 << 20  # of the file with the order: some million numbers
DIED = f"its process ended {MOST_ATTEMPTS} times before the job did, perhaps because memory ran out"


class JobQueue:
    """The jobs in the folder `root`, which may not exist yet."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @classmethod
    def default(cls) -> JobQueue:
        """This user's queue."""
        return cls(platformdirs.user_data_path(APP_NAME, appauthor=False) / "queue")

    @property
    def root(self) -> Path:
        """Its folder."""
        return self._root

    def add(self, arguments: Sequence[str]) -> QueuedJob:
        """Add a job at the end.

        Args:
            arguments: Of `stylize`, with absolute paths.

        Raises:
            QueueError: Another process keeps the queue locked.
            OSError: The file cannot be written.
        """
        (job,) = self.add_all([arguments])
        return job

    def add_all(self, jobs: Iterable[Sequence[str]]) -> list[QueuedJob]:
        """Add jobs at the end, with successive numbers. Arguments and errors are those of `add`."""
        added: list[QueuedJob] = []
        with self._locked():
            # A number that was arranged is not given again, even if its job was removed.
            first = max((*self._numbers(), *self._arranged()[0]), default=0) + 1
            for number, arguments in enumerate(jobs, first):
                stamps = {name: stamp for name in inputs_of(arguments) if (stamp := stamp_of(name))}
                added.append(QueuedJob(number, tuple(arguments), time.time(), stamps=stamps))
                added[-1].write(self._path(number))
        return added

    def get(self, number: int) -> QueuedJob:
        """Look a job up. Raises QueueError if there is none, or its file is damaged."""
        try:
            return read_job(self._path(number))
        except FileNotFoundError:
            raise QueueError(f"there is no job {number} in the queue") from None

    def jobs(self) -> tuple[list[QueuedJob], list[str]]:
        """Read all jobs in their order, and a sentence for each file that is damaged."""
        jobs, damaged = [], list(self._arranged()[1])
        for number in self.order():
            try:
                jobs.append(read_job(self._path(number)))
            except FileNotFoundError:  # just removed
                continue
            except QueueError as exc:
                damaged.append(str(exc))
        return jobs, damaged

    def order(self) -> list[int]:
        """The numbers of all jobs in the order in which they run: as they were arranged, and behind
        those the others as they were added."""
        numbers = self._numbers()
        known = set(numbers)
        arranged = [number for number in self._arranged()[0] if number in known]
        placed = set(arranged)
        return arranged + [number for number in numbers if number not in placed]

    def arrange(self, numbers: Iterable[int], before: int | None = None) -> None:
        """Move jobs to another place in the order; a job that runs is not interrupted.

        Args:
            numbers: Of the jobs, in their new order.
            before: The job that they are put before; None for the end.

        Raises:
            QueueError: There is no such job, or another process keeps the queue locked.
            OSError: The order cannot be written.
        """
        moved = list(dict.fromkeys(numbers))
        with self._locked():
            order = self.order()
            for number in (*moved, *([] if before is None else [before])):
                if number not in order:
                    raise QueueError(f"there is no job {number} in the queue")
            # A job that is moved itself has the next one that is not in its place.
            at = len(order) if before is None else order.index(before)
            behind = [number for number in order[at:] if number not in moved]
            ahead = [number for number in order[:at] if number not in moved]
            atomic_write(self._order_path, (json.dumps([*ahead, *moved, *behind]) + "\n").encode())

    def manifest(self, number: int) -> Path:
        """The file that says what became of each picture of a job; there once it has begun."""
        return self._root / "manifests" / f"{number:06}.json"

    def is_running(self, job: QueuedJob) -> bool:
        """Whether a process works on the job: one that is RUNNING and not running was interrupted,
        and the next process that runs the queue continues it."""
        if job.state is not JobState.RUNNING:
            return False
        try:
            with locked(self._path(job.number), 0, keep=True):
                return False
        except LockedError:
            return True

    @contextmanager
    def next_job(self) -> Iterator[QueuedJob | None]:
        """Take the first job that is to be run and that no other process runs; None if there is
        none. During the block it is RUNNING and locked; `finish` or `put_back` says how it ended.
        """
        jobs, _ = self.jobs()
        for job in jobs:
            if job.state not in (JobState.WAITING, JobState.RUNNING):
                continue
            with self.take(job.number) as taken:
                if taken is not None:
                    yield taken
                    return
        yield None

    @contextmanager
    def take(self, number: int) -> Iterator[QueuedJob | None]:
        """As `next_job`, of one job; None if it is not to be run, or another process runs it."""
        with ExitStack() as held:
            try:
                held.enter_context(locked(self._path(number), GLANCE_S, keep=True))
            except LockedError:
                yield None
                return
            yield self._taken(number)

    def finish(self, job: QueuedJob, error: str = "") -> QueuedJob:
        """Say that a job has ended; `error` says why it failed. Returns the job as it is then.
        Raises OSError."""
        state = JobState.FAILED if error else JobState.DONE
        return self._written(replace(job, state=state, error=error))

    def put_back(self, job: QueuedJob) -> QueuedJob:
        """Have a job that was stopped wait again. Returns the job as it is then. Raises OSError."""
        return self._written(replace(job, state=JobState.WAITING, attempts=0))

    def retry(self, number: int) -> None:
        """Have a job that failed wait again; what it made stays as it is.

        Raises:
            QueueError: There is none, or it has not failed.
        """
        with self._job_locked(number):
            job = self.get(number)
            if job.state is not JobState.FAILED:
                raise QueueError(f"job {number} has not failed; it is {job.state}")
            self.put_back(replace(job, error=""))

    def remove(self, number: int) -> None:
        """Delete a job, not its results.

        Raises:
            QueueError: There is none, or it is running.
        """
        path = self._path(number)
        with self._job_locked(number, keep=False):
            try:
                path.unlink()
            except FileNotFoundError:
                raise QueueError(f"there is no job {number} in the queue") from None
            self.manifest(number).unlink(missing_ok=True)
            for each in (path, self.manifest(number)):
                remove_leftovers(each)

    def _written(self, job: QueuedJob) -> QueuedJob:
        job.write(self._path(job.number))
        return job

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of the queue, while jobs are added or arranged."""
        try:
            with locked(self._root / "queue", PATIENCE_S, keep=True):
                yield
        except LockedError:
            raise QueueError("another process keeps the queue from being changed") from None

    def _arranged(self) -> tuple[list[int], list[str]]:
        """The order that was written last, and a sentence if it is damaged: the jobs then run as
        they were added."""
        path = self._order_path
        try:
            values = small_json.load(path, MAX_ORDER_BYTES)
        except FileNotFoundError:
            return [], []
        except (OSError, small_json.SmallJsonError):
            values = None
        if isinstance(values, list) and all(type(each) is int for each in values):
            return list(dict.fromkeys(values)), []
        return [], [
            f"the order of the queue, '{printable(str(path))}', is damaged; it can be deleted"
        ]

    @property
    def _order_path(self) -> Path:
        return self._root / "order.json"

    def _taken(self, number: int) -> QueuedJob | None:
        """The job as it is now that it is locked, begun; None if it is not to be run any more."""
        try:
            job = read_job(self._path(number))
        except (FileNotFoundError, QueueError):
            return None
        if job.state not in (JobState.WAITING, JobState.RUNNING):
            return None
        if job.attempts >= MOST_ATTEMPTS:
            self.finish(job, DIED)
            return None
        begun = replace(job, state=JobState.RUNNING, attempts=job.attempts + 1)
        begun.write(self._path(number))
        return begun

    @contextmanager
    def _job_locked(self, number: int, *, keep: bool = True) -> Iterator[None]:
        """Hold the lock of a job, for what takes an instant; `keep` as of `locked`."""
        try:
            with locked(self._path(number), GLANCE_S, keep=keep):
                yield
        except LockedError:
            raise QueueError(f"job {number} is running in another process") from None

    def _path(self, number: int) -> Path:
        return self._root / f"{number:06}.json"

    def _numbers(self) -> list[int]:
        return sorted(
            int(path.stem)
            for path in self._root.glob("*.json")
            if path.stem.isdecimal() and path.stem.isascii()
        )
