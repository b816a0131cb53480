"""The contract of the processes or machines that share a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from app.batch.jobs.job import Job
from app.batch.pictures.outcome import Outcome
from app.batch.team.requests import FilmRun, FilmTask, WholeEnd
from app.export.film.info import FilmInfo
from app.export.film.job import FilmProgress
from app.export.film.parts.shared import Said
from app.export.film.parts.split import Part


class WholeFilms(Protocol):
    """A maker of films that cannot be shared, each on one device."""

    def __call__(
        self,
        films: Sequence[FilmTask],
        told: Callable[[int, FilmProgress], object],
        stopped: Callable[[], bool],
    ) -> Iterator[tuple[int, WholeEnd]]:
        """Make each film on the first idle device.

        Args:
            told: Called with the index of a film and its progress.
            stopped: Polled; returns whether to stop. Finished parts stay.

        Yields:
            The index of each finished film and its outcome; fewer than all of them after a stop.

        Raises:
            StyleForgeError: If the team cannot do the work.
        """
        ...


class Team(AbstractContextManager["Team", None], Protocol):
    """The processes or machines that share a run, and a context that ends their work."""

    @property
    def devices(self) -> Sequence[str]:
        """The devices of the processes on this machine."""
        ...

    @property
    def kinds(self) -> Sequence[str]:
        """The distinct kinds of the devices, "cpu" or "cuda"."""
        ...

    @property
    def whole(self) -> WholeFilms | None:
        """The maker of films that cannot be shared; None if the run's own process makes them."""
        ...

    def pictures(self, jobs: Sequence[Job]) -> Iterable[Outcome]:
        """Have pictures styled, and yield the outcome of each job, in any order.

        Raises:
            StyleForgeError: If the team cannot do the work.
        """
        ...

    def stop(self) -> int:
        """Ask the processes to stop; return how many pictures they wrote, or 0 if unknown."""
        ...

    def sized(self, name: str, info: FilmInfo) -> tuple[int, int]:
        """Return the network's long side and the batch size that fit on every device.

        Raises:
            StylizeError: If the requested size does not fit into memory.
        """
        ...

    def parts(
        self, run: FilmRun, left: Sequence[Part], stopped: Callable[[], bool]
    ) -> Iterator[Said]:
        """Have parts made, and yield the messages about them; fewer than all after a stop.

        Raises:
            StyleForgeError: If the team cannot do the work.
        """
        ...
