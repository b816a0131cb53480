"""Pictures that a team styles, with the outcomes of a single process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import TracebackType

from app.batch.jobs.job import Job
from app.batch.pictures.outcome import Outcome
from app.batch.team.team import Team


class SharedPictures:
    """A counterpart of `Pipeline` for a team. A context that stops it after Ctrl+C."""

    def __init__(self, team: Team) -> None:
        self._team, self._written = team, 0

    def __enter__(self) -> SharedPictures:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is KeyboardInterrupt:
            self._written = max(self._written, self._team.stop())

    @property
    def written(self) -> int:
        return self._written

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """Style pictures, and yield each outcome as it is finished.

        Raises:
            StyleForgeError: If the team cannot do the work.
        """
        told: set[str] = set()
        for outcome in self._team.pictures(jobs):
            self._written += outcome.result is not None
            new = tuple(dict.fromkeys(each for each in outcome.notices if each not in told))
            told.update(new)  # every engine sends it
            yield replace(outcome, notices=new)
