"""The setup of the processes of a run, requests to them, and their messages about films."""

from __future__ import annotations

from dataclasses import dataclass

from app.engine.config import EngineConfig
from app.export.film.job import FilmProgress, FilmRequest
from app.export.film.parts.work import FilmWork
from app.export.film.report import FilmReport
from app.styles.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Setup:
    """The setup of a process.

    Attributes:
        config: The run's config, with the device of the process.
        batch: Maximum pictures per batch; None for automatic.
        full: Whether the network processes every pixel of the pictures.
        sharing: How many processes share this machine's processor and memory.
    """

    catalog: Catalog
    config: EngineConfig
    batch: int | None
    full: bool
    sharing: int = 1


@dataclass(frozen=True, slots=True)
class PictureRun:
    """A request for pictures with `depth` bits per channel; None for the pictures' own."""

    depth: int | None


@dataclass(frozen=True, slots=True)
class FilmRun:
    """A request for parts of a film in batches of one size; the device is the process's own."""

    work: FilmWork
    config: EngineConfig
    batch: int


@dataclass(frozen=True, slots=True)
class FilmTask:
    """A film to make in batches of one size; the device is the process's own."""

    request: FilmRequest
    config: EngineConfig
    batch: int


@dataclass(frozen=True, slots=True)
class WholeRun:
    """A request for whole films; tasks are indexes into `films`."""

    films: tuple[FilmTask, ...]


@dataclass(frozen=True, slots=True)
class WholeProgress:
    """The progress of the film at one index."""

    place: int
    progress: FilmProgress


@dataclass(frozen=True, slots=True)
class WholeEnd:
    """The outcome of a film: a report or the reason why it failed, and the engine's notices."""

    report: FilmReport | None
    error: str
    notices: tuple[str, ...]
