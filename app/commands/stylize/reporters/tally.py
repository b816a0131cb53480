"""Totals of a run so far, and the outcome of a film."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.commands.stylize.inputs import shown
from app.commands.stylize.jobs import Job
from app.commands.stylize.pipeline import Outcome
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
    """The totals for the end of a run.

    Attributes:
        batches: For each batch size, the number of pictures stylized in such batches.
        incomplete: How many of them could not be read to their end.
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

    @property
    def summary(self) -> str:
        """The closing line for pictures: the number and place of the results, and what ran."""
        together = "".join(
            f", {count} of them in {'a batch' if count == size else 'batches'} of {size}"
            for size, count in sorted(self.batches.items(), reverse=True)
            if size > 1
        )
        done = _number(self.batches.total(), "picture")
        return f"{done} in {shown(self.output)}{together} ({self.running})"

    def add(self, outcome: Outcome) -> None:
        self.failed += outcome.error is not None
        if outcome.styled is not None:
            self.batches[outcome.styled.batch] += 1
            self.running = str(outcome.styled.running)

    def add_film(self, outcome: FilmOutcome) -> None:
        self.films += outcome.report is not None
        self.failed += outcome.report is None
        self.incomplete += outcome.report is not None and bool(outcome.report.faults)


def in_words(jobs: Sequence[Job]) -> str:
    films = sum(job.film for job in jobs)
    counts = (len(jobs) - films, "picture"), (films, "film")
    return " and ".join(_number(*each) for each in counts if each[0]) or "0 pictures"


def _number(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"
