"""`styleforge stylize`: stylizes picture files, folders and films."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from app.batch.manifest import Manifest, Record, plan_digest, planned
from app.batch.shard import Shard, local_index
from app.commands.stylize.cluster import ClusterFilms, ClusterPictures, Pool, place_of, remote_jobs
from app.commands.stylize.cluster import existing as existing_results
from app.commands.stylize.devices import Setup, SharedFilms, SharedPictures, devices_of
from app.commands.stylize.films import Films
from app.commands.stylize.flags import FULL
from app.commands.stylize.groups import groups
from app.commands.stylize.inputs import shown
from app.commands.stylize.jobs import Job, StylizeError, plan_jobs
from app.commands.stylize.limits import Limits
from app.commands.stylize.pipeline import Outcome, Pipeline
from app.commands.stylize.reporters import Reporter, Tally, make_reporter
from app.commands.stylize.style_images import check_style_images, chosen_styles
from app.commands.stylize.styling import Styling
from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.exit_status import DONE, FAILED
from app.options import Part
from app.parameters import AUTO, given_values
from app.styles.library import Library
from kernels.ops.registry import prepare
from models.precision import Precision
from utils.free_memory import free_bytes
from utils.text import printable


def run(args: argparse.Namespace, reporter: Reporter | None = None) -> int:
    """Stylize all inputs.

    Args:
        args: What the flags were parsed to.
        reporter: Is told of the run; None for the one that the flags choose.

    Returns:
        The exit status: 1 if any of the inputs failed, 0 otherwise.
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
        device="cpu" if shared else devices[0],  # where they are shared, others have the devices
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
    if args.overwrite:  # but for what the run that is continued has made
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
                run = _Run(args, devices, setup, engine, notices, reporter, tally, record)
                _stylize(run, [job for job in jobs if not job.film])
                _make_films(run, [job for job in jobs if job.film])
        finally:
            if record:
                record.save()
    if record:
        record.finish()
    reporter.end(tally)
    return FAILED if tally.failed or tally.incomplete else failed


@dataclass(frozen=True, slots=True)
class _Run:
    """A run under way; `devices` share it where there are several, or a cluster does."""

    args: argparse.Namespace
    devices: list[str]
    setup: Setup
    engine: Engine
    notices: list[str]
    reporter: Reporter
    tally: Tally
    record: Record | None

    def limits_on(self, device: str) -> Limits:
        """Prepare the engine of this process for a device, and say what fits there."""
        setup, engine = self.setup, self.engine
        config = replace(setup.config, device=device)
        engine.configure(config)
        if config.kernels != "baseline":
            with self.reporter.waiting("Preparing the native kernels ..."):
                for operations in engine.family.operations:
                    prepare(family=operations)
        return Limits.now(config, setup.batch, engine, full=setup.full)


def _pipeline(run: _Run, count: int) -> _Alone | SharedPictures | ClusterPictures:
    """What styles pictures: a cluster, several devices, or the engine of this process."""
    args, setup, reporter = run.args, run.setup, run.reporter
    if args.cluster is not None:
        return ClusterPictures(Pool(args.cluster), args, setup, reporter)
    if len(run.devices) > 1:
        return SharedPictures(run.devices[:count], setup, reporter, args.depth)
    limits = run.limits_on(setup.config.device)
    return _Alone(limits, run.engine, run.notices, args.depth)


def _sharing(run: _Run) -> AbstractContextManager[SharedFilms | None]:
    """What shares the films; None for the engine of this process."""
    reporter = run.reporter
    if run.args.cluster is not None:
        pool = Pool(run.args.cluster)
        return ClusterFilms(pool, run.args, run.setup, run.engine, reporter.note)
    if len(run.devices) == 1:
        return nullcontext()
    with reporter.waiting(f"Starting processes for {', '.join(run.devices)} ..."):
        return SharedFilms(run.devices, run.setup, reporter.problem)


def _make_films(run: _Run, jobs: Sequence[Job]) -> None:
    """Make films, and say and record of each what became of it."""
    if not jobs:
        return
    with _sharing(run) as sharing:
        films = Films(
            run.args,
            run.setup,
            run.engine,
            cache(run.limits_on),
            sharing,
            run.notices,
            run.reporter,
            run.record,
        )
        films.run(jobs, run.tally)


