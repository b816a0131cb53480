"""The interface of all reporters of a run."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from app.commands.reporting import Display
from app.commands.stylize.jobs import Job
from app.commands.stylize.pipeline import Outcome
from app.commands.stylize.reporters.tally import FilmOutcome, Tally
from app.export.film.job import FilmProgress


class Reporter(Display):
    """A receiver of a run's events; open around its pictures and films."""

    @abstractmethod
    def problem(self, text: str) -> None:
        """Report an unusable input, as a sentence."""

    @abstractmethod
    def note(self, text: str) -> None:
        """Report a sentence."""

    @abstractmethod
    def planned(self, jobs: Sequence[Job], skipped: Sequence[Job], replaced: int) -> None:
        """List the plan instead of carrying it out."""

    @abstractmethod
    def begin(self, jobs: Sequence[Job], skipped: Sequence[Job], shard: str) -> None:
        """Report the amount of work, and the shard; "" for the whole run."""

    def waiting(self, text: str) -> AbstractContextManager[object]:
        return nullcontext()

    @abstractmethod
    def picture(self, outcome: Outcome, error: str, tally: Tally) -> None:
        """Report the outcome of a picture; `error` is the reason if it failed, else ""."""

    @abstractmethod
    def bands(self, share: float) -> None:
        """Report the finished share, 0 to 1, of a picture computed in bands of rows."""

    @abstractmethod
    def frames(self, job: Job, progress: FilmProgress) -> None:
        """Report the progress of a film."""

    @abstractmethod
    def film(self, outcome: FilmOutcome, tally: Tally) -> None:
        """Report the outcome of a film."""

    @abstractmethod
    def end(self, tally: Tally) -> None:
        """Report the totals."""
