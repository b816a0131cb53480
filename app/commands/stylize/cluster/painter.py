"""What an actor of a cluster does: it has an engine, and styles pictures or parts of a film."""

from __future__ import annotations

import argparse
import pickle
import shutil
import tempfile
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from app.commands.stylize.cluster.places import fetch, is_there, place_of, send
from app.commands.stylize.devices.worker import FilmRun, PictureRun, light
from app.commands.stylize.files import FAULTS
from app.commands.stylize.groups import groups
from app.commands.stylize.jobs import Job
from app.commands.stylize.limits import Limits
from app.commands.stylize.pipeline import Outcome, Pipeline
from app.commands.stylize.style_images import chosen_styles
from app.commands.stylize.styling import Styling
from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.result import RunInfo, StyledFrame, Timings
from app.export.film.parts.split import Part
from app.export.film.parts.work import make_parts
from app.export.film.styling import FilmStyling
from app.frame import Frame
from app.styles.library import Library
from kernels.ops.registry import prepare
from models.transformer_net import VARIANTS
from utils.devices import resolve, title
from utils.free_memory import free_bytes

COLUMN = "pickled"  # of the rows: an item, and what is said of it


@dataclass(frozen=True, slots=True)
class PainterSetup:
    """What an actor needs.

    Attributes:
        args: What the flags were parsed to; it reads their files itself.
        config: That of the command line, with the actor's device.
        full: Whether the network is given every pixel of the pictures.
        run: What is to be done.
        threads: Of the processor, for this actor.
    """

    args: argparse.Namespace
    config: EngineConfig
    full: bool
    run: PictureRun | FilmRun
    threads: int


class Painter:
    """Answers batches of items, as Ray Data calls it. It knows nothing of Ray."""

    def __init__(self, setup: PainterSetup) -> None:
        torch.set_num_threads(setup.threads)
        self._setup = setup
        self._folder = Path(tempfile.mkdtemp(prefix="styleforge-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        library = Library.default()
        chosen, _ = chosen_styles(setup.args, library, self._folder)
        self._notices: list[str] = []
        self._config = setup.config.mixed(chosen)
        self._engine = Engine(library, on_notice=self._notices.append, free=free_bytes)
        self._engine.configure(self._config)
        if self._config.kernels != "baseline":
            for operations in self._engine.family.operations:
                prepare(family=operations)
        self._limits = Limits.now(self._config, setup.args.batch, self._engine, full=setup.full)

    def __call__(self, batch: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Answer items.

        Args:
            batch: With the pickled items, jobs or parts, under COLUMN.

        Returns:
            What is said of them, pickled, under COLUMN: pairs of an item and its answer, and of
            films what else is said.
        """
        items = [pickle.loads(each) for each in batch[COLUMN]]
        run = self._setup.run
        said = (
            self._pictures(items, run) if isinstance(run, PictureRun) else self._parts(items, run)
        )
        packed = np.empty(len(said), object)
        packed[:] = [pickle.dumps(each) for each in said]
        return {COLUMN: packed}

    def _pictures(self, jobs: Sequence[Job], run: PictureRun) -> list[tuple[Job, Outcome]]:
        said: list[tuple[Job, Outcome]] = []
        left: dict[Job, Job] = {}  # by the job with copies on this machine
        for number, job in enumerate(jobs):
            # An attempt that died with its node may have written it; again would be twice.
            if not self._setup.args.overwrite and is_there(job.target):
                said.append((job, Outcome(job, self._earlier())))
                continue
            try:
                left[self._here(job, number)] = job
            except FAULTS as exc:
                said.append((job, light(Outcome(job, error=exc))))
        styling = Styling(self._engine, self._limits, self._notices)
        budget, size = self._limits.picture_bytes, self._config.size
        with Pipeline(styling, budget, size, self._setup.threads, run.depth) as pipeline:
            for outcome in pipeline.run(groups(left, self._limits)):
                job = left[outcome.job]
                said.append((job, light(self._sent(replace(outcome, job=job), outcome.job))))
        return said

    def _earlier(self) -> StyledFrame:
        """What is told of a result that an attempt has made whose word was lost."""
        config, empty = self._config, Frame(np.empty((0, 0, 3), np.uint8))
        device = title(resolve(config.device))
        running = RunInfo(VARIANTS[config.kernels].title, config.precision, device)
        return StyledFrame(empty, empty, config, Timings(), (0, 0), running)

    def _here(self, job: Job, number: int) -> Job:
        """The job with files of this machine in place of addresses."""
        source, target = job.source, job.target
        if place_of(source) is not None:
            source = self._folder / f"{number}-in{source.suffix}"
            fetch(job.source, source)
        if place_of(target) is not None:
            target = self._folder / f"{number}-out{target.suffix}"
        return Job(source, target)

    def _sent(self, outcome: Outcome, here: Job) -> Outcome:
        """Send a result to its address, and delete the copies."""
        error = outcome.error
        try:
            if here.target != outcome.job.target and error is None:
                send(here.target, outcome.job.target)
        except FAULTS as exc:
            error = exc
        for copy, original in (
            (here.source, outcome.job.source),
            (here.target, outcome.job.target),
        ):
            if copy != original:
                copy.unlink(missing_ok=True)
        return outcome if error is outcome.error else replace(outcome, error=error, styled=None)

    def _parts(self, parts: Sequence[Part], run: FilmRun) -> list[object]:
        self._engine.configure(replace(run.config, device=self._config.device))
        self._engine.reset_history()
        heard = _Heard()
        styling = FilmStyling(self._engine, run.batch)
        end = make_parts(run.work, styling, parts, heard, self._notices)
        return [*heard.said, end]


class _Heard:
    """Keeps what is said until the batch is answered."""

    def __init__(self) -> None:
        self.said: list[object] = []
        self.on_stop: Callable[[], object] = lambda: None

    def answer(self, item: Hashable, value: object) -> None:
        self.said.append((item, value))

    def news(self, value: object) -> None:
        self.said.append(value)


def rows_of(items: Sequence[object]) -> list[dict[str, bytes]]:
    """The rows that `Painter` takes batches of."""
    return [{COLUMN: pickle.dumps(item)} for item in items]


def said_in(batch: dict[str, NDArray[Any]]) -> Iterator[Any]:
    """What `Painter` says in a batch of its rows."""
    return (pickle.loads(each) for each in batch[COLUMN])
