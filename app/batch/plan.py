"""The plan of a run: the jobs of this process, existing results, and the manifest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.batch.error import StylizeError, shown
from app.batch.jobs.job import Job
from app.batch.jobs.places import existing as existing_results
from app.batch.jobs.places import place_of, remote_jobs
from app.batch.jobs.planning import plan_jobs
from app.batch.manifest import Manifest, Record, plan_digest, planned
from app.batch.reporter import Reporter
from app.batch.request import Request
from app.batch.shard import Shard


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of one process.

    Attributes:
        existing: The jobs whose result exists.
        problems: A sentence for each input that cannot be used.
        record: The manifest, already written, if the request asks for one.
    """

    jobs: list[Job]
    existing: list[Job]
    problems: list[str]
    record: Record | None


def plan_of(request: Request, reporter: Reporter, *, shared: bool) -> Plan | None:
    """Plan the run, and report unusable inputs; return None if no input is usable.

    Args:
        shared: Whether several processes style the inputs.

    Raises:
        StylizeError: If results cannot be written, or some exist and the request does not say what
            to do with them.
    """
    output = request.output
    if _has_places(request):
        everything, problems = remote_jobs(request.inputs, place_of(output) or output), []
    else:
        everything, problems = plan_jobs(
            request.inputs,
            output,
            request.name,
            request.styles.name,
            codec=request.films.codec,
            folder=request.shard is not None,
            left_out=request.left_out,
        )
    for problem in problems:
        reporter.problem(problem)
    if not everything:
        return None
    arrangement, side = request.before_after, request.long_side
    everything = [replace(job, before_after=arrangement, long_side=side) for job in everything]
    _check_inputs(request, everything, shared=shared)
    names = [job.target.relative_to(output).as_posix() for job in everything]
    shard = request.shard or Shard(1, 1)
    jobs = shard.of(everything, names)
    existing = existing_results(jobs, output)
    if existing and not (request.overwrite or request.skip_existing or request.resume):
        raise StylizeError(_exists_message(existing))
    path, record = request.manifest, None
    if path is None and request.shard is not None:
        path = output / f"manifest-{shard.index}-of-{shard.count}.json"
    if path is not None and not request.dry_run:
        entries = planned((job.source, job.target) for job in jobs)
        count, digest, style = len(everything), plan_digest(names), request.styles.name
        record = Record(path, Manifest(shard, count, digest, style, entries, tuple(problems)))
    return Plan(jobs, existing, problems, record)


def check_places(request: Request) -> None:
    """Raise StylizeError if inputs or results at addresses do not fit the request."""
    if not _has_places(request):
        return
    if request.cluster is None:
        raise StylizeError(
            "addresses such as s3://bucket/photos need --cluster; --cluster auto also works on "
            "this machine alone"
        )
    if not all(place_of(text) for text in request.inputs):
        raise StylizeError("either all inputs are addresses or none")
    if request.name or request.shard or request.manifest:
        raise StylizeError("--name, --shard and --manifest work for folders, not for addresses")


def without(jobs: Sequence[Job], others: Sequence[Job]) -> list[Job]:
    left_out = set(others)
    return [job for job in jobs if job not in left_out]


def _check_inputs(request: Request, jobs: Sequence[Job], *, shared: bool) -> None:
    """Raise StylizeError if the request does not fit its inputs."""
    pictures, smoothed = any(not job.film for job in jobs), request.config.smoothing > 0
    if pictures and request.shard is not None and request.shard.count > 1 and smoothed:
        raise StylizeError(
            "--smoothing needs consecutive pictures, and a shard has only every n-th"
        )
    if pictures and shared and smoothed:
        raise StylizeError(
            "--smoothing needs one device, because each picture depends on the one before"
        )
    if request.before_after and any(job.film for job in jobs):
        raise StylizeError("--before-after works only for pictures, and the inputs include films")
    if request.before_after and request.depth == 16:
        raise StylizeError("--before-after writes 8 bits per channel, not 16")
    if request.depth is not None and not pictures:
        raise StylizeError(
            "--depth works only for pictures; films have 8 bits per channel, and ProRes 10"
        )


def _has_places(request: Request) -> bool:
    """Return whether pictures are read from or written to addresses such as s3://bucket/photos."""
    return any(place_of(each) is not None for each in (*request.inputs, request.output))


def _exists_message(existing: list[Job]) -> str:
    more = f", and so do {len(existing) - 1} more results" if len(existing) > 1 else ""
    return (
        f"'{shown(existing[0].target)}' exists{more}; pass --overwrite to replace existing "
        "results, or --skip-existing to keep them"
    )
