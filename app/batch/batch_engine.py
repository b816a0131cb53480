"""The engine of one process of a run, for groups of pictures and for films."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from app.batch.limits import Limits
from app.batch.pictures.pipeline import Pipeline
from app.batch.pictures.styling import Styling
from app.batch.team.requests import FilmRun, FilmTask, Setup
from app.engine.config import EngineConfig
from app.engine.engine import Engine, check_precision
from app.engine.painting_devices import painting_device
from app.export.film.job import FilmJob, FilmProgress
from app.export.film.parts.split import Part
from app.export.film.parts.work import LineEnd, Teller, make_parts
from app.export.film.styling import FilmStyling
from utils.free_memory import free_bytes


class BatchEngine:
    """An engine with its notices, configured for a run. For one thread.

    Args:
        on_progress: Called with the finished share, 0 to 1, of a picture computed in bands of rows.

    Raises:
        StyleForgeError: If a style, the device or another choice is not available.
    """

    def __init__(
        self, setup: Setup, on_progress: Callable[[float], object] = lambda share: None
    ) -> None:
        self._setup, self._device = setup, setup.config.device
        self._notices: list[str] = []
        self._engine = Engine(setup.catalog, on_notice=self._notices.append, free=free_bytes)
        self._engine.on_progress = on_progress
        self._engine.configure(setup.config)

    def use(self, device: str) -> None:
        """Configure the engine for the run on another device. Raises as the constructor does."""
        self._device = device
        self._engine.configure(replace(self._setup.config, device=device))

    def check_precision(self, devices: Iterable[str]) -> None:
        """Raise StyleForgeError with the reason if a device does not offer the run's precision."""
        for device in dict.fromkeys(map(painting_device, devices)):
            check_precision(self._setup.config, (self._engine.family,), device)

    @property
    def uses_kernels(self) -> bool:
        return bool(self._engine.kernel_families)

    def prepare_kernels(self) -> None:
        self._engine.prepare_kernels()

    def limits(self) -> Limits:
        """Compute the memory limits of the run on the device from the memory that is free now."""
        setup = self._setup
        config = replace(setup.config, device=self._device)
        return Limits.now(config, setup.batch, self._engine, full=setup.full)

    def pipeline(self, limits: Limits, depth: int | None, threads: int | None = None) -> Pipeline:
        """Make a pipeline for pictures within the limits; the other arguments are Pipeline's."""
        styling = Styling(self._engine, limits, self._notices)
        return Pipeline(styling, limits.picture_bytes, limits.config.size, threads, depth)

    def film(self, film: FilmTask, told: Callable[[FilmProgress], object]) -> FilmJob:
        """Prepare a job that makes a film on the device."""
        self._begin_film(film.config)
        return FilmJob(film.request, FilmStyling(self._engine, film.batch), told)

    def parts(self, run: FilmRun, parts: Iterable[Part], teller: Teller) -> LineEnd:
        """Make parts of a film on the device, see `make_parts`."""
        self._begin_film(run.config)
        styling = FilmStyling(self._engine, run.batch)
        return make_parts(run.work, styling, parts, teller, self._notices)

    def taken_notices(self) -> tuple[str, ...]:
        """Return the engine's notices, one sentence each, that nothing else has reported."""
        taken = tuple(self._notices)
        self._notices.clear()
        return taken

    def _begin_film(self, config: EngineConfig) -> None:
        self._engine.configure(replace(config, device=self._device))
        self._engine.reset_history()
