"""Runs the queue in a separate process and follows its output."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from enum import Enum
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.errors import ASK_FOR_HELP, Problem
from app.processes.command_process import CommandProcess, ProcessExit
from app.ui.queue.forecast import Forecast
from app.ui.queue.rows import Progress
from utils.translation.texts import tr

KILL_AFTER_MS = 15_000  # time limit for stopping the process before it is killed
CLOSE_TIMEOUT_MS = 4000  # wait for the process when the program ends
RUNNING = "running"  # the state of a starting job


class Phase(Enum):
    """The activity of the process."""

    IDLE = "idle"
    STARTING = "starting"  # the process is loading
    RUNNING = "running"
    STOPPING = "stopping"


class QueueRunner(QObject):
    """Owns the process. It lives on the GUI thread and blocks it only in `close`.

    `changed()` follows a change of the phase or of `finishing`, `job_changed()` the start and end
    of a job, and `progressed()` its progress. `ended(bool)` follows the end of the process and
    tells whether it ran everything it could. If the process crashes in a job, another one starts;
    the queue gives up a job that crashes several processes.
    """

    changed = Signal()
    job_changed = Signal()
    progressed = Signal()
    ended = Signal(bool)
    problem = Signal(object)  # Problem
    notice = Signal(str)

    def __init__(
        self,
        queue: Path,
        parent: QObject | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(parent)
        self._queue, self._clock = queue, clock
        self._process = CommandProcess(self)
        self._process.event_received.connect(self._on_event)
        self._process.exited.connect(self._on_exit)
        self.forecast = Forecast()
        self.phase = Phase.IDLE
        self.finishing = False
        self.stopped = False  # by the user, since the last start
        self.left: frozenset[int] = frozenset()  # jobs that stay waiting in this run
        self._number: int | None = None  # number of the current job
        self._began_at = self._picture_at = 0.0
        self._share: float | None = None
        self._film_left: float | None = None  # seconds left for the current film
        self._done = self._of = self._failed = 0
        self._before = 0  # results that the current job had when it began
        self._jobs_begun = 0  # by the current process

    @property
    def running(self) -> bool:
        return self.phase is not Phase.IDLE

    @property
    def number(self) -> int | None:
        return self._number

    @property
    def progress(self) -> Progress | None:
        if self._number is None:
            return None
        share, left = self._share, self._seconds_left(self._share)
        whole = self._before + self._of
        if whole <= 1:
            return Progress(self._number, share, seconds_left=left)
        if share is not None:
            share = (self._before + share * self._of) / whole
        done = self._before + self._done
        return Progress(self._number, share, done, whole, self._failed, left)

    def start(self, leave: Collection[int] = ()) -> None:
        """Run all waiting jobs but these, unless the queue runs already."""
        if self.running:
            return
        self._jobs_begun = 0
        self.finishing = self.stopped = False
        self.left = frozenset(leave)
        self._set_phase(Phase.STARTING)
        words = ["queue", "run", "--progress", "json", "--listen", "--queue", str(self._queue)]
        if self.left:
            words += ["--leave", *map(str, sorted(self.left))]
        self._process.start(words)

    def finish(self, on: bool) -> None:
        """Stop after the current job, or cancel this request."""
        if self.running and self.phase is not Phase.STOPPING and on != self.finishing:
            self.finishing = on
            self._process.send("finish" if on else "continue")
            self.changed.emit()

    def stop(self) -> None:
        """Stop now: the current job waits again and keeps its finished results."""
        if self.running and self.phase is not Phase.STOPPING:
            self._set_phase(Phase.STOPPING)
            self._process.stop(KILL_AFTER_MS)

    def close(self) -> None:
        """Stop before the program ends, and wait for the process."""
        self._process.close(CLOSE_TIMEOUT_MS)
        self.phase = Phase.IDLE

    def _seconds_left(self, share: float | None) -> float | None:
        if self._of <= 1 and self._film_left is not None:
            return self._film_left
        passed = self._clock() - self._began_at
        each = self.forecast.per_picture
        if self._of <= 1 and self._share is None and each is not None:
            return max(0.0, each - passed)
        return passed * (1 - share) / share if share else None

    def _set_phase(self, phase: Phase) -> None:
        if phase is not self.phase:
            self.phase = phase
            self.changed.emit()

    # Events from the process

    def _on_event(self, event: dict[str, Any]) -> None:
        follow = {
            "job": self._on_job,
            "plan": self._on_plan,
            "picture": self._on_file,
            "bands": self._on_bands,
            "film": self._on_file,
            "frames": self._on_frames,
        }.get(event["event"])
        if follow is not None:
            follow(event)

    def _on_job(self, event: dict[str, Any]) -> None:
        if event.get("state") == RUNNING:
            self._number = int(event["number"])
            self._share, self._film_left, self._done, self._of = None, None, 0, 0
            self._before = self._failed = 0
            self._began_at = self._picture_at = self._clock()
            self._jobs_begun += 1
            if self.phase is Phase.STARTING:
                self._set_phase(Phase.RUNNING)
        else:
            self._number = None
        self.job_changed.emit()

    def _on_plan(self, event: dict[str, Any]) -> None:
        self._of = int(event["pictures"]) + int(event.get("films", 0))
        self._before = int(event.get("skipped", 0))
        self.progressed.emit()

    def _on_file(self, event: dict[str, Any]) -> None:
        now = self._clock()
        if event["event"] == "picture" and event.get("state") == "done":
            self.forecast.note(now - self._picture_at)
        self._picture_at, self._film_left = now, None
        self._done, self._of = int(event["number"]), int(event["of"])
        self._failed += event.get("state") == "failed"
        self._share = self._done / self._of if self._of else None
        self.progressed.emit()

    def _on_bands(self, event: dict[str, Any]) -> None:
        self._add_share(float(event["share"]))

    def _on_frames(self, event: dict[str, Any]) -> None:
        """Record the progress of a film, whose frame count may be unknown."""
        left = event.get("seconds_left")
        self._film_left = None if left is None else float(left)
        if event.get("of"):
            self._add_share(int(event["done"]) / int(event["of"]))

    def _add_share(self, share: float) -> None:
        self._share = min(1.0, (self._done + share) / max(1, self._of))
        self.progressed.emit()

    def _on_exit(self, exit: ProcessExit) -> None:
        self._number = None
        stopped = self.phase is Phase.STOPPING or self.finishing
        begun = self._jobs_begun
        if exit.crashed and begun and not stopped:
            self.notice.emit(tr("The queue continues: {reason}", reason=exit.reason))
            self.phase = Phase.IDLE
            self.start(self.left)
            self.job_changed.emit()
            return
        self.finishing, self.stopped = False, stopped
        self._set_phase(Phase.IDLE)
        # With jobs begun, exit status 1 means that a job failed; its row tells why.
        if exit.outcome == "failed" and not stopped and (exit.crashed or not begun):
            why = exit.reason or tr("its process could not start")
            self.problem.emit(
                Problem(
                    tr("Could not run the queue: {reason}", reason=why),
                    exit.details,
                    tr(ASK_FOR_HELP),
                )
            )
        self.ended.emit(not stopped and bool(begun))
