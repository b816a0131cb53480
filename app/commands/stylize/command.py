"""`styleforge stylize`: stylizes picture files, folders and films."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from app.batch.manifest import Manifest, Record, plan_digest, planned
from app.batch.shard import Shard, local_index
from app.commands.stylize.cluster import existing as existing_results
from app.commands.stylize.cluster import place_of, remote_jobs
from app.commands.stylize.devices import Setup, devices_of
from app.commands.stylize.execution import Run
from app.commands.stylize.flags import FULL
from app.commands.stylize.inputs import shown
from app.commands.stylize.jobs import Job, StylizeError, plan_jobs
from app.commands.stylize.reporters import Reporter, Tally, make_reporter
from app.commands.stylize.style_images import check_style_images, chosen_styles
from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.exit_status import DONE, FAILED
from app.options import Part
from app.parameters import AUTO, given_values
from app.styles.library import Library
from models.precision import Precision
from utils.free_memory import free_bytes


def run(args: argparse.Namespace, reporter: Reporter | None = None) -> int:
    """Stylize all inputs; return 1 if any input failed, 0 otherwise.

    Args:
        reporter: Receives the events of the run; None for the reporter that the flags choose.
    """
    reporter = reporter or make_reporter(args.progress, args.loudness)
    check_style_images(args.style_image, args.style_network, args.mix)
    with tempfile.TemporaryDirectory(prefix="styleforge-") as folder:
        library = Library.default()
        chosen, style = chosen_styles(args, library, Path(folder))
        return _run(args, library, chosen, style, reporter)


def _run(
    args: argparse.Namespace,
    library: Library,
    chosen: tuple[Part, ...],
    style: str,
    reporter: Reporter,
) -> int:
    notices: list[str] = []
    engine = Engine(library, on_notice=notices.append, free=free_bytes)
    full = args.size == FULL
    _check_places(args)
    devices = devices_of(_device(args))
    shared = len(devices) > 1 or args.cluster is not None
    config = EngineConfig(
        **given_values(args),
        kernels=args.kernels,
        precision=Precision[args.precision],
        device="cpu" if shared else devices[0],  # in a shared run, other processes have the devices
        size=None if full else args.size,
    ).mixed(chosen)
    engine.configure(config)  # reports an invalid style or device first
    setup = Setup(library, config, args.batch, full)
    plan = _plan(args, style, reporter, shared=shared)
    if plan is None:
        return FAILED
    failed = FAILED if plan.problems else DONE
    if args.dry_run:
        skipped = [] if args.overwrite else plan.existing
        coming = _without(plan.jobs, skipped)
        reporter.planned(coming, skipped, len(plan.existing) - len(skipped))
        return failed
    record = plan.record
    done = plan.existing
    if args.overwrite:  # except for the results of the continued run
        done = [job for job in done if args.resume and record and record.made(job.target)]
    jobs = _without(plan.jobs, done)
    tally = Tally(args.output, len(jobs), len(done))
    reporter.begin(jobs, done, "" if args.shard is None else str(args.shard))
    if record:
        for job in done:
            record.kept(job.target)
    if jobs:
        engine.on_progress = reporter.bands
        try:
            with reporter:
                run = Run(args, devices, setup, engine, notices, reporter, tally, record)
                run.carry_out(jobs)
        finally:
            if record:
                record.save()
    if record:
        record.finish()
    reporter.end(tally)
    return FAILED if tally.failed or tally.incomplete else failed


@dataclass(frozen=True, slots=True)
class _Plan:
    """The plan of one process.

    Attributes:
        problems: A sentence for each input that cannot be used.
        record: The manifest, already written, if the flags ask for one.
    """

    jobs: list[Job]
    existing: list[Job]
    problems: list[str]
    record: Record | None


def _plan(
    args: argparse.Namespace, style: str, reporter: Reporter, *, shared: bool
) -> _Plan | None:
    """Plan the run, and report unusable inputs; return None if no input is usable.

    Raises:
        StylizeError: If results cannot be written, or some exist and no flag decides about them.
    """
    if _has_places(args):
        everything, problems = remote_jobs(args.inputs, place_of(args.output) or args.output), []
    else:
        everything, problems = plan_jobs(
            args.inputs,
            args.output,
            args.name,
            style,
            codec=args.codec,
            folder=args.shard is not None,
        )
    for problem in problems:
        reporter.problem(problem)
    if not everything:
        return None
    everything = [replace(job, before_after=args.before_after) for job in everything]
    _check_flags(args, everything, shared=shared)
    names = [job.target.relative_to(args.output).as_posix() for job in everything]
    shard = args.shard or Shard(1, 1)
    jobs = shard.of(everything, names)
    existing = existing_results(jobs, args.output)
    if existing and not (args.overwrite or args.skip_existing or args.resume):
        raise StylizeError(_exists_message(existing))
    path, record = args.manifest, None
    if path is None and args.shard is not None:
        path = args.output / f"manifest-{shard.index}-of-{shard.count}.json"
    if path is not None and not args.dry_run:
        entries = planned((job.source, job.target) for job in jobs)
        count, digest = len(everything), plan_digest(names)
        record = Record(path, Manifest(shard, count, digest, style, entries, tuple(problems)))
    return _Plan(jobs, existing, problems, record)


def _check_flags(args: argparse.Namespace, jobs: Sequence[Job], *, shared: bool) -> None:
    """Raise StylizeError if the flags do not fit the inputs."""
    pictures = any(not job.film for job in jobs)
    if pictures and args.shard is not None and args.shard.count > 1 and args.smoothing > 0:
        raise StylizeError(
            "--smoothing needs consecutive pictures, and a shard has only every n-th"
        )
    if pictures and shared and args.smoothing > 0:
        raise StylizeError(
            "--smoothing needs one device, because each picture depends on the one before"
        )
    if args.before_after and any(job.film for job in jobs):
        raise StylizeError("--before-after works only for pictures, and the inputs include films")
    if args.before_after and args.depth == 16:
        raise StylizeError("--before-after writes 8 bits per channel, not 16")
    if args.depth is not None and not pictures:
        raise StylizeError(
            "--depth works only for pictures; films have 8 bits per channel, and ProRes 10"
        )


def _has_places(args: argparse.Namespace) -> bool:
    """Return whether pictures are read from or written to addresses such as s3://bucket/photos."""
    return any(place_of(each) is not None for each in (*args.inputs, args.output))


def _check_places(args: argparse.Namespace) -> None:
    if not _has_places(args):
        return
    if args.cluster is None:
        raise StylizeError(
            "addresses such as s3://bucket/photos need --cluster; --cluster auto also works on "
            "this machine alone"
        )
    if not all(place_of(text) for text in args.inputs):
        raise StylizeError("either all inputs are addresses or none")
    if args.name or args.shard or args.manifest:
        raise StylizeError("--name, --shard and --manifest work for folders, not for addresses")


def _device(args: argparse.Namespace) -> str:
    """Return the device; of several GPUs, a process picks its own by a launcher's local index."""
    local = local_index() if args.shard is not None and args.device == AUTO else None
    if local is None or torch.cuda.device_count() < 2:
        return args.device
    return f"cuda:{local % torch.cuda.device_count()}"


def _without(jobs: list[Job], others: list[Job]) -> list[Job]:
    left_out = set(others)
    return [job for job in jobs if job not in left_out]


def _exists_message(existing: list[Job]) -> str:
    more = f", and so do {len(existing) - 1} more results" if len(existing) > 1 else ""
    return (
        f"'{shown(existing[0].target)}' exists{more}; pass --overwrite to replace existing "
        "results, or --skip-existing to keep them"
    )
