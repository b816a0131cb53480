"""What every reporter of a run is told."""

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
    """Is told of a run; open around its pictures and films."""

    @abstractmethod
    def problem(self, text: str) -> None:
        """Say a sentence about an input that cannot be used."""

    @abstractmethod
    def note(self, text: str) -> None:
        """Say a sentence."""

    @abstractmethod
    def planned(self, jobs: Sequence[Job], skipped: Sequence[Job], replaced: int) -> None:
        """List what would be done, in place of doing it."""

    @abstractmethod
    def begin(self, jobs: Sequence[Job], skipped: Sequence[Job], shard: str) -> None:
        """Say what there is to do, and which shard it is; "" for all of it."""

    def waiting(self, text: str) -> AbstractContextManager[object]:
        """Say during a block what is waited for."""
        return nullcontext()

    @abstractmethod
    def picture(self, outcome: Outcome, error: str, tally: Tally) -> None:
        """Say what became of a picture; `error` says why it failed and is "" otherwise."""

    @abstractmethod
    def bands(self, share: float) -> None:
        """Say how much of a picture is done that is computed in bands of rows, 0 to 1."""

    @abstractmethod
    def frames(self, job: Job, progress: FilmProgress) -> None:
        """Say how far a film is."""

    @abstractmethod
    def film(self, outcome: FilmOutcome, tally: Tally) -> None:
        """Say what became of a film."""

    @abstractmethod
    def end(self, tally: Tally) -> None:
        """Say what was done."""
