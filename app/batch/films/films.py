"""The making of a run's films."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from app.batch.batch_engine import BatchEngine
from app.batch.error import StylizeError, shown
from app.batch.films.preparation import FilmPreparation
from app.batch.jobs.job import Job
from app.batch.manifest import Record
from app.batch.reporter import Reporter
from app.batch.tally import FilmOutcome, Tally
from app.batch.team.films import make_shared
from app.batch.team.requests import FilmTask
from app.errors import StyleForgeError
from app.export.film.job import FilmCancelled, FilmProgress
from app.export.film.report import FilmReport
from app.processes.stop_signal import stop_requested
from utils.files.atomic import atomic_write


class Films:
    """A maker of a run's films, one after another."""

    def __init__(
        self,
        preparation: FilmPreparation,
        engine: BatchEngine,
        reporter: Reporter,
        tally: Tally,
        record: Record | None,
    ) -> None:
        self._preparation, self._team = preparation, preparation.team
        self._engine = engine
        self._reporter, self._tally, self._record = reporter, tally, record
        self._notices: list[str] = []  # of the team's engines
        self._reports: list[dict[str, Any]] = []
        self._whole: dict[Job, FilmTask] = {}  # made by the processes, one film each

    def run(self, jobs: Sequence[Job]) -> None:
        """Make films, ones that a single device makes whole last; failures do not stop the others.

        Raises:
            StylizeError: If the file for the reports cannot be written.
            KeyboardInterrupt: If the run was stopped; finished parts of the current film stay.
        """
        for job in jobs:
            outcome = self._made(job)
            if outcome is not None:
                self._tell(outcome)
        for outcome in self._made_whole():
            self._tell(outcome)
        report = self._preparation.options.report
        if report is not None:
            _write_report(report, self._reports)

    def _tell(self, outcome: FilmOutcome) -> None:
        self._tally.add_film(outcome)
        target = outcome.job.target
        if self._record and outcome.report is None:
            self._record.failed(target, outcome.error)
        elif self._record:
            self._record.done(target)
        if outcome.report is not None:
            files = {"film": str(outcome.job.source), "result": str(target)}
            self._reports.append({**files, **outcome.report.as_dict()})
        self._reporter.film(outcome, self._tally)

    def _told(self, job: Job, now: FilmProgress) -> None:
        self._reporter.frames(job, now)
        if self._record and now.count:
            self._record.under_way(job.target, min(1.0, now.done / now.count))

    def _made(self, job: Job) -> FilmOutcome | None:
        """Make a film; return None if it is deferred to the films made whole."""
        try:
            report = self._make(job)
        except FilmCancelled as exc:
            raise KeyboardInterrupt(str(exc)) from None
        except StyleForgeError as exc:
            return FilmOutcome(job, None, str(exc), self._taken_notices())
        return report and FilmOutcome(job, report, "", self._taken_notices())

    def _make(self, job: Job) -> FilmReport | None:
        prepared = self._preparation.prepare(job)
        film, split = prepared.film, prepared.split
        if split is not None and split.reason:
            self._whole[job] = film
            return None
        with stop_requested() as asked:
            if self._team is not None and split is not None:
                return make_shared(
                    self._team,
                    film,
                    split,
                    lambda now: self._told(job, now),
                    self._notices.append,
                    asked.is_set,
                )
            return self._make_alone(job, film, asked.is_set)

    def _make_alone(self, job: Job, film: FilmTask, stopped: Callable[[], bool]) -> FilmReport:
        def told(now: FilmProgress) -> None:
            self._told(job, now)
            if stopped():
                making.cancel()

        making = self._engine.film(film, told)
        return making.run()

    def _made_whole(self) -> Iterator[FilmOutcome]:
        """Have the processes make whole films, each process one at a time."""
        if not self._whole:
            return
        assert self._team is not None
        assert self._team.whole is not None
        jobs, count = list(self._whole), 0
        with stop_requested() as asked:
            coming = self._team.whole(
                list(self._whole.values()),
                lambda place, now: self._told(jobs[place], now),
                asked.is_set,
            )
            for count, (place, end) in enumerate(coming, 1):  # noqa: B007
                yield FilmOutcome(jobs[place], end.report, end.error, end.notices)
        if count < len(jobs):
            raise KeyboardInterrupt(
                f"Stopped after {count} of {len(jobs)} films painted on one device; finished "
                "parts of the others are kept."
            )

    def _taken_notices(self) -> tuple[str, ...]:
        taken = (*self._notices, *self._engine.taken_notices())
        self._notices.clear()
        return taken


def _write_report(path: Path, reports: list[dict[str, Any]]) -> None:
    try:
        atomic_write(path, json.dumps(reports, indent=2).encode())
    except OSError as exc:
        raise StylizeError(f"'{shown(path)}' cannot be written: {exc.strerror}") from exc
