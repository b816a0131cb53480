"""Progress of the jobs in a queue; repeated reads skip unchanged files."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.batch.folders import files_below
from app.batch.manifest import Manifest, ManifestError, State, read_manifest
from app.batch.queue.description import Description, Kind, described
from app.batch.queue.job import JobState, QueuedJob, QueueError
from app.batch.queue.job_queue import JobQueue
from utils.translation.texts import trn

INTERRUPTED = "interrupted"  # state of a RUNNING job without a process

_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class JobView:
    """A job and its progress.

    Attributes:
        state: A JobState, or INTERRUPTED.
        pictures: Number of pictures and films; 0 before the job begins, unless its
            inputs are several files or a folder that was counted.
        done: How many of them have a result.
        kept: How many of `done` had their result before the job.
        failed: How many failed.
        share: The finished fraction of the work, 0 to 1; an unfinished film counts in part.
        result: Absolute path of the first result; "" if there is none.
        faults: A path and a sentence for each file that failed, and a sentence alone for each input
            that could not be used.
    """

    job: QueuedJob
    state: str
    description: Description
    pictures: int = 0
    done: int = 0
    kept: int = 0
    failed: int = 0
    share: float = 0.0
    result: str = ""
    faults: tuple[tuple[str, str], ...] = ()


class Overview:
    """A reader of the jobs in a queue and their manifests; for one thread at a time.

    Args:
        count_s: The longest time, in seconds, to count the files of a waiting folder. A folder that
            takes longer has no number.
    """

    def __init__(self, queue: JobQueue, count_s: float = 0.0) -> None:
        self._queue, self._count_s = queue, count_s
        self._counts: dict[int, int] = {}  # of the folders of jobs
        self._manifests: dict[int, tuple[_Stamp, Manifest]] = {}
        self._descriptions: dict[int, tuple[tuple[str, ...], Description]] = {}

    def read(self) -> tuple[list[JobView], list[str]]:
        """Return all jobs in their order, and a sentence for each damaged file."""
        jobs, damaged = self._queue.jobs()
        views = []
        for job in jobs:
            try:
                views.append(self._view(job))
            except QueueError:
                continue  # removed since it was read; the next reading reports a damaged file
            except ManifestError as exc:
                damaged.append(f"job {job.number}: {exc}")
        present = {job.number for job in jobs}
        for known in (self._manifests, self._descriptions, self._counts):
            for number in known.keys() - present:
                del known[number]
        return views, damaged

    def _view(self, job: QueuedJob) -> JobView:
        state = job.state.value
        if job.state is JobState.RUNNING and not self._queue.is_running(job):
            job = self._queue.get(job.number)  # its process may have ended since it was read
            state = INTERRUPTED if job.state is JobState.RUNNING else job.state.value
        description = self._description(job)
        manifest = self._manifest(job.number)
        if manifest is None:
            return JobView(job, state, description, self._files_of(job, description))
        kept = manifest.count(State.KEPT)
        return JobView(
            job,
            state,
            description,
            len(manifest.entries),
            manifest.count(State.DONE) + kept,
            kept,
            manifest.count(State.FAILED),
            manifest.share,
            next((entry.result for entry in manifest.entries if entry.complete), ""),
            _faults(manifest),
        )

    def _files_of(self, job: QueuedJob, description: Description) -> int:
        """Return how many files a job that has not begun will paint; 0 if that is unknown."""
        files = len(description.inputs)
        if files > 1:
            return files if files == len(job.stamps) else 0
        if description.kind is not Kind.FOLDER or not self._count_s:
            return 0
        if job.number not in self._counts:
            folder = Path(description.inputs[0])
            left_out = [Path(each) for each in (description.output, *description.left_out)]
            self._counts[job.number] = _counted(folder, left_out, self._count_s)
        return self._counts[job.number]

    def _description(self, job: QueuedJob) -> Description:
        words, made = self._descriptions.get(job.number, ((), None))
        if made is None or words != job.arguments:
            made = described(job.arguments)
            self._descriptions[job.number] = job.arguments, made
        return made

    def _manifest(self, number: int) -> Manifest | None:
        """Return the manifest of a job; None before the job begins.

        Raises:
            ManifestError: If the manifest is damaged or of another version.
        """
        path = self._queue.manifest(number)
        stamp = _stamp(path)
        if stamp is None:
            self._manifests.pop(number, None)
            return None
        known = self._manifests.get(number)
        if known is None or known[0] != stamp:
            known = self._manifests[number] = stamp, read_manifest(path)
        return known[1]


def _counted(folder: Path, left_out: Sequence[Path], limit_s: float) -> int:
    """Count the pictures and films below a folder; return 0 if that takes longer than `limit_s`."""
    count, end = 0, time.monotonic() + limit_s
    for _ in files_below(folder, left_out, []):
        count += 1
        if time.monotonic() > end:
            return 0
    return count


def _faults(manifest: Manifest) -> tuple[tuple[str, str], ...]:
    failed = [entry for entry in manifest.entries if entry.state is State.FAILED]
    files = [(entry.source, entry.error) for entry in failed]
    return (*files, *(("", problem) for problem in manifest.problems))


def why_failed(path: Path) -> str:
    """Summarize a run's failures in one sentence; return "" without failures or manifest.

    Raises:
        ManifestError: If `path` is not a manifest.
    """
    if _stamp(path) is None:
        return ""
    manifest = read_manifest(path)
    told = [entry.error for entry in manifest.entries if entry.state is State.FAILED]
    told += manifest.problems
    if not told:
        return ""
    more = len(told) - 1
    if not more:
        return told[0]
    return trn("{fault} (and {n} more)", "{fault} (and {n} more)", more, fault=told[0])


def _stamp(path: Path) -> _Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
