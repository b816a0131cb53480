"""Pictures that the machines of a cluster style, with the outcomes of a single machine."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.commands.stylize.cluster.answers import PictureAnswer
from app.commands.stylize.cluster.painter import PainterSetup
from app.commands.stylize.cluster.pool import Pool
from app.commands.stylize.devices.requests import PictureRun, Setup
from app.commands.stylize.jobs import Job
from app.commands.stylize.pipeline import Outcome
from app.commands.stylize.reporters import Reporter
from app.engine.network_pool import BATCH

TOGETHER = 2 * BATCH  # pictures per task: enough to read and write others meanwhile


class ClusterPictures:
    """A counterpart of `Pipeline` on a cluster. Use it as a context."""

    def __init__(
        self, pool: Pool, args: argparse.Namespace, setup: Setup, reporter: Reporter
    ) -> None:
        run = PictureRun(args.depth)
        self._setup = PainterSetup(args, setup.config, setup.full, run, threads=1)
        self._pool, self._reporter, self._written = pool, reporter, 0

    def __enter__(self) -> ClusterPictures:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    @property
    def written(self) -> int:
        return self._written

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """Style pictures; yield finished outcomes.

        Raises:
            ClusterError: If the cluster fails.
        """
        told: set[str] = set()
        for said in self._pool.run(self._setup, jobs, TOGETHER, self._reporter.note):
            assert isinstance(said, PictureAnswer)
            outcome = said.outcome(self._setup.config)
            self._written += outcome.error is None
            new = tuple(dict.fromkeys(each for each in outcome.notices if each not in told))
            told.update(new)
            yield replace(outcome, notices=new)
