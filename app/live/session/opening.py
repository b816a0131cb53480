"""Opening of sources in the background; the newest call supersedes the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal

from app.background_jobs import Jobs
from app.errors import Problem
from app.frame import FrameSource
from app.live.pending_sources import PendingSources
from app.sources import describe, open_source
from utils.translation.texts import tr

Spec = str | Sequence[str]


class Opening(QObject):
    """An opener of sources by background jobs; `pending` closes those without an owner."""

    changed = Signal(str)  # "Opening ..." while a source is being opened, then empty
    opened = Signal(object, object)  # Spec and FrameSource
    failed = Signal()  # follows the `problem` with the reason
    problem = Signal(object)  # Problem

    def __init__(self, jobs: Jobs, pending: PendingSources, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs, self._pending = jobs, pending
        self._newest = 0  # the number of the newest call of `open`

    def open(self, spec: Spec, otherwise: Callable[[], object] | None = None) -> None:
        """Open a source in the background; `opened` or `problem` is emitted.

        The present stream continues until then. `otherwise` replaces the emission of a problem.
        """
        self._newest += 1
        number = self._newest
        name = describe(spec)
        self.changed.emit(tr("Opening {name}...", name=name))
        pending = self._pending

        def work() -> FrameSource | None:
            source = open_source(spec)
            if number != self._newest:
                source.close()
                return None
            return source if pending.add(source) else None

        def done(source: FrameSource | None) -> None:
            if source is None:
                return
            pending.remove(source)
            if number != self._newest:
                source.close()
                return
            self.changed.emit("")
            self.opened.emit(spec, source)

        def failed(exc: Exception) -> None:
            if number == self._newest:
                self.changed.emit("")
                if otherwise is not None:
                    otherwise()
                    return
                failure = tr("Could not open {name}", name=name)
                self.problem.emit(Problem.of(exc, failure=failure, of_source=True))
                self.failed.emit()

        self._jobs.run(work, done, failed)
