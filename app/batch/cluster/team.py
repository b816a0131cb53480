"""The machines of a cluster as a team."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from app.batch.batch_engine import BatchEngine
from app.batch.cluster.painter import PainterSetup
from app.batch.cluster.pool import Pool
from app.batch.cluster.rows import PartAnswer
from app.batch.jobs.job import Job
from app.batch.pictures.outcome import Outcome
from app.batch.reporter import Reporter
from app.batch.request import Request
from app.batch.team.requests import FilmRun, PictureRun
from app.engine.config import EngineConfig
from app.engine.network_pool import BATCH
from app.export.film.info import FilmInfo
from app.export.film.parts.shared import Said
from app.export.film.parts.split import Part

TOGETHER = 2 * BATCH  # pictures per task: enough to read and write others meanwhile


class ClusterTeam:
    """The machines of a cluster, which see the same folders; see app.batch.team.team.Team.

    Args:
        config: The run's config.
        engine: This machine's engine. Its memory limits are assumed for all machines.

    Raises:
        ClusterError: If Ray is not installed, or the cluster cannot be reached.
    """

    # This machine makes films that have no parts, since it might not see another machine's lock.
    whole = None

    def __init__(
        self, request: Request, config: EngineConfig, engine: BatchEngine, reporter: Reporter
    ) -> None:
        assert request.cluster is not None
        self._request, self._config, self._reporter = request, config, reporter
        with reporter.waiting("Joining the cluster ..."):
            self._pool = Pool(request.cluster)
        if not self._pool.has_gpus and not request.stored_precision:
            engine.check_precision(["cpu"])
        self._limits = engine.limits()
        self.devices = [request.devices]

    @property
    def kinds(self) -> list[str]:
        return ["cuda" if self._pool.has_gpus else "cpu"]

    def __enter__(self) -> ClusterTeam:
        return self

    def __exit__(self, *how: object) -> None:
        self._pool.__exit__(*how)

    def pictures(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        setup = self._setup(PictureRun(self._request.depth))
        for said in self._pool.run(setup, jobs, TOGETHER, self._reporter.note):
            assert isinstance(said, Outcome)
            yield said

    def stop(self) -> int:
        """Do nothing: the actors end with the context."""
        return 0

    def sized(self, name: str, info: FilmInfo) -> tuple[int, int]:
        """Return the size and the batch; only GPUs use batches."""
        width, height = info.width, info.height
        size, batch = self._limits.size(name, width, height), self._limits.batch_of(width, height)
        return size, self._request.batch or (BATCH if self._pool.has_gpus else batch)

    def parts(
        self, run: FilmRun, left: Sequence[Part], stopped: Callable[[], bool]
    ) -> Iterator[Said]:
        for said in self._pool.run(self._setup(run), left, 1, self._reporter.note):
            assert not isinstance(said, Outcome)
            yield (said.item, said.made) if isinstance(said, PartAnswer) else said
            if stopped():
                return

    def _setup(self, run: PictureRun | FilmRun) -> PainterSetup:
        return PainterSetup(self._request, self._config, run)
