"""Totals of a run so far, and the outcome of a film."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from app.batch.jobs.job import Job
from app.batch.pictures.outcome import Outcome
from app.export.film.report import FilmReport


@dataclass(frozen=True, slots=True)
class FilmOutcome:
    """The outcome of a film.

    Attributes:
        report: The report; None if the film failed.
        notices: The engine's notices meanwhile, one sentence each.
    """

    job: Job
    report: FilmReport | None
    error: str = ""
    notices: tuple[str, ...] = ()


@dataclass
class Tally:
    """The totals of a run.

    Attributes:
        output: Where the results are.
        count: How many pictures and films the run has to make.
        batches: For each batch size, the number of pictures stylized in such batches.
        incomplete: How many films could not be read to their end.
        running: What ran for the last picture.
    """

    output: Path
    count: int = 0
    skipped: int = 0
    batches: Counter[int] = field(default_factory=Counter)
    films: int = 0
    incomplete: int = 0
    failed: int = 0
    running: str = ""

    @property
    def done(self) -> int:
        return self.batches.total() + self.films

    def add(self, outcome: Outcome) -> None:
        self.failed += outcome.fault is not None
        if outcome.result is not None:
            self.batches[outcome.result.batch] += 1
            self.running = str(outcome.result.running)

    def add_film(self, outcome: FilmOutcome) -> None:
        self.films += outcome.report is not None
        self.failed += outcome.report is None
        self.incomplete += outcome.report is not None and bool(outcome.report.faults)
