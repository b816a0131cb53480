"""Offers to resume exports that the last program run left unfinished, or to delete their parts."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject

from app.errors import Problem
from app.export.film.store import delete_parts, is_idle
from app.ui.film.exporter import FilmExporter
from app.ui.film.order import ExportOrder, read_order
from app.ui.window_context import WindowContext
from utils.text import printable
from utils.translation.texts import mark, tr

DAMAGED_ADVICE = mark(
    "Delete the file. An export to the same name continues after the finished parts."
)


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search; `damaged` files are unreadable or contain no export."""

    orders: tuple[ExportOrder, ...]
    damaged: tuple[Path, ...]


def find_interrupted(folder: Path) -> Found:
    """Find the exports in `folder` on which no process is working."""
    orders, damaged = [], []
    for path in sorted(folder.glob("*.json")):
        try:
            order = read_order(path)
        except (OSError, ValueError):
            damaged.append(path)
            continue
        if is_idle(order.target):
            orders.append(order)
    return Found(tuple(orders), tuple(damaged))


class InterruptedExports(QObject):
    """Asks about interrupted exports one by one."""

    def __init__(self, context: WindowContext, exporter: FilmExporter) -> None:
        super().__init__(context.window)
        self._session, self._questions = context.session, context.questions
        self._exporter = exporter
        self._waiting: deque[ExportOrder] = deque()

    def look(self) -> None:
        """Search in the background, then ask."""
        folder = self._exporter.folder

        def done(found: Found) -> None:
            for path in found.damaged:
                said = tr("The export record {path} is damaged", path=path)
                self._session.problem.emit(Problem(said, advice=tr(DAMAGED_ADVICE)))
            self._waiting.extend(found.orders)
            self._ask_next()

        self._session.run(
            lambda: find_interrupted(folder), done, failure="Could not look for interrupted exports"
        )

    def _ask_next(self) -> None:
        if not self._waiting or self._exporter.under_way:
            return
        order = self._waiting.popleft()
        self._questions.ask(
            tr("The export of {name} was interrupted", name=printable(order.target.name)),
            tr("&Resume"),
            lambda _: self._exporter.resume(order),
            no=tr("&Not now"),
            other=tr("&Delete"),
            on_other=lambda: self._delete(order),
            unasked=True,
        )

    def _delete(self, order: ExportOrder) -> None:
        folder = self._exporter.folder

        def work() -> None:
            delete_parts(order.target)
            order.file(folder).unlink(missing_ok=True)

        failure = tr("Could not delete the parts of {name}", name=printable(order.target.name))
        self._session.write(work, lambda _: self._ask_next(), failure=failure)
