"""Films that several devices style, a part at a time each."""

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
    """Makes films: one after another, each on all devices, or several at once, each on one of them.

    Args:
        devices: The devices.
        setup: What they have in common.
        crew: Their processes.
        limits: What fits into memory for each of them.
    """

    takes_whole = True  # films that cannot be shared

    def __init__(
        self, devices: Sequence[str], setup: Setup, crew: Crew, limits: Sequence[Limits]
    ) -> None:
        self.devices, self._setup = devices, setup
        self._crew, self._limits = crew, limits

    @property
    def kinds(self) -> list[str]:
        """What the devices are, "cpu" or "cuda", each once."""
        return sorted({device.partition(":")[0] for device in self.devices})

    def sized(self, name: str, info: FilmInfo) -> tuple[int, int]:
        """What every device has room for: the long side of the network's input, and frames that go
        through it together.

        Raises:
            StylizeError: The size that was asked for does not fit into memory.
        """
        width, height = info.width, info.height
        size = min(each.size(name, width, height) for each in self._limits)
        return size, min(each.batch_of(width, height) for each in self._limits)

    def split(self, info: FilmInfo) -> Split:
        """Split a film, or say why one device makes it alone."""
        config = self._setup.config
        if config.smoothing > 0:
            return Split((), "smoothing takes every frame from the one before it")
        if texture_of(config, self._setup.library) > 0:
            return Split(
                (),
                "its texture moves with the scene from the first frame on; --texture 0 "
                "leaves it out",
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

        Args:
            request: What to make.
            parts: As `split` gives them.
            config: For every frame.
            batch: How many frames go through the network together.
            told: Told how far it is.
            on_notice: Told what the engines have to say.
            stopped: Asked now and then whether to stop.

        Raises:
            FilmCancelled: It was stopped; finished parts are kept.
            StyleForgeError: It cannot be made; finished parts are kept.
        """

        def makers(work: FilmWork, left: Sequence[Part]) -> Iterator[Said]:
            run = FilmRun(work, replace(config, texture=0.0), batch)  # which it has, see `split`
            return self.made(run, left, stopped)

        film = SharedFilm(request, parts, len(self.devices), told, on_notice)
        return film.run(makers)

    def whole(
        self,
        films: Sequence[WholeFilm],
        told: Callable[[int, FilmProgress], object],
        stopped: Callable[[], bool],
    ) -> Iterator[tuple[int, WholeEnd]]:
        """Make films whose frames one device makes, each on the device that is idle first.

        Args:
            films: The films.
            told: Told the place of a film and how far it is.
            stopped: Asked now and then whether to stop; finished parts are kept.

        Yields:
            The place of a film and what became of it, as it is finished; fewer than all of them
            where it was stopped.

        Raises:
            CrewError: The processes of all devices died.
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
        """Have parts made, and say what becomes of them; fewer where it was stopped."""
        for message in self._crew.run(run, ((part,) for part in left), stopped):
            if isinstance(message, Answer):
                assert isinstance(message.item, Part)
                yield message.item, message.value
            else:
                yield message.value
        if stopped():
            self._crew.stop()


def texture_of(config: EngineConfig, library: Library) -> float:
    """The amount of texture in a film."""
    automatic = sum(share * library.get(key).stream_texture for key, share in config.parts)
    return config.texture_or(automatic)
