"""Actors of a cluster: each has an engine, and styles pictures or parts of a film."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from app.batch.batch_engine import BatchEngine
from app.batch.cluster.rows import Batch, PartAnswer, Said, batch_of, items_in
from app.batch.jobs.job import Job
from app.batch.jobs.places import fetch, is_there, place_of, send
from app.batch.pictures.files import FAULTS
from app.batch.pictures.groups import groups
from app.batch.pictures.outcome import Fault, Outcome, Result
from app.batch.request import Request
from app.batch.team.requests import FilmRun, PictureRun, Setup
from app.engine.config import EngineConfig
from app.engine.painting_devices import painting_device, painting_title
from app.engine.result import RunInfo, Timings
from app.export.film.parts.split import Part
from app.export.film.parts.work import LineCount, MadePart
from app.styles.catalog import Catalog
from models.transformer_net import ALL_VARIANTS


@dataclass(frozen=True, slots=True)
class PainterSetup:
    """The setup of an actor.

    Attributes:
        request: The run, whose styles the actor makes again.
        config: The run's config, with the actor's device.
        threads: Processor threads.
    """

    request: Request
    config: EngineConfig
    run: PictureRun | FilmRun
    threads: int = 1


class Painter:
    """A callable that Ray Data applies to batches of items. It is independent of Ray."""

    def __init__(self, setup: PainterSetup) -> None:
        torch.set_num_threads(setup.threads)
        self._setup = setup
        self._folder = Path(tempfile.mkdtemp(prefix="styleforge-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        catalog = Catalog.default()
        request = setup.request
        config = setup.config.mixed(request.styles.parts(catalog, self._folder))
        self._engine = BatchEngine(Setup(catalog, config, request.batch, request.full))
        self._engine.prepare_kernels()
        self._limits = self._engine.limits()

    def __call__(self, batch: Batch) -> Batch:
        """Answer jobs or parts in `rows_of` form by a batch for `said_in`; films send progress."""
        items, run = items_in(batch), self._setup.run
        if isinstance(run, PictureRun):
            return batch_of(self._pictures([item for item in items if isinstance(item, Job)], run))
        return batch_of(self._parts([item for item in items if isinstance(item, Part)], run))

    def _pictures(self, jobs: Sequence[Job], run: PictureRun) -> list[Outcome]:
        said: list[Outcome] = []
        left: dict[Job, Job] = {}  # the original job, by the job with local copies
        for number, job in enumerate(jobs):
            # An attempt that died with its node may have written the result already.
            if not self._setup.request.overwrite and is_there(job.target):
                said.append(Outcome(job, self._earlier()))
                continue
            try:
                left[self._here(job, number)] = job
            except FAULTS as exc:
                said.append(Outcome(job, None, Fault.of(exc)))
        with self._engine.pipeline(self._limits, run.depth, self._setup.threads) as pipeline:
            for outcome in pipeline.run(groups(left, self._limits)):
                job, here = left[outcome.job], outcome.job
                said.append(self._sent(replace(outcome, job=job), here))
        return said

    def _earlier(self) -> Result:
        """Return a substitute for the lost answer about a result that an earlier attempt wrote."""
        config = self._setup.config
        device = painting_title(painting_device(config.device))
        running = RunInfo(ALL_VARIANTS[config.kernels].title, self._limits.precision, device)
        return Result(Timings(), running)

    def _here(self, job: Job, number: int) -> Job:
        """Return the job with local files in place of addresses."""
        source, target = job.source, job.target
        if place_of(source) is not None:
            source = self._folder / f"{number}-in{source.suffix}"
            fetch(job.source, source)
        if place_of(target) is not None:
            target = self._folder / f"{number}-out{target.suffix}"
        return replace(job, source=source, target=target)

    def _sent(self, outcome: Outcome, here: Job) -> Outcome:
        """Send a result to its address, and delete the local copies."""
        job = outcome.job
        try:
            if here.target != job.target and outcome.fault is None:
                send(here.target, job.target)
        except FAULTS as exc:
            outcome = replace(outcome, result=None, fault=Fault.of(exc))
        for copy, original in ((here.source, job.source), (here.target, job.target)):
            if copy != original:
                copy.unlink(missing_ok=True)
        return outcome

    def _parts(self, parts: Sequence[Part], run: FilmRun) -> list[Said]:
        heard = _Heard()
        end = self._engine.parts(run, parts, heard)
        return [*heard.said, end]


class _Heard:
    """A collector of messages until the batch is answered."""

    def __init__(self) -> None:
        self.said: list[Said] = []
        self.on_stop: Callable[[], object] = lambda: None

    def answer(self, item: Hashable, value: object) -> None:
        assert isinstance(item, Part)
        assert value is None or isinstance(value, MadePart)
        self.said.append(PartAnswer(item, value))

    def news(self, value: object) -> None:
        assert isinstance(value, LineCount)
        self.said.append(value)
