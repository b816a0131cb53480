"""The machines of a cluster, which share the pictures and then the films of a run."""

from __future__ import annotations

import argparse

from app.commands.stylize.cluster.films import ClusterFilms
from app.commands.stylize.cluster.pictures import ClusterPictures
from app.commands.stylize.cluster.pool import Pool
from app.commands.stylize.devices.requests import Setup
from app.commands.stylize.reporters import Reporter
from app.engine.engine import Engine


class Cluster:
    """A cluster as a team. Use it as a context, which leaves the cluster at its end.

    Args:
        engine: This machine's engine with that config. Its memory is assumed for all machines.

    Raises:
        ClusterError: If Ray is not installed, or the cluster cannot be reached.
    """

    def __init__(
        self, args: argparse.Namespace, setup: Setup, engine: Engine, reporter: Reporter
    ) -> None:
        with reporter.waiting("Joining the cluster ..."):
            self._pool = Pool(args.cluster)
        self.pictures = ClusterPictures(self._pool, args, setup, reporter)
        self.films = ClusterFilms(self._pool, args, setup, engine, reporter.note)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *how: object) -> None:
        self._pool.__exit__(*how)
