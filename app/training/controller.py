"""Control of training for the window: one run at a time, from the request to the finished style."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from app.background_jobs import Jobs
from app.errors import ADVICE, Problem
from app.processes.command_process import ProcessExit
from app.sources import scene
from app.styles.catalog import Catalog
from app.styles.pack import Style
from app.training.events import forecast_from, thinned
from app.training.process import TrainingProcess
from app.training.request import TrainingRequest
from app.training.run_store import LossPoint, RunDirectory, RunStore
from app.training.state import Phase, State, TrainingProgress
from app.training.unfinished import Unfinished, find_unfinished, run_lock
from models.training.presets import cheaper
from utils.translation.joints import labeled
from utils.translation.texts import tr

log = logging.getLogger(__name__)
T = TypeVar("T")

CONFIRM_ABOVE_S = 15 * 60.0  # longer runs need confirmation
AGREED_FACTOR = 1.5  # a run may take this much longer than confirmed
CHECKPOINT_INTERVAL_S = 60.0  # between checkpoints: the most time that a crash can lose
HISTORY_INTERVAL_S = 30.0  # between saves of the loss history
KILL_AFTER_MS = 4000  # a cancelled process is killed after this
CLOSE_TIMEOUT_MS = 3000  # time to wait for a checkpoint when the program ends
SCENE_SECOND, SCENE_SIZE = 4.0, (640, 480)  # time and size of the thumbnail's picture


class TrainingController(QObject):
    """A controller of training in a separate process, on the GUI thread; only `close` blocks."""

    changed = Signal(object)  # State
    note_received = Signal(str)  # a sentence from the process
    losses_received = Signal(object)  # LossPoint; the newest losses
    history_replaced = Signal()  # `history` was replaced
    preview_saved = Signal(object)  # Path of a new preview
    finished = Signal(object)  # Style, now in the catalog
    whole_file_needed = Signal(str)  # why VGG-19's first layers cannot be downloaded alone
    unfinished_changed = Signal(object)  # tuple[RunDirectory, ...], runs that no program works on

    def __init__(self, catalog: Catalog, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._catalog = catalog
        self._runs = RunStore(catalog.user.parent / "training")
        self._jobs = Jobs(self)
        self._process = self._connected_process()
        self._state = State()
        self._request: TrainingRequest | None = None
        self._lock: FileLock | None = None
        self._cancelled = False
        self._finish_asked = False  # the user wants a style from the training so far
        self._seconds_per_step = 0.0
        self._agreed_s = 0.0  # training time that the user has already confirmed
        self._history_saved_at = 0.0
        self.history: list[LossPoint] = []

    def _connected_process(self) -> TrainingProcess:
        process = TrainingProcess(self)
        process.note_received.connect(self.note_received)
        process.preview_saved.connect(self.preview_saved)
        process.loading.connect(self._on_loading)
        process.estimated.connect(self._on_estimate)
        process.resumed.connect(self._on_resumed)
        process.losses_received.connect(self._on_losses)
        process.progressed.connect(self._on_progress)
        process.exited.connect(self._on_exit)
        return process

    @property
    def state(self) -> State:
        return self._state

    # Actions of the user

    def start(
        self, request: TrainingRequest, frame: NDArray[np.uint8] | None, *, agreed_s: float = 0.0
    ) -> None:
        """Measure how long `request` takes, then train it; a long run waits for confirmation.

        Args:
            frame: picture for the previews, [H, W, 3] uint8 RGB; None for the built-in scene.
            agreed_s: training time in seconds that the user has already confirmed.
        """
        if self._state.phase is not Phase.IDLE:
            return
        self._request, self._cancelled, self._agreed_s = request, False, agreed_s
        self._finish_asked = False
        self._set_state(Phase.PREPARING, doing="Preparing...", problem=None)

        def work() -> RunDirectory:
            thumbnail = scene.render(SCENE_SECOND, *SCENE_SIZE)
            return self._runs.create(request, thumbnail if frame is None else frame, thumbnail)

        def done(run: RunDirectory) -> None:
            self._acquire_lock(run)
            if self._cancelled:
                self._discard()
                return
            self._set_state(Phase.MEASURING, doing="Reading the photographs...")
            self._process.work_on(run, "--estimate")

        self._job(work, done, request.title)

    def confirm(self) -> None:
        if self._state.phase is Phase.AWAITING_CONFIRMATION:
            self._train()

    def start_cheaper(self, frame: NDArray[np.uint8] | None) -> None:
        forecast, request = self._state.forecast, self._request
        if (
            self._state.phase is Phase.AWAITING_CONFIRMATION
            and forecast
            and forecast.cheaper
            and request
        ):
            request = replace(request, preset=forecast.cheaper)
            known = forecast.cheaper_seconds
            self._discard(then=lambda: self.start(request, frame, agreed_s=known))

    def pause(self) -> None:
        """Write a checkpoint after the current step and end the process, to free its memory."""
        if self._state.phase is Phase.TRAINING:
            self._process.stop()
            self._set_state(Phase.STOPPING, doing="Pausing after this step...")

    def resume(self) -> None:
        run = self._state.run
        if self._state.phase is not Phase.PAUSED or run is None:
            return
        self._cancelled = self._finish_asked = False
        if run.pack.is_dir() and not run.trains_lite:  # only installation remains
            self._install_style()
        else:
            self._train()

    def keep_learned(self) -> None:
        """End the training and make a style from its progress so far."""
        if self._state.phase is Phase.TRAINING:
            self._finish_asked = True
            self._process.stop()
            self._set_state(Phase.STOPPING, doing="Ending after this step...")
        elif self._state.phase is Phase.PAUSED:
            self._finish_asked = True
            self._finish()

    def attach(self, run: RunDirectory) -> None:
        """Make an unfinished run of an earlier session the current, paused one."""
        if self._state.phase is Phase.IDLE and self._acquire_lock(run):
            self._set_state(Phase.PAUSED, problem=None)
            if run.preview.is_file():
                self.preview_saved.emit(run.preview)
            self.look_for_unfinished()

    def cancel(self) -> None:
        phase = self._state.phase
        if phase in (Phase.AWAITING_CONFIRMATION, Phase.PAUSED):
            self._discard()
        elif phase in (Phase.PREPARING, Phase.MEASURING, Phase.TRAINING, Phase.STOPPING):
            self._cancelled = True
            self._process.stop(KILL_AFTER_MS)
            self._set_state(Phase.STOPPING, doing="Cancelling...")

    def leave(self) -> None:
        """End the current work before the program ends; training can be resumed."""
        if self._state.phase is Phase.TRAINING:
            self.pause()
        elif self._state.phase in (Phase.PREPARING, Phase.MEASURING):
            self.cancel()

    def delete(self, run: RunDirectory) -> None:
        self._job(lambda: self._runs.delete(run), lambda _: self.look_for_unfinished(), run.title)

    def allow_whole_file(self) -> None:
        """Download VGG-19's whole file from now on, if it has to be downloaded."""
        self._process.allow_whole_file()

    def set_preview_frame(self, frame: NDArray[np.uint8]) -> None:
        """Make the next previews with `frame`, [H, W, 3] uint8 RGB."""
        run = self._state.run
        if run is not None:
            self._job(lambda: run.set_preview_frame(frame), lambda _: None, run.title)

    def look_for_unfinished(self) -> None:
        """Search for runs that no program works on; emit `unfinished_changed` at the end."""
        current = self._state.run

        def done(found: Unfinished) -> None:
            damaged = found.damaged
            if damaged and self._state.phase is Phase.IDLE and self._state.problem is None:
                advice = tr(ADVICE["DamagedRunError"])
                problem = Problem(damaged[0], "\n".join(damaged), advice)
                self._set_state(Phase.IDLE, problem=problem)
            self.unfinished_changed.emit(found.runs)

        self._jobs.run(lambda: find_unfinished(self._runs, current), done, self._log_failure)

    def close(self) -> None:
        """End the process and save the checkpoint; call once, before the program quits."""
        self._process.close(CLOSE_TIMEOUT_MS)
        self._jobs.close()
        run = self._state.run
        if run is not None:
            if run.worth_keeping and not self._cancelled:
                _save_history(run, self.history)
            else:
                self._runs.delete(run)
        self._release_lock()

    # Events of the process

    def _on_loading(self, doing: str, fraction: float | None) -> None:
        if self._state.phase in (Phase.MEASURING, Phase.TRAINING):
            self._set_state(self._state.phase, doing=doing, fraction=fraction)

    def _on_estimate(self, event: dict[str, Any]) -> None:
        request = self._request
        assert request is not None, "only a request is measured"
        forecast = forecast_from(event, request.preset, cheaper(request.preset))
        self._seconds_per_step = forecast.seconds_per_step
        self._state = replace(self._state, forecast=forecast)

    def _on_resumed(self, history: list[LossPoint]) -> None:
        """Use the checkpoint's losses: ours differ if the process or the window was killed."""
        self.history[:] = thinned(history)
        if self.history:
            self.losses_received.emit(self.history[-1])

    def _on_losses(self, point: LossPoint) -> None:
        self.history.append(point)
        self.losses_received.emit(point)

    def _on_progress(self, progress: TrainingProgress) -> None:
        if self._state.phase is Phase.TRAINING:
            fraction = progress.iteration / progress.iterations
            self._set_state(Phase.TRAINING, doing="Training", fraction=fraction, progress=progress)
        if (
            time.monotonic() - self._history_saved_at > HISTORY_INTERVAL_S
            and self._state.run is not None
        ):
            self._history_saved_at = time.monotonic()
            run, points = self._state.run, list(self.history)
            self._jobs.run(lambda: _save_history(run, points), lambda _: None, self._log_failure)

    def _on_exit(self, exit: ProcessExit) -> None:
        run, phase = self._state.run, self._state.phase
        assert run is not None, "a process works on a run"
        if self._cancelled:
            self._discard()
        elif exit.outcome == "failed":
            self._on_failed_exit(exit)
        elif phase is Phase.MEASURING:
            self._train_or_confirm()
        elif exit.outcome == "done":
            self._on_trained(run)
        elif self._finish_asked:
            self._finish()
        else:
            self._enter_paused()

    # Transitions between phases

    def _train_or_confirm(self) -> None:
        forecast = self._state.forecast
        if forecast is None:
            self._on_failed_exit(
                ProcessExit("failed", tr("the training process did not report its speed"))
            )
        elif forecast.seconds > max(CONFIRM_ABOVE_S, AGREED_FACTOR * self._agreed_s):
            self._set_state(Phase.AWAITING_CONFIRMATION, doing="", fraction=None)
        else:
            self._train()

    def _on_trained(self, run: RunDirectory) -> None:
        """Train the style's fast version next, unless the user has ended the training."""
        if not run.trains_lite or self._finish_asked:
            self._install_style()
            return
        self.history.clear()
        self._state = replace(self._state, progress=None)
        self._train()
        self.history_replaced.emit()

    def _finish(self) -> None:
        """Make a style from the last checkpoint; omit a fast version without one."""
        run = self._state.run
        assert run is not None
        if run.checkpoint.is_file():
            self._set_state(Phase.FINISHING, doing="Writing the style...", fraction=None)
            self._process.work_on(run, "--finish")
        elif run.pack.is_dir():
            self._install_style()
        else:
            self._discard()

    def _train(self) -> None:
        run = self._state.run
        assert run is not None
        steps = (
            round(CHECKPOINT_INTERVAL_S / self._seconds_per_step) if self._seconds_per_step else 50
        )
        interval = str(min(500, max(5, steps)))
        self._history_saved_at = time.monotonic()
        self._set_state(Phase.TRAINING, doing="Starting...", fraction=None, problem=None)
        self._process.work_on(run, "--checkpoint-interval", interval)

    def _enter_paused(self) -> None:
        run = self._state.run
        assert run is not None
        run = run.with_history(thinned(self.history))
        self._state = replace(self._state, run=run)
        self._jobs.run(run.write, lambda _: None, self._log_failure)
        self._set_state(Phase.PAUSED, doing="", fraction=None)

    def _install_style(self) -> None:
        run = self._state.run
        assert run is not None
        self._set_state(Phase.FINISHING, doing="Adding the style to the gallery...", fraction=1.0)

        def work() -> Style:
            style = self._catalog.move_in(run.pack)
            self._release_lock()  # Windows cannot delete a locked file
            self._runs.delete(run)
            return style

        def done(style: Style) -> None:
            self._reset()
            self.finished.emit(style)

        self._job(work, done, run.title)

    def _on_failed_exit(self, exit: ProcessExit) -> None:
        run = self._state.run
        assert run is not None
        if reason := self._process.whole_file_reason:
            self._leave_for_question(run, reason)
            return
        said = labeled(tr("Could not train '{title}'", title=run.title), exit.reason)
        problem = Problem(said, exit.details, tr(ADVICE["TrainingError"]))
        self._pause_or_discard(problem)

    def _leave_for_question(self, run: RunDirectory, reason: str) -> None:
        """Pause or delete the run; the user decides whether to download the whole file."""
        if run.worth_keeping:
            self._enter_paused()
            self.whole_file_needed.emit(reason)
        else:
            self._discard(then=lambda: self.whole_file_needed.emit(reason))

    def _pause_or_discard(self, problem: Problem) -> None:
        run = self._state.run
        if run is not None and run.worth_keeping:
            self._enter_paused()
            self._set_state(Phase.PAUSED, problem=problem)
        else:
            self._discard(problem=problem)

    def _discard(
        self, *, problem: Problem | None = None, then: Callable[[], None] = lambda: None
    ) -> None:
        run = self._state.run
        assert run is not None

        def done(_: None) -> None:
            self._reset(problem)
            then()

        def work() -> None:
            self._release_lock()
            self._runs.delete(run)

        self._set_state(Phase.FINISHING, doing="Deleting files...", fraction=None)
        self._jobs.run(
            work, done, lambda exc: self._reset(Problem.of(exc, failure="Could not delete the run"))
        )

    def _reset(self, problem: Problem | None = None) -> None:
        self._release_lock()
        self._state = State(problem=problem)
        self.changed.emit(self._state)
        self.look_for_unfinished()

    def _acquire_lock(self, run: RunDirectory) -> bool:
        """Lock `run` and make it the current run.

        Return False, and report a problem, if another window of StyleForge trains it.
        """
        lock = run_lock(run)
        try:
            lock.acquire()
        except Timeout:
            problem = Problem(
                tr("'{title}' is being trained by another window of StyleForge", title=run.title),
                advice=tr(ADVICE["LockedError"]),
            )
            self._set_state(self._state.phase, problem=problem)
            return False
        self._lock = lock
        self._seconds_per_step = 0.0
        self.history = list(run.history)
        self._state = replace(self._state, run=run, forecast=None, progress=None)
        self.history_replaced.emit()
        return True

    def _release_lock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _set_state(self, phase: Phase, **changes: Any) -> None:
        state = replace(self._state, phase=phase, **changes)
        if state != self._state:
            self._state = state
            self.changed.emit(state)

    def _job(self, work: Callable[[], T], done: Callable[[T], None], title: str) -> None:
        def failed(exc: Exception) -> None:
            problem = Problem.of(exc, failure=tr("Could not train '{title}'", title=title))
            if self._state.phase in (Phase.PREPARING, Phase.STOPPING):
                self._reset(problem)
            elif self._state.phase is Phase.FINISHING:
                self._pause_or_discard(problem)
            else:
                self._set_state(self._state.phase, problem=problem)

        self._jobs.run(work, done, failed)

    def _log_failure(self, exc: Exception) -> None:
        log.info("a background job failed and is ignored: %s", exc)


def _save_history(run: RunDirectory, history: list[LossPoint]) -> None:
    try:
        run.with_history(thinned(history)).write()
    except OSError as exc:  # the checkpoint has the history too
        log.info("the progress of the run could not be saved: %s", exc)
