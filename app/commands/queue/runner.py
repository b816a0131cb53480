"""Runs the jobs of the queue, one after the other."""

from __future__ import annotations

from collections.abc import Callable

from app.batch.job import QueuedJob
from app.batch.job_queue import JobQueue
from app.commands import stylize
from app.commands.queue.arguments import job_arguments
from app.commands.stylize.reporters import Reporter
from app.errors import StyleForgeError
from app.exit_status import DONE


def run_waiting(queue: JobQueue, new_reporter: Callable[[], Reporter]) -> int:
    """Run jobs until none waits that another process does not run.

    Args:
        queue: The queue.
        new_reporter: Makes what is told of a job.

    Returns:
        How many of them failed.

    Raises:
        KeyboardInterrupt: The job under way waits again; what it has made is complete.
    """
    failed = 0
    while True:
        with queue.next_job() as job:
            if job is None:
                return failed
            reporter = new_reporter()
            reporter.note(f"Job {job.number}")
            try:
                error = _run(queue, job, reporter)
            except KeyboardInterrupt:
                queue.put_back(job)
                raise
            if error:
                reporter.problem(f"job {job.number}: {error}")
            queue.finish(job, error)
            failed += bool(error)


def _run(queue: JobQueue, job: QueuedJob, reporter: Reporter) -> str:
    """Run a job, from where a process left it; returns why it failed, or ""."""
    manifest = queue.manifest(job.number)
    try:
        args = job_arguments(job.arguments)
        args.manifest, args.resume = manifest, manifest.is_file()
        status = stylize.run(args, reporter)
    except StyleForgeError as exc:
        return str(exc)
    except OSError as exc:
        return f"'{exc.filename}': {exc.strerror}" if exc.filename else str(exc.strerror or exc)
    return "" if status == DONE else "some of its inputs failed"
