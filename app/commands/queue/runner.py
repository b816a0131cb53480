"""Execution of the queue's jobs, one after another."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

from app.batch.error import shown
from app.batch.manifest import ManifestError
from app.batch.queue.description import described
from app.batch.queue.job import QueuedJob
from app.batch.queue.job_queue import JobQueue
from app.batch.queue.overview import why_failed
from app.batch.reporter import Reporter
from app.batch.run import run
from app.commands.queue.arguments import job_arguments
from app.commands.stylize.request import request_of
from app.errors import StyleForgeError

SOME_FAILED = "some of its inputs failed"


def run_waiting(
    queue: JobQueue,
    new_reporter: Callable[[], Reporter],
    told: Callable[[QueuedJob], object] = lambda job: None,
    finishing: Callable[[], bool] = lambda: False,
    leave: Collection[int] = (),
) -> int:
    """Run jobs until no job is waiting, except jobs that another process runs.

    Args:
        leave: Numbers of jobs that stay waiting.
        told: Called with each job when it begins and when it has ended.

    Returns:
        How many of them failed.

    Raises:
        KeyboardInterrupt: The current job waits again; its results so far are complete.
    """
    failed = 0
    while not finishing():
        with queue.next_job(leave) as job:
            if job is None:
                break
            told(job)
            reporter = new_reporter()
            reporter.note(f"Job {job.number}")
            try:
                error = _run(queue, job, reporter)
            except KeyboardInterrupt:
                told(queue.put_back(job))
                raise
            if error:
                reporter.problem(f"job {job.number}: {error}")
            told(queue.finish(job, error))
            failed += bool(error)
    return failed


def _run(queue: JobQueue, job: QueuedJob, reporter: Reporter) -> str:
    """Run a job, resuming where an earlier process left it; return why it failed, or ""."""
    manifest = queue.manifest(job.number)
    try:
        request = request_of(job_arguments(job.arguments))
        request = replace(request, manifest=manifest, resume=manifest.is_file())
        done = run(replace(request, stored_precision=True), reporter)
    except StyleForgeError as exc:
        return str(exc)
    except OSError as exc:
        return f"'{exc.filename}': {exc.strerror}" if exc.filename else str(exc.strerror or exc)
    return "" if done else _why(queue, job)


def _why(queue: JobQueue, job: QueuedJob) -> str:
    """Return why a run failed; without a manifest, inputs are missing or contain no pictures."""
    try:
        said = why_failed(queue.manifest(job.number))
    except ManifestError as exc:
        return str(exc)
    if said:
        return said
    gone = [path for path in described(job.arguments).inputs if not Path(path).exists()]
    return f"'{shown(gone[0])}' does not exist" if gone else SOME_FAILED
