"""Pictures that several devices style, with the outcomes of a single device."""

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
    """A counterpart of `Pipeline` on several devices. A context that stops its processes.

    Args:
        depth: Bits per channel of the results; None for the pictures' own.
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
        return self._written

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """Style pictures, and yield each outcome as it is finished; idle processes take groups.

        Raises:
            CrewError: If the processes of all devices died.
        """
        told: set[str] = set()
        tasks = (group.jobs for group in groups(jobs, self._limits[0]))
        for message in self._crew.run(PictureRun(self._depth), tasks):
            if isinstance(message, Answer):
                outcome: Outcome = message.value
                self._written += outcome.styled is not None
                new = tuple(dict.fromkeys(each for each in outcome.notices if each not in told))
                told.update(new)  # every device sends it
                yield replace(outcome, notices=new)
