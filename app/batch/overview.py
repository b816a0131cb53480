"""How far the jobs of a queue are, read again and again without reading what has not changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.batch.description import Description, described
from app.batch.job import JobState, QueuedJob
from app.batch.job_queue import JobQueue
from app.batch.manifest import Manifest, ManifestError, State, read_manifest
from utils.translation.texts import trn

INTERRUPTED = "interrupted"  # how a job is called that is RUNNING without a process

_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class JobView:
    """A job with what is known of it.

    Attributes:
        job: Its file.
        state: A JobState, or INTERRUPTED.
        description: What it is to do.
        pictures: How many pictures or films it has; 0 before it has begun.
        done: How many of them have a result.
        kept: How many of these had it before.
        failed: How many failed.
        share: How much of the work is done, 0 to 1; a film under way counts in part.
        result: The first result, absolute; "" if there is none.
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


class Overview:
    """Reads the jobs of a queue with their manifests; for one thread at a time."""

    def __init__(self, queue: JobQueue) -> None:
        self._queue = queue
        self._manifests: dict[int, tuple[_Stamp, Manifest]] = {}
        self._descriptions: dict[int, tuple[tuple[str, ...], Description]] = {}

    def read(self) -> tuple[list[JobView], list[str]]:
        """Read all jobs in their order, and a sentence for each file that is damaged."""
        jobs, damaged = self._queue.jobs()
        views = []
        for job in jobs:
            try:
                views.append(self._view(job))
            except ManifestError as exc:
                damaged.append(f"job {job.number}: {exc}")
        present = {job.number for job in jobs}
        for known in (self._manifests, self._descriptions):
            for number in known.keys() - present:
                del known[number]
        return views, damaged

    def _view(self, job: QueuedJob) -> JobView:
        state = job.state.value
        if job.state is JobState.RUNNING and not self._queue.is_running(job):
            state = INTERRUPTED
        description = self._description(job)
        manifest = self._manifest(job.number)
        if manifest is None:
            return JobView(job, state, description)
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
        )

    def _description(self, job: QueuedJob) -> Description:
        words, made = self._descriptions.get(job.number, ((), None))
        if made is None or words != job.arguments:
            made = described(job.arguments)
            self._descriptions[job.number] = job.arguments, made
        return made

    def _manifest(self, number: int) -> Manifest | None:
        """The manifest of a job; None before it has begun. Raises ManifestError."""
        path = self._queue.manifest(number)
        stamp = _stamp(path)
        if stamp is None:
            self._manifests.pop(number, None)
            return None
        known = self._manifests.get(number)
        if known is None or known[0] != stamp:
            known = self._manifests[number] = stamp, read_manifest(path)
        return known[1]


def why_failed(path: Path) -> str:
    """Say in one sentence what a run could not do, by its manifest.

    Args:
        path: The manifest; "" is returned if there is none, or it names no failure.

    Raises:
        ManifestError: The file is no manifest.
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
