"""Pictures that several devices style, with outcomes as of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import TracebackType

from app.commands.stylize.devices.crew import Crew
from app.commands.stylize.devices.messages import Answer
from app.commands.stylize.devices.requests import PictureRun
from app.commands.stylize.groups import groups
from app.commands.stylize.jobs import Job
from app.commands.stylize.limits import Limits
from app.commands.stylize.pipeline import Outcome


class SharedPictures:
    """As `Pipeline`, on several devices. To be used as a context, whose end stops the processes
    where it was interrupted.

    Args:
        crew: The processes of the devices.
        limits: What fits into memory for each of them.
        depth: Bits per channel of the results; None for those of the pictures.
    """

    def __init__(self, crew: Crew, limits: Sequence[Limits], depth: int | None) -> None:
        self._crew, self._limits, self._depth = crew, limits, depth
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
            self._written = max(self._written, sum(self._crew.stop()))

    @property
    def written(self) -> int:
        """How many results were written."""
        return self._written

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """Style pictures.

        Args:
            jobs: Of which groups are given to the processes in their order, each to the one that
                is idle first.

        Yields:
            What became of each picture, as it is finished.

        Raises:
            CrewError: The processes of all devices died.
        """
        told: set[str] = set()
        tasks = (group.jobs for group in groups(jobs, self._limits[0]))
        for message in self._crew.run(PictureRun(self._depth), tasks):
            if isinstance(message, Answer):
                outcome: Outcome = message.value
                self._written += outcome.styled is not None
                new = tuple(dict.fromkeys(each for each in outcome.notices if each not in told))
                told.update(new)  # every device says it
                yield replace(outcome, notices=new)
