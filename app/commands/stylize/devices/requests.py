"""What a process that shares a run needs, what may be asked of it, and what it says of films."""

from __future__ import annotations

from dataclasses import dataclass

from app.engine.config import EngineConfig
from app.export.film.job import FilmProgress, FilmRequest
from app.export.film.parts.work import FilmWork
from app.export.film.report import FilmReport
from app.styles.library import Library


@dataclass(frozen=True, slots=True)
class Setup:
    """What a process needs before it can begin.

    Attributes:
        library: Where the styles are.
        config: That of the command line, with the device of the process.
        batch: The most pictures in a batch; None for automatic.
        full: Whether the network is given every pixel of the pictures.
        sharing: How many processes share this machine's processor and memory.
    """

    library: Library
    config: EngineConfig
    batch: int | None
    full: bool
    sharing: int = 1


@dataclass(frozen=True, slots=True)
class PictureRun:
    """Pictures are wanted, with `depth` bits per channel; None for those of the pictures."""

    depth: int | None


@dataclass(frozen=True, slots=True)
class FilmRun:
    """Parts of a film are wanted, painted in batches of one size with a config; its device is that
    of the process."""

    work: FilmWork
    config: EngineConfig
    batch: int


@dataclass(frozen=True, slots=True)
class WholeFilm:
    """A film of which one process makes every frame, painted in batches of one size with a config;
    its device is that of the process."""

    request: FilmRequest
    config: EngineConfig
    batch: int


@dataclass(frozen=True, slots=True)
class WholeRun:
    """Whole films are wanted; tasks name their places in `films`."""

    films: tuple[WholeFilm, ...]


@dataclass(frozen=True, slots=True)
class WholeProgress:
    """How far the film in one place is."""

    place: int
    progress: FilmProgress


@dataclass(frozen=True, slots=True)
class WholeEnd:
    """What became of a film: a report, or the sentence why it failed; and what the engine said."""

    report: FilmReport | None
    error: str
    notices: tuple[str, ...]
