"""The job queue: a folder with one file per job, which outlives the processes that use it.

Any number of processes may add and run jobs at once. The process that runs a job holds a lock. The
operating system releases the lock when the process ends, so another process can find and resume
the job.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import platformdirs

from app.batch.queue.description import inputs_of
from app.batch.queue.job import JobState, QueuedJob, QueueError, read_job, stamp_of
from utils.files import small_json
from utils.files.atomic import atomic_write, remove_leftovers
from utils.files.locks import LockedError, locked
from utils.text import printable

APP_NAME = "styleforge"
MOST_ATTEMPTS = 3  # a job fails after this many processes died with it
PATIENCE_S = 30.0  # how long to wait for another process that adds a job
GLANCE_S = 0.2  # how long to wait for a process that only checks whether a job is running
MAX_ORDER_BYTES = 64 << 20  # size limit of the order's file: a few million numbers
DIED = f"its process ended {MOST_ATTEMPTS} times before the job did, perhaps because memory ran out"


class JobQueue:
    """The jobs in the folder `root`, which need not exist yet."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @classmethod
    def default(cls) -> JobQueue:
        return cls(platformdirs.user_data_path(APP_NAME, appauthor=False) / "queue")

    @property
    def root(self) -> Path:
        return self._root

    def add(self, arguments: Sequence[str]) -> QueuedJob:
        """Add a job at the end; its arguments of `stylize` have absolute paths.

        Raises:
            QueueError: If another process keeps the queue locked.
            OSError: If the file cannot be written.
        """
        (job,) = self.add_all([arguments])
        return job

    def add_all(self, jobs: Iterable[Sequence[str]]) -> list[QueuedJob]:
        """Add jobs at the end, with consecutive numbers. Accepts and raises the same as `add`."""
        added: list[QueuedJob] = []
        with self._locked():
            # Never reuse a number in the stored order, even if its job was removed.
            first = max((*self._numbers(), *self._arranged()[0]), default=0) + 1
            for number, arguments in enumerate(jobs, first):
                stamps = {name: stamp for name in inputs_of(arguments) if (stamp := stamp_of(name))}
                added.append(QueuedJob(number, tuple(arguments), time.time(), stamps=stamps))
                added[-1].write(self._path(number))
        return added

    def get(self, number: int) -> QueuedJob:
        """Return a job.

        Raises:
            QueueError: If the job does not exist or its file is damaged.
        """
        try:
            return read_job(self._path(number))
        except FileNotFoundError:
            raise QueueError(f"there is no job {number} in the queue") from None

    def jobs(self) -> tuple[list[QueuedJob], list[str]]:
        """Return all jobs in their order, and a sentence for each damaged file."""
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
        """Return all job numbers in running order: arranged jobs first, then the rest by number."""
        numbers = self._numbers()
        known = set(numbers)
        arranged = [number for number in self._arranged()[0] if number in known]
        placed = set(arranged)
        return arranged + [number for number in numbers if number not in placed]

    def arrange(self, numbers: Iterable[int], before: int | None = None) -> None:
        """Move jobs to another place in the order, without interrupting a running job.

        Args:
            before: The job to put them before; None for the end.

        Raises:
            QueueError: If a job does not exist, or another process keeps the queue locked.
            OSError: If the order cannot be written.
        """
        moved = list(dict.fromkeys(numbers))
        with self._locked():
            order = self.order()
            for number in (*moved, *([] if before is None else [before])):
                if number not in order:
                    raise QueueError(f"there is no job {number} in the queue")
            # If `before` is itself moved, the jobs go before the next job that stays.
            at = len(order) if before is None else order.index(before)
            behind = [number for number in order[at:] if number not in moved]
            ahead = [number for number in order[:at] if number not in moved]
            atomic_write(self._order_path, (json.dumps([*ahead, *moved, *behind]) + "\n").encode())

    def manifest(self, number: int) -> Path:
        """Return the path of the job's manifest, a file that exists once the job has begun."""
        return self._root / "manifests" / f"{number:06}.json"

    def is_running(self, job: QueuedJob) -> bool:
        """Return whether a process works on the job; a RUNNING job without one will be resumed."""
        if job.state is not JobState.RUNNING:
            return False
        try:
            with locked(self._path(job.number), 0, keep=True):
                return False
        except LockedError:
            return True

    def waiting(self, jobs: Iterable[QueuedJob]) -> list[int]:
        """Return the numbers of the jobs that no process has begun, or whose process ended."""
        return [
            job.number
            for job in jobs
            if job.state is JobState.WAITING
            or (job.state is JobState.RUNNING and not self.is_running(job))
        ]

    @contextmanager
    def next_job(self, leave: Collection[int] = ()) -> Iterator[QueuedJob | None]:
        """Take the first waiting or interrupted job; yield None if there is none.

        Inside the block, the job is RUNNING and locked. Call `finish` or `put_back` when it ends.

        Args:
            leave: Numbers of jobs that stay waiting.
        """
        jobs, _ = self.jobs()
        for job in jobs:
            if job.state not in (JobState.WAITING, JobState.RUNNING) or job.number in leave:
                continue
            with self.take(job.number) as taken:
                if taken is not None:
                    yield taken
                    return
        yield None

    @contextmanager
    def take(self, number: int) -> Iterator[QueuedJob | None]:
        """Take one job, like `next_job`; yield None if it is over or another process runs it."""
        with ExitStack() as held:
            try:
                held.enter_context(locked(self._path(number), GLANCE_S, keep=True))
            except LockedError:
                yield None
                return
            yield self._taken(number)

    def finish(self, job: QueuedJob, error: str = "") -> QueuedJob:
        """Record that a job has ended; an `error` marks a failure.

        Raises:
            OSError: If the job's file cannot be written.
        """
        state = JobState.FAILED if error else JobState.DONE
        return self._written(replace(job, state=state, error=error))

    def put_back(self, job: QueuedJob) -> QueuedJob:
        """Make a stopped job wait again, and return the updated job.

        Raises:
            OSError: If the job's file cannot be written.
        """
        return self._written(replace(job, state=JobState.WAITING, attempts=0))

    def retry(self, number: int) -> None:
        """Make a failed job wait again; its results stay.

        Raises:
            QueueError: If the job does not exist, its file is damaged, or it has not failed.
        """
        with self._job_locked(number):
            job = self.get(number)
            if job.state is not JobState.FAILED:
                raise QueueError(f"job {number} has not failed; it is {job.state}")
            self.put_back(replace(job, error=""))

    def remove(self, number: int) -> None:
        """Delete a job, not its results.

        Raises:
            QueueError: If the job does not exist or is running.
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
        try:
            with locked(self._root / "queue", PATIENCE_S, keep=True):
                yield
        except LockedError:
            raise QueueError("another process keeps the queue from being changed") from None

    def _arranged(self) -> tuple[list[int], list[str]]:
        """Return the last order, and a sentence if its file is damaged; else jobs run as added."""
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
        """Mark a locked job as begun and return it; return None if it must not run any more."""
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
        """Hold the lock of a job for an instant."""
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
