"""Pictures that a team styles, with the outcomes of a single process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import TracebackType

from app.batch.jobs.job import Job
from app.batch.pictures.pipeline import Outcome
from app.batch.team.team import Team
from app.engine.config import EngineConfig


class SharedPictures:
    """A counterpart of `Pipeline` for a team. A context that stops it after Ctrl+C."""

    def __init__(self, team: Team, config: EngineConfig) -> None:
        self._team, self._config = team, config
        self._written = 0

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
        for answer in self._team.pictures(jobs):
            outcome = answer.outcome(self._config)
            self._written += outcome.styled is not None
            new = tuple(dict.fromkeys(each for each in outcome.notices if each not in told))
            told.update(new)  # every engine sends it
            yield replace(outcome, notices=new)
