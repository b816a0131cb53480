"""Films that several devices style, each device one part at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from app.commands.stylize.devices.crew import Crew
from app.commands.stylize.devices.messages import Answer, News
from app.commands.stylize.devices.requests import FilmRun, Setup, WholeEnd, WholeFilm, WholeRun
from app.commands.stylize.limits import Limits
from app.engine.config import EngineConfig
from app.export.film.info import FilmInfo
from app.export.film.parts.request import FilmProgress, FilmRequest
from app.export.film.parts.shared import Said, SharedFilm
from app.export.film.parts.split import Part, Split, split
from app.export.film.parts.work import FilmWork
from app.export.film.report import FilmReport
from app.styles.library import Library


class SharedFilms:
    """A maker of films: each on all devices in sequence, or several at once on one device each."""

    takes_whole = True  # accepts films that cannot be shared

    def __init__(
        self, devices: Sequence[str], setup: Setup, crew: Crew, limits: Sequence[Limits]
    ) -> None:
        self.devices, self._setup = devices, setup
        self._crew, self._limits = crew, limits

    @property
    def kinds(self) -> list[str]:
        """The distinct kinds of the devices, "cpu" or "cuda"."""
        return sorted({device.partition(":")[0] for device in self.devices})

    def sized(self, name: str, info: FilmInfo) -> tuple[int, int]:
        """Return the network's long side and the batch size that fit on every device.

        Raises:
            StylizeError: If the requested size does not fit into memory.
        """
        width, height = info.width, info.height
        size = min(each.size(name, width, height) for each in self._limits)
        return size, min(each.batch_of(width, height) for each in self._limits)

    def split(self, info: FilmInfo) -> Split:
        """Split a film, or give the reason why one device makes it alone."""
        config = self._setup.config
        if config.smoothing > 0:
            return Split((), "smoothing needs the frame before each frame")
        if texture_of(config, self._setup.library) > 0:
            return Split(
                (),
                "texture follows the scene from the first frame on; --texture 0 turns it off",
            )
        return split(info)

    def make(
        self,
        request: FilmRequest,
        parts: Split,
        config: EngineConfig,
        batch: int,
        told: Callable[[FilmProgress], object],
        on_notice: Callable[[str], object],
        stopped: Callable[[], bool],
    ) -> FilmReport:
        """Make a film.

        Raises:
            FilmCancelled: If the run was stopped; finished parts stay.
            StyleForgeError: If the film cannot be made; finished parts stay.
        """

        def makers(work: FilmWork, left: Sequence[Part]) -> Iterator[Said]:
            run = FilmRun(work, replace(config, texture=0.0), batch)  # `split` allows no other
            return self.made(run, left, stopped)

        film = SharedFilm(request, parts, len(self.devices), told, on_notice)
        return film.run(makers)

    def whole(
        self,
        films: Sequence[WholeFilm],
        told: Callable[[int, FilmProgress], object],
        stopped: Callable[[], bool],
    ) -> Iterator[tuple[int, WholeEnd]]:
        """Make films that one device makes alone, each on the first idle device.

        Args:
            stopped: Polled; returns whether to stop. Finished parts stay.

        Yields:
            The index of each finished film and its outcome; fewer than all of them after a stop.

        Raises:
            CrewError: If the processes of all devices died.
        """
        tasks = ((place,) for place in range(len(films)))
        for message in self._crew.run(WholeRun(tuple(films)), tasks, stopped):
            if isinstance(message, Answer):
                assert isinstance(message.item, int)
                yield message.item, message.value
            elif isinstance(message, News):
                told(message.value.place, message.value.progress)
        if stopped():
            self._crew.stop()

    def made(
        self, run: FilmRun, left: Sequence[Part], stopped: Callable[[], bool]
    ) -> Iterator[Said]:
        """Have parts made and yield the messages about them; fewer than all after a stop."""
        for message in self._crew.run(run, ((part,) for part in left), stopped):
            if isinstance(message, Answer):
                assert isinstance(message.item, Part)
                yield message.item, message.value
            else:
                yield message.value
        if stopped():
            self._crew.stop()


def texture_of(config: EngineConfig, library: Library) -> float:
    automatic = sum(share * library.get(key).stream_texture for key, share in config.parts)
    return config.texture_or(automatic)
