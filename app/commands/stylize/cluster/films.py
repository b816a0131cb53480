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
    """A maker of films, one after another, each on all machines, which see the same folders.

    Args:
        engine: This machine's engine with that config. Its memory is assumed for all machines.
    """

    # this machine makes them, because another machine's lock might be invisible here
    takes_whole = False

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
        return ["cuda" if self._pool.has_gpus else "cpu"]

    def sized(self, name: str, info: FilmInfo) -> tuple[int, int]:
        """Return the size and the batch, like SharedFilms; only GPUs use batches."""
        size, batch = super().sized(name, info)
        return size, self._args.batch or (BATCH if self._pool.has_gpus else batch)

    def made(
        self, run: FilmRun, left: Sequence[Part], stopped: Callable[[], bool]
    ) -> Iterator[Said]:
        setup = PainterSetup(self._args, self._setup.config, self._setup.full, run, threads=1)
        for said in self._pool.run(setup, left, 1, self._on_loss):
            assert not isinstance(said, PictureAnswer)
            yield (said.item, said.made) if isinstance(said, PartAnswer) else said
            if stopped():
                return