class _Alone:
    """As SharedPictures, by the engine of this process."""

    def __init__(
        self, limits: Limits, engine: Engine, notices: list[str], depth: int | None
    ) -> None:
        styling = Styling(engine, limits, notices)
        self._limits = limits
        self._pipeline = Pipeline(styling, limits.picture_bytes, limits.config.size, depth=depth)

    def __enter__(self) -> _Alone:
        self._pipeline.__enter__()
        return self

    def __exit__(self, *how: Any) -> None:
        self._pipeline.__exit__(*how)

    @property
    def written(self) -> int:
        """How many results were written."""
        return self._pipeline.written

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """Style pictures, and yield what became of each."""
        return self._pipeline.run(groups(jobs, self._limits))


@dataclass(frozen=True, slots=True)
class _Plan:
    """What one process is to do.

    Attributes:
        jobs: The pictures and films of its shard.
        existing: Those of them whose result exists.
        problems: A sentence for each input that cannot be used.
        record: The manifest, begun, if there is to be one.
    """

    jobs: list[Job]
    existing: list[Job]
    problems: list[str]
    record: Record | None


def _plan(
    args: argparse.Namespace, style: str, reporter: Reporter, *, shared: bool
) -> _Plan | None:
    """Plan the run, and say what cannot be used; None if that is all.

    Raises:
        StylizeError: The results cannot be written, or some exist and nothing says what then.
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
    """StylizeError where flags do not fit what there is."""
    pictures = any(not job.film for job in jobs)
    if pictures and args.shard is not None and args.shard.count > 1 and args.smoothing > 0:
        raise StylizeError(
            "--smoothing follows pictures one by one, and a shard has every n-th alone"
        )
    if pictures and shared and args.smoothing > 0:
        raise StylizeError("--smoothing follows pictures one by one, on one device")
    if args.depth is not None and not pictures:
        raise StylizeError("--depth is for pictures; films have 8 bits, and those of ProRes 10")


def _stylize(run: _Run, jobs: Sequence[Job]) -> None:
    """Stylize pictures, and say and record of each what became of it."""
    if not jobs:
        return
    pipeline = _pipeline(run, len(jobs))
    try:
        with pipeline:
            for outcome in pipeline.run(jobs):
                _tell(outcome, run.reporter, run.tally, run.record)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"Stopped after {pipeline.written} of {len(jobs)} pictures; those are complete."
        ) from None


def _tell(outcome: Outcome, reporter: Reporter, tally: Tally, record: Record | None) -> None:
    tally.add(outcome)
    job, error = outcome.job, ""
    if outcome.error is not None:
        error = _error_text(job.source, outcome.error)
    if record and error:
        record.failed(job.target, error)
    elif record:
        record.done(job.target)
    reporter.picture(outcome, error, tally)


def _has_places(args: argparse.Namespace) -> bool:
    """Whether pictures are read from addresses such as s3://bucket/photos, or written there."""
    return any(place_of(each) is not None for each in (*args.inputs, args.output))


def _check_places(args: argparse.Namespace) -> None:
    if not _has_places(args):
        return
    if args.cluster is None:
        raise StylizeError(
            "addresses such as s3://bucket/photos are for --cluster; --cluster auto is one of this "
            "machine alone"
        )
    if not all(place_of(text) for text in args.inputs):
        raise StylizeError("with addresses, every input is one")
    if args.name or args.shard or args.manifest:
        raise StylizeError("--name, --shard and --manifest are for folders, not for addresses")


def _device(args: argparse.Namespace) -> str:
    """The device: of several GPUs of a machine, that of this process where a launcher says which
    of the machine's processes it is."""
    local = local_index() if args.shard is not None and args.device == AUTO else None
    if local is None or torch.cuda.device_count() < 2:
        return args.device
    return f"cuda:{local % torch.cuda.device_count()}"


def _without(jobs: list[Job], others: list[Job]) -> list[Job]:
    left_out = set(others)
    return [job for job in jobs if job not in left_out]


def _error_text(path: Path, exc: Exception) -> str:
    """Describe the error with the whole path, since several folders may contain the same name."""
    if isinstance(exc, OSError):
        return f"'{shown(exc.filename or path)}': {exc.strerror or exc}"
    fault, name = str(exc), printable(path.name)
    if f"'{name}'" in fault:
        return fault.replace(f"'{name}'", f"'{shown(path)}'", 1)
    return fault if shown(path) in fault else f"'{shown(path)}': {fault}"


def _exists_message(existing: list[Job]) -> str:
    """The error message if results exist, with the first of them."""
    more = f", and so do {len(existing) - 1} more results" if len(existing) > 1 else ""
    return (
        f"'{shown(existing[0].target)}' exists{more}; pass --overwrite to replace or "
        "--skip-existing to keep what is there"
    )
