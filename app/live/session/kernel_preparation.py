"""Compilation, loading and tests of kernels in the background while the stream runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.background_jobs import Jobs
from app.engine.painting_devices import painting_device
from app.errors import Problem
from app.styles.catalog import Catalog
from kernels.table.registry import STYLE, TRANSFORMER, KernelStatus, prepare
from models.families.table import FAMILIES


class KernelPreparation(QObject):
    """The preparation of kernels, one family of operations after another."""

    changed = Signal(object)  # tuple[KernelStatus, ...]
    compiling = Signal(bool)
    problem = Signal(object)  # Problem

    def __init__(self, catalog: Catalog, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._catalog, self._jobs = catalog, jobs

    def prepare(self, device: str, families: Sequence[str] = (STYLE, TRANSFORMER)) -> None:
        """Prepare kernels and networks while the stream runs; `changed` is emitted for each family.

        It compiles and loads missing kernels, tests kernels that were never used on this machine,
        and makes networks load everything they would otherwise load during their first run.

        The second family is not needed before a picture becomes a style, which should not wait for
        it.
        """
        family, *others = families

        def ended() -> None:
            self.compiling.emit(False)
            if others:
                self.prepare(device, others)

        def done(statuses: Any) -> None:
            self.changed.emit(statuses)
            ended()

        def failed(exc: Exception) -> None:
            self.problem.emit(Problem.of(exc, failure="Could not prepare the kernels"))
            ended()

        self.compiling.emit(True)
        self._jobs.run(lambda: _prepared(family, device, self._catalog), done, failed)


def _prepared(operations: str, device: str, catalog: Catalog) -> tuple[KernelStatus, ...]:
    """Prepare a family of operations, and the networks for which it is the last one they need."""
    statuses = prepare(family=operations)
    with suppress(ValueError):  # a missing device, which the engine reports
        for networks in FAMILIES.values():
            if networks.operations[-1] == operations:
                networks.warm_up(painting_device(device), catalog.networks)
    return statuses
