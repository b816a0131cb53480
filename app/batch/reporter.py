"""The receiver of a run's events, which the caller implements."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from app.batch.jobs.job import Job
from app.batch.pictures.outcome import Outcome
from app.batch.tally import FilmOutcome, Tally
from app.export.film.job import FilmProgress


class Reporter(AbstractContextManager[object, None], Protocol):
    """A receiver of events, and a context around the pictures and films of the run."""

    def problem(self, text: str) -> None:
        """Report an unusable input, as a sentence."""
        ...

    def note(self, text: str) -> None:
        """Report a sentence."""
        ...

    def planned(self, jobs: Sequence[Job], skipped: Sequence[Job], replaced: int) -> None:
        """List the plan instead of carrying it out."""
        ...

    def begin(self, jobs: Sequence[Job], skipped: Sequence[Job], shard: str) -> None:
        """Report the amount of work, and the shard; "" for the whole run."""
        ...

    def waiting(self, text: str) -> AbstractContextManager[object]:
        """Show inside the context what the run waits for."""
        ...

    def picture(self, outcome: Outcome, error: str, tally: Tally) -> None:
        """Report the outcome of a picture; `error` is the reason if it failed, else ""."""
        ...

    def bands(self, share: float) -> None:
        """Report the finished share, 0 to 1, of a picture computed in bands of rows."""
        ...

    def frames(self, job: Job, progress: FilmProgress) -> None:
        """Report the progress of a film."""
        ...

    def film(self, outcome: FilmOutcome, tally: Tally) -> None:
        """Report the outcome of a film."""
        ...

    def end(self, tally: Tally) -> None:
        """Report the totals."""
        ...
