"""Execution of a run, pictures before films: alone, on several devices, or on a cluster."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from app.batch.manifest import Record
from app.commands.stylize.cluster import Cluster
from app.commands.stylize.devices import Setup, Team
from app.commands.stylize.films import Films
from app.commands.stylize.groups import groups
from app.commands.stylize.inputs import shown
from app.commands.stylize.jobs import Job
from app.commands.stylize.limits import Limits
from app.commands.stylize.pipeline import Outcome, Pipeline
from app.commands.stylize.reporters import Reporter, Tally
from app.commands.stylize.styling import Styling
from app.engine.engine import Engine
from kernels.table.registry import prepare
from utils.text import printable


@dataclass(frozen=True, slots=True)
class Run:
    """A run.

    Attributes:
        notices: Where the engine adds its notices; emptied here.
    """

    args: argparse.Namespace
    devices: list[str]
    setup: Setup
    engine: Engine
    notices: list[str]
    reporter: Reporter
    tally: Tally
    record: Record | None

    def carry_out(self, jobs: Sequence[Job]) -> None:
        """Style the pictures and make the films, and report and record each outcome.

        Raises:
            StyleForgeError: If the devices, or the cluster, cannot do the work.
            KeyboardInterrupt: If the run was stopped; finished results are complete.
        """
        pictures = [job for job in jobs if not job.film]
        films = [job for job in jobs if job.film]
        # A device without a picture to style gets no process.
        devices = self.devices if films else self.devices[: len(pictures)]
        with self._team(devices) as team:
            if pictures:
                self._style(pictures, self._alone() if team is None else team.pictures)
            if films:
                self._make(films, team)

    def _team(self, devices: Sequence[str]) -> AbstractContextManager[Team | Cluster | None]:
        """Return the team that shares the run; None for the engine of this process."""
        args, setup, reporter = self.args, self.setup, self.reporter
        if args.cluster is not None:
            return Cluster(args, setup, self.engine, reporter)
        if len(self.devices) > 1:
            return Team(devices, setup, reporter, args.depth)
        return nullcontext()

    def _alone(self) -> _Alone:
        limits = self._limits_on(self.setup.config.device)
        return _Alone(limits, self.engine, self.notices, self.args.depth)

    def _limits_on(self, device: str) -> Limits:
        """Prepare the engine of this process for a device, and return the memory limits there."""
        setup, engine = self.setup, self.engine
        config = replace(setup.config, device=device)
        engine.configure(config)
        if config.kernels != "baseline":
            with self.reporter.waiting("Preparing the native kernels ..."):
                for operations in engine.family.operations:
                    prepare(family=operations)
        return Limits.now(config, setup.batch, engine, full=setup.full)

    def _style(self, jobs: Sequence[Job], painting: _Painting) -> None:
        try:
            with painting:
                for outcome in painting.run(jobs):
                    self._tell(outcome)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"Stopped after {painting.written} of {len(jobs)} pictures; those are complete."
            ) from None

    def _make(self, jobs: Sequence[Job], team: Team | Cluster | None) -> None:
        films = Films(
            self.args,
            self.setup,
            self.engine,
            cache(self._limits_on),
            None if team is None else team.films,
            self.notices,
            self.reporter,
            self.record,
        )
        films.run(jobs, self.tally)

    def _tell(self, outcome: Outcome) -> None:
        self.tally.add(outcome)
        job, error = outcome.job, ""
        if outcome.error is not None:
            error = _error_text(job.source, outcome.error)
        if self.record and error:
            self.record.failed(job.target, error)
        elif self.record:
            self.record.done(job.target)
        self.reporter.picture(outcome, error, self.tally)


class _Painting(Protocol):
    """A styler of pictures. Use it as a context."""

    def __enter__(self) -> object: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...

    @property
    def written(self) -> int: ...

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome]: ...


class _Alone:
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
        return self._pipeline.written

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        return self._pipeline.run(groups(jobs, self._limits))


def _error_text(path: Path, exc: Exception) -> str:
    """Describe the error with the whole path, because several folders may contain the same name."""
    if isinstance(exc, OSError):
        return f"'{shown(exc.filename or path)}': {exc.strerror or exc}"
    fault, name = str(exc), printable(path.name)
    if f"'{name}'" in fault:
        return fault.replace(f"'{name}'", f"'{shown(path)}'", 1)
    return fault if shown(path) in fault else f"'{shown(path)}': {fault}"
