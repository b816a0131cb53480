"""The processes of several devices as a team."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from app.batch.devices.crew import Crew
from app.batch.devices.messages import Answer, News
from app.batch.devices.worker import work
from app.batch.jobs.job import Job
from app.batch.limits import Limits
from app.batch.pictures.groups import groups
from app.batch.pictures.outcome import Outcome
from app.batch.reporter import Reporter
from app.batch.team.requests import FilmRun, FilmTask, PictureRun, Setup, WholeEnd, WholeRun
from app.export.film.info import FilmInfo
from app.export.film.job import FilmProgress
from app.export.film.parts.shared import Said
from app.export.film.parts.split import Part


class DeviceTeam:
    """A process for each device; implements app.batch.team.team.Team.

    Args:
        depth: Bits per channel of pictures; None for their own.

    Raises:
        CrewError: If a device cannot be used.
    """

    def __init__(
        self, devices: Sequence[str], setup: Setup, depth: int | None, reporter: Reporter
    ) -> None:
        self.devices, self._depth = devices, depth
        self.kinds = sorted({device.partition(":")[0] for device in devices})
        setups = [
            replace(setup, config=replace(setup.config, device=device), sharing=len(devices))
            for device in devices
        ]
        with reporter.waiting(f"Starting processes for {', '.join(devices)} ..."):
            self._crew = Crew(devices, work, setups, reporter.problem)
            try:
                self._limits: list[Limits] = self._crew.ready()
            except BaseException:
                self._crew.__exit__()
                raise

    def __enter__(self) -> DeviceTeam:
        return self

    def __exit__(self, *how: object) -> None:
        self._crew.__exit__(*how)

    def pictures(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """Have pictures styled; idle processes take groups."""
        tasks = (group.jobs for group in groups(jobs, self._limits[0]))
        for message in self._crew.run(PictureRun(self._depth), tasks):
            if isinstance(message, Answer):
                yield message.value

    def stop(self) -> int:
        return sum(self._crew.stop())

    def sized(self, name: str, info: FilmInfo) -> tuple[int, int]:
        width, height = info.width, info.height
        size = min(each.size(name, width, height) for each in self._limits)
        return size, min(each.batch_of(width, height) for each in self._limits)

    def parts(
        self, run: FilmRun, left: Sequence[Part], stopped: Callable[[], bool]
    ) -> Iterator[Said]:
        for message in self._crew.run(run, ((part,) for part in left), stopped):
            if isinstance(message, Answer):
                assert isinstance(message.item, Part)
                yield message.item, message.value
            else:
                yield message.value
        if stopped():
            self._crew.stop()

    def whole(
        self,
        films: Sequence[FilmTask],
        told: Callable[[int, FilmProgress], object],
        stopped: Callable[[], bool],
    ) -> Iterator[tuple[int, WholeEnd]]:
        tasks = ((place,) for place in range(len(films)))
        for message in self._crew.run(WholeRun(tuple(films)), tasks, stopped):
            if isinstance(message, Answer):
                assert isinstance(message.item, int)
                yield message.item, message.value
            elif isinstance(message, News):
                told(message.value.place, message.value.progress)
        if stopped():
            self._crew.stop()
