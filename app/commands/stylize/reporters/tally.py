"""What a run has done so far, and what became of a film."""

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
    """What became of a film.

    Attributes:
        job: Its files.
        report: What was made; None if it failed.
        error: Why it failed; "" otherwise.
        notices: What the engine said meanwhile, one sentence each.
    """

    job: Job
    report: FilmReport | None
    error: str = ""
    notices: tuple[str, ...] = ()


@dataclass
class Tally:
    """What is to be said at the end.

    Attributes:
        output: Where the results are.
        count: How many pictures and films there are to stylize.
        skipped: How many results were there before.
        batches: How many pictures were stylized in batches of each size.
        films: How many films were made.
        incomplete: How many of these could not be read to their end.
        failed: How many pictures and films failed.
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
        """How many pictures and films were made."""
        return self.batches.total() + self.films

    @property
    def summary(self) -> str:
        """The closing line of pictures: how many results are where, and what ran."""
        together = "".join(
            f", {count} of them in {'a batch' if count == size else 'batches'} of {size}"
            for size, count in sorted(self.batches.items(), reverse=True)
            if size > 1
        )
        done = _number(self.batches.total(), "picture")
        return f"{done} in {shown(self.output)}{together} ({self.running})"

    def add(self, outcome: Outcome) -> None:
        """Count a picture."""
        self.failed += outcome.error is not None
        if outcome.styled is not None:
            self.batches[outcome.styled.batch] += 1
            self.running = str(outcome.styled.running)

    def add_film(self, outcome: FilmOutcome) -> None:
        """Count a film."""
        self.films += outcome.report is not None
        self.failed += outcome.report is None
        self.incomplete += outcome.report is not None and bool(outcome.report.faults)


def in_words(jobs: Sequence[Job]) -> str:
    """Say how many pictures and films there are."""
    films = sum(job.film for job in jobs)
    counts = (len(jobs) - films, "picture"), (films, "film")
    return " and ".join(_number(*each) for each in counts if each[0]) or "0 pictures"


def _number(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"
