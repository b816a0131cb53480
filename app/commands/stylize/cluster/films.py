"""Films whose parts the machines of a cluster make."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence

from app.commands.stylize.cluster.answers import PartAnswer, PictureAnswer
from app.commands.stylize.cluster.painter import PainterSetup
from app.commands.stylize.cluster.pool import Pool
from app.commands.stylize.devices.films import SharedFilms
from app.commands.stylize.devices.requests import FilmRun, Setup
from app.commands.stylize.limits import Limits
from app.engine.engine import Engine
from app.engine.network_pool import BATCH
from app.export.film.info import FilmInfo
from app.export.film.parts.shared import Said
from app.export.film.parts.split import Part


class ClusterFilms(SharedFilms):
    """Makes films, one after another, each on all machines, which see the same folders.

    Args:
        pool: The cluster.
        args: What the flags were parsed to.
        setup: The config, and what goes with it.
        engine: Of this machine, with that config: its memory stands for that of the others.
        on_loss: Told of tasks that are given out again.
    """

    takes_whole = False  # this machine makes them: another one's lock might not be seen here

    def __init__(
        self,
        pool: Pool,
        args: argparse.Namespace,
        setup: Setup,
        engine: Engine,
        on_loss: Callable[[str], object],
    ) -> None:
        self.devices, self._setup = [args.device], setup
        self._pool, self._args, self._on_loss = pool, args, on_loss
        self._limits = [Limits.now(setup.config, args.batch, engine, full=setup.full)]

    @property
    def kinds(self) -> list[str]:
        """What the machines compute with."""
        return ["cuda" if self._pool.has_gpus else "cpu"]

    def sized(self, name: str, info: FilmInfo) -> tuple[int, int]:
        """As of SharedFilms; batches are for GPUs."""
        size, batch = super().sized(name, info)
        return size, self._args.batch or (BATCH if self._pool.has_gpus else batch)

    def made(
        self, run: FilmRun, left: Sequence[Part], stopped: Callable[[], bool]
    ) -> Iterator[Said]:
        """As of SharedFilms."""
        setup = PainterSetup(self._args, self._setup.config, self._setup.full, run, threads=1)
        for said in self._pool.run(setup, left, 1, self._on_loss):
            assert not isinstance(said, PictureAnswer)
            yield (said.item, said.made) if isinstance(said, PartAnswer) else said
            if stopped():
                return
