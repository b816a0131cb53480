"""Films that a team makes together, each process one part at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from app.batch.team.requests import FilmRun, FilmTask
from app.batch.team.team import Team
from app.engine.config import EngineConfig
from app.export.film.info import FilmInfo
from app.export.film.parts.request import FilmProgress
from app.export.film.parts.shared import Said, SharedFilm
from app.export.film.parts.split import Part, Split, split
from app.export.film.parts.work import FilmWork
from app.export.film.report import FilmReport
from app.styles.catalog import Catalog


def split_film(info: FilmInfo, config: EngineConfig, catalog: Catalog) -> Split:
    """Split a film, or give the reason why one device makes it alone."""
    if config.smoothing > 0:
        return Split((), "smoothing needs the frame before each frame")
    automatic = sum(share * catalog.get(key).stream_texture for key, share in config.parts)
    if config.texture_or(automatic) > 0:
        return Split(
            (),
            "texture follows the scene from the first frame on; --texture 0 turns it off",
        )
    return split(info)


def make_shared(
    team: Team,
    film: FilmTask,
    parts: Split,
    told: Callable[[FilmProgress], object],
    on_notice: Callable[[str], object],
    stopped: Callable[[], bool],
) -> FilmReport:
    """Make a film on all devices of a team.

    Args:
        parts: The parts from `split_film`.
        on_notice: Called with each different notice of the engines.
        stopped: Polled; returns whether to stop.

    Raises:
        FilmCancelled: If the run was stopped; finished parts stay.
        StyleForgeError: If the film cannot be made; finished parts stay.
    """
    config = replace(film.config, texture=0.0)  # `split_film` allows no other

    def makers(work: FilmWork, left: Sequence[Part]) -> Iterator[Said]:
        return team.parts(FilmRun(work, config, film.batch), left, stopped)

    return SharedFilm(film.request, parts, len(team.devices), told, on_notice).run(makers)
