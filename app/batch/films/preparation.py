"""Preparation of a film: its size and batch, its encoding, and who makes it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from app.batch.jobs.job import Job
from app.batch.limits import Limits
from app.batch.request import FilmOptions
from app.batch.team.films import split_film
from app.batch.team.requests import FilmTask, Setup
from app.batch.team.team import Team
from app.engine.config import EngineConfig
from app.export.film.info import FilmInfo
from app.export.film.parts.split import Split
from app.export.film.plan import film_request
from app.export.film.reader import film_info
from app.styles.catalog import Catalog
from app.version import styleforge_version
from utils.text import printable


@dataclass(frozen=True, slots=True)
class PreparedFilm:
    """A film to make.

    Attributes:
        split: The parts for a team, or the reason why one process of the team makes the film
            whole; None if this process makes it.
    """

    film: FilmTask
    split: Split | None = None


@dataclass(frozen=True, slots=True)
class FilmPreparation:
    """A preparation of a run's films.

    Attributes:
        limits_on: Prepares the engine of this process for a device, and returns the limits there.
        team: The team that shares the films; None for the engine of this process alone.
        on_note: Called with a sentence if a team cannot share a film.
    """

    options: FilmOptions
    setup: Setup
    limits_on: Callable[[str], Limits]
    team: Team | None
    on_note: Callable[[str], object]

    def prepare(self, job: Job) -> PreparedFilm:
        """Prepare a film, and the engine if it makes the film alone.

        Raises:
            StyleForgeError: If the film cannot be read or made as requested.
        """
        info, name = film_info(job.source), job.source.name
        config, team = self.setup.config, self.team
        if team is not None:
            parts = split_film(info, config, self.setup.catalog)
            if parts.reason:
                self.on_note(f"{printable(name)} is painted on one device: {parts.reason}")
            if team.whole is not None or not parts.reason:
                size, batch = team.sized(name, info)
                config = replace(config, size=size)
                film = self._task(job, info, config, batch, ", ".join(team.kinds))
                return PreparedFilm(film, parts)
            config = replace(config, device=team.devices[0])
        limits = self.limits_on(config.device)
        config = replace(config, size=limits.size(name, info.width, info.height))
        batch = limits.batch_of(info.width, info.height)
        return PreparedFilm(self._task(job, info, config, batch, str(limits.device)))

    def _task(
        self, job: Job, info: FilmInfo, config: EngineConfig, batch: int, device: str
    ) -> FilmTask:
        catalog, options = self.setup.catalog, self.options
        looks = [f"{share} of {_digest(catalog, key)}" for key, share in config.parts]
        identity = {
            "program": styleforge_version(),
            "config": repr(replace(config, style="", mix=None, mix_more=())),
            "styles": "; ".join(looks),
            "device": device,
            "batch": str(batch),
        }
        request = film_request(
            info,
            job.target,
            options.codec,
            quality=options.quality,
            where=options.encoder,
            identity=identity,
        )
        return FilmTask(request, config, batch)


def _digest(catalog: Catalog, key: str) -> str:
    """Return a digest of a style's weights, for a run that resumes later."""
    style = catalog.get(key)
    files = [path for path in (style.weights, style.lite) if path is not None]
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()
