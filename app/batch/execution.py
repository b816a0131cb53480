"""Execution of a run, pictures before films: alone, on several devices, or on a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache

from app.batch.batch_engine import BatchEngine
from app.batch.cluster.team import ClusterTeam
from app.batch.devices.team import DeviceTeam
from app.batch.films.films import Films
from app.batch.films.preparation import FilmPreparation
from app.batch.jobs.job import Job
from app.batch.limits import Limits
from app.batch.manifest import Record
from app.batch.pictures.groups import groups
from app.batch.pictures.outcome import Outcome
from app.batch.pictures.pipeline import Pipeline
from app.batch.reporter import Reporter
from app.batch.request import Request
from app.batch.tally import Tally
from app.batch.team.pictures import SharedPictures
from app.batch.team.requests import Setup
from app.batch.team.team import Team


@dataclass(frozen=True, slots=True)
class Execution:
    """The execution of a planned run.

    Attributes:
        devices: The devices of the request; several share the run.
        engine: The engine of this process.
        record: The manifest; None if the run writes none.
    """

    request: Request
    devices: Sequence[str]
    setup: Setup
    engine: BatchEngine
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
                self._style(pictures, team)
            if films:
                self._make(films, team)

    def _team(self, devices: Sequence[str]) -> AbstractContextManager[Team | None]:
        """Return the team that shares the run; None for the engine of this process."""
        request, setup, reporter = self.request, self.setup, self.reporter
        if request.cluster is not None:
            return ClusterTeam(request, setup.config, self.engine, reporter)
        if len(self.devices) > 1:
            return DeviceTeam(devices, setup, request.depth, reporter)
        return nullcontext()

    def _limits_on(self, device: str) -> Limits:
        """Prepare the engine of this process for a device, and return the memory limits there."""
        self.engine.use(device)
        if self.engine.uses_kernels:
            with self.reporter.waiting("Preparing the native kernels ..."):
                self.engine.prepare_kernels()
        return self.engine.limits()

    def _style(self, jobs: Sequence[Job], team: Team | None) -> None:
        if team is None:
            limits = self._limits_on(self.setup.config.device)
            alone = self.engine.pipeline(limits, self.request.depth)
            self._tell_all(alone, alone.run(groups(jobs, limits)), len(jobs))
        else:
            shared = SharedPictures(team)
            self._tell_all(shared, shared.run(jobs), len(jobs))

    def _make(self, jobs: Sequence[Job], team: Team | None) -> None:
        options, reporter = self.request.films, self.reporter
        limits_on = cache(self._limits_on)
        preparation = FilmPreparation(options, self.setup, limits_on, team, reporter.note)
        Films(preparation, self.engine, reporter, self.tally, self.record).run(jobs)

    def _tell_all(
        self, painting: Pipeline | SharedPictures, outcomes: Iterator[Outcome], count: int
    ) -> None:
        try:
            with painting:
                for outcome in outcomes:
                    self._tell(outcome)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"Stopped after {painting.written} of {count} pictures; those are complete."
            ) from None

    def _tell(self, outcome: Outcome) -> None:
        self.tally.add(outcome)
        job, fault = outcome.job, outcome.fault
        error = "" if fault is None else fault.told(job.source)
        if self.record and error:
            self.record.failed(job.target, error)
        elif self.record:
            self.record.done(job.target)
        self.reporter.picture(outcome, error, self.tally)
