"""The studio as the window sees it: one run at a time, from the order to the finished style."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from app.background_jobs import Jobs
from app.errors import Problem
from app.sources import scene
from app.styles.library import Library, Style
from app.training.process import ProcessExit, TrainingProcess
from app.training.request import TrainingRequest
from app.training.run_store import LossPoint, RunDirectory, RunStore
from app.training.state import Forecast, Phase, State, StepLosses
from models.training.presets import cheaper

log = logging.getLogger(__name__)
T = TypeVar("T")

LONG_S = 15 * 60.0  # a run longer than this is not begun without asking
AGREED = 1.5  # times what the user agreed to is still agreed to
LOADING_S = 0.1  # between two words on what is being read
KEEP_S = 60.0  # between two checkpoints: what a crash may cost
HISTORY_S = 30.0  # between two notes of how far the run is
PATIENCE_MS = 4000  # a cancelled process is killed after this
CLOSING_MS = 3000  # the program waits this long for a checkpoint when it ends
CURVE_POINTS = 1500  # kept of a run's losses
SCENE_SECOND, SCENE_SIZE = 4.0, (640, 480)  # what a pack's thumbnail shows


class TrainingController(QObject):
    """Trains styles in a process of its own. Lives on the GUI thread and never blocks it, but
    in `close`."""

    changed = Signal(object)  # State
    noted = Signal(str)  # one sentence from the run
    learned = Signal(object)  # Point; the newest losses
    restarted = Signal()  # `history` is another one
    previewed = Signal(object)  # Path of a new preview
    finished = Signal(object)  # Style, in the library now
    unfinished_changed = Signal(object)  # tuple[RunDirectory, ...], those not being worked on

    def __init__(self, library: Library, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._library = library
        self._runs = RunStore(library.user.parent / "training")
        self._jobs = Jobs(self)
        self._process = TrainingProcess(self)
        self._process.said.connect(self._on_event)
        self._process.ended.connect(self._ended)
        self._state = State()
        self._order: TrainingRequest | None = None
        self._lock: FileLock | None = None
        self._cancelled = False
        self._pace = 0.0
        self._agreed_s = 0.0  # what the user said yes to before measuring
        self._noted_at = 0.0
        self._told_at = 0.0
        self.history: list[LossPoint] = []

    @property
    def state(self) -> State:
        return self._state

    # What the user wishes

    def start(
        self, order: TrainingRequest, frame: NDArray[np.uint8] | None, *, agreed_s: float = 0.0
    ) -> None:
        """Measure how long `order` takes and train it, asking first if that is long, and longer
        than the `agreed_s` seconds the user knows of. Previews are made on `frame`, (H, W, 3)
        uint8 RGB, or on the built-in scene."""
        if self._state.phase is not Phase.IDLE:
            return
        self._order, self._cancelled, self._agreed_s = order, False, agreed_s
        self._show(Phase.PREPARING, doing="Preparing...", problem=None)

        def work() -> RunDirectory:
            thumbnail = scene.render(SCENE_SECOND, *SCENE_SIZE)
            return self._runs.create(order, thumbnail if frame is None else frame, thumbnail)

        def done(run: RunDirectory) -> None:
            self._acquire_lock(run)
            if self._cancelled:
                self._discard()
                return
            self._show(Phase.MEASURING, doing="Reading the photographs...")
            self._process.start(run.arguments("--estimate"))

        self._job(work, done, order.title)

    def confirm(self) -> None:
        """Train in spite of the time it takes."""
        if self._state.phase is Phase.AWAITING_CONFIRMATION:
            self._train()

    def start_cheaper(self, frame: NDArray[np.uint8] | None) -> None:
        """Train the cheaper preset that the forecast names instead."""
        forecast, order = self._state.forecast, self._order
        if (
            self._state.phase is Phase.AWAITING_CONFIRMATION
            and forecast
            and forecast.cheaper
            and order
        ):
            order = replace(order, preset=forecast.cheaper)
            known = forecast.cheaper_seconds
            self._discard(then=lambda: self.start(order, frame, agreed_s=known))

    def pause(self) -> None:
        """Stop after the step under way, keeping everything; `resume` goes on. The process ends,
        so that memory is free meanwhile and nothing is lost if the machine is switched off."""
        if self._state.phase is Phase.TRAINING:
            self._process.stop()
            self._show(Phase.STOPPING, doing="Pausing after this step...")

    def resume(self) -> None:
        """Resume the paused run."""
        run = self._state.run
        if self._state.phase is not Phase.PAUSED or run is None:
            return
        self._cancelled = False
        if run.pack.is_dir():  # it had finished when something went wrong
            self._install_style()
        else:
            self._train()

    def attach(self, run: RunDirectory) -> None:
        """Make an unfinished run of an earlier sitting the paused one."""
        if self._state.phase is Phase.IDLE and self._acquire_lock(run):
            self._show(Phase.PAUSED, problem=None)
            if run.preview.is_file():
                self.previewed.emit(run.preview)
            self.look_for_unfinished()

    def cancel(self) -> None:
        """Stop the run and delete everything it made."""
        phase = self._state.phase
        if phase in (Phase.AWAITING_CONFIRMATION, Phase.PAUSED):
            self._discard()
        elif phase in (Phase.PREPARING, Phase.MEASURING, Phase.TRAINING, Phase.STOPPING):
            self._cancelled = True
            self._process.stop(PATIENCE_MS)
            self._show(Phase.STOPPING, doing="Cancelling...")

    def delete(self, run: RunDirectory) -> None:
        """Delete an unfinished run that is not the current one."""
        self._job(lambda: self._runs.delete(run), lambda _: self.look_for_unfinished(), run.title)

    def set_preview_frame(self, frame: NDArray[np.uint8]) -> None:
        """Make the next previews on `frame`, (H, W, 3) uint8 RGB."""
        run = self._state.run
        if run is not None:
            self._job(lambda: run.keep_frame(frame), lambda _: None, run.title)

    def look_for_unfinished(self) -> None:
        """`unfinished_changed` follows, with the runs nobody is working on."""
        current = self._state.run

        def work() -> tuple[tuple[RunDirectory, ...], tuple[str, ...]]:
            found = []
            self._runs.clear_leftovers()
            for run in self._runs.all():
                if current is not None and run.path == current.path:
                    continue
                lock = _lock_of(run)
                try:
                    lock.acquire()
                except Timeout:  # another window works on it
                    continue
                lock.release()
                if run.worth_keeping:
                    found.append(run)
                elif self._runs.is_stale(run):
                    self._runs.delete(run)
            return tuple(found), self._runs.damaged()

        def done(result: tuple[tuple[RunDirectory, ...], tuple[str, ...]]) -> None:
            found, damaged = result
            if damaged and self._state.phase is Phase.IDLE and self._state.problem is None:
                self._show(Phase.IDLE, problem=Problem(damaged[0], "\n".join(damaged)))
            self.unfinished_changed.emit(found)

        self._jobs.run(work, done, self._log)

    def close(self) -> None:
        """End the process, keeping what it learned; call once, before the program quits."""
        self._process.close(CLOSING_MS)
        self._jobs.close()
        run = self._state.run
        if run is not None:
            if run.worth_keeping and not self._cancelled:
                _write_down(run, self.history)
            else:
                self._runs.delete(run)
        self._release_lock()

    # What the process says

    def _on_event(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        if kind == "note":
            self.noted.emit(str(event["text"]))
        elif kind == "loading":
            self._show_loading(str(event["what"]), int(event["done"]), int(event["total"]))
        elif kind == "estimate":
            self._on_estimate(event)
        elif kind == "resumed":
            self._on_resumed(event)
        elif kind == "progress":
            self._follow(event)

    def _show_loading(self, what: str, done: int, total: int) -> None:
        if self._state.phase not in (Phase.MEASURING, Phase.TRAINING):
            return
        now = time.monotonic()
        if done != total and now - self._told_at < LOADING_S:
            return
        self._told_at = now
        if what.endswith(", bytes"):
            megabytes = (
                f"{done / 1e6:.0f} of {total / 1e6:.0f} MB" if total else f"{done / 1e6:.0f} MB"
            )
            doing = f"Downloading {what.removesuffix(', bytes')}: {megabytes}"
        else:
            doing = f"{what}: {done:,} of {total:,}" if total else f"{what}: {done:,}"
        self._show(self._state.phase, doing=doing, share=done / total if total else None)

    def _on_estimate(self, event: dict[str, Any]) -> None:
        order = self._order
        assert order is not None, "only an order is measured"
        pace = float(event["seconds_per_iteration"])
        device = str(event["device"])
        less = cheaper(order.preset)
        seconds = float(event["seconds"])
        self._pace = pace
        forecast = Forecast(
            seconds,
            pace,
            device,
            device != "CPU",
            less,
            seconds * less.work / order.preset.work if less else 0.0,
        )
        self._state = replace(self._state, forecast=forecast)

    def _on_resumed(self, event: dict[str, Any]) -> None:
        """Take the losses that belong to the checkpoint: those noted here may end sooner or later
        than that, wherever process or window were killed."""
        points = [
            LossPoint(int(step), float(content), float(style), float(loss))
            for step, loss, content, style, *_ in event["history"]
        ]
        self.history[:] = _thinned(points)
        if self.history:
            self.learned.emit(self.history[-1])

    def _follow(self, event: dict[str, Any]) -> None:
        reading = StepLosses(
            int(event["iteration"]),
            int(event["total"]),
            float(event["seconds_left"]),
            float(event["per_second"]),
            int(event["skipped"]),
        )
        point = LossPoint(
            reading.iteration, float(event["content"]), float(event["style"]), float(event["loss"])
        )
        self.history.append(point)
        self.learned.emit(point)
        if event.get("preview"):
            self.previewed.emit(Path(str(event["preview"])))
        if self._state.phase is Phase.TRAINING:
            share = reading.iteration / reading.iterations
            self._show(Phase.TRAINING, doing="Training", share=share, reading=reading)
        if time.monotonic() - self._noted_at > HISTORY_S and self._state.run is not None:
            self._noted_at = time.monotonic()
            run, points = self._state.run, list(self.history)
            self._jobs.run(lambda: _write_down(run, points), lambda _: None, self._log)

    def _ended(self, ending: ProcessExit) -> None:
        run, phase = self._state.run, self._state.phase
        assert run is not None, "a process works on a run"
        if self._cancelled:
            self._discard()
        elif ending.how == "failed":
            self._fail(ending)
        elif phase is Phase.MEASURING:
            self._decide()
        elif ending.how == "done":
            self._install_style()
        else:
            self._pause_here()

    # From phase to phase

    def _decide(self) -> None:
        forecast = self._state.forecast
        if forecast is None:
            self._fail(ProcessExit("failed", "the training process did not say how long it takes"))
        elif forecast.seconds > max(LONG_S, AGREED * self._agreed_s):
            self._show(Phase.AWAITING_CONFIRMATION, doing="", share=None)
        else:
            self._train()

    def _train(self) -> None:
        run = self._state.run
        assert run is not None
        steps = round(KEEP_S / self._pace) if self._pace else 50
        interval = str(min(500, max(5, steps)))
        self._noted_at = time.monotonic()
        self._show(Phase.TRAINING, doing="Starting...", share=None, problem=None)
        self._process.start(run.arguments("--checkpoint-interval", interval))

    def _pause_here(self) -> None:
        run = self._state.run
        assert run is not None
        run = run.with_history(_thinned(self.history))
        self._state = replace(self._state, run=run)
        self._jobs.run(run.write, lambda _: None, self._log)
        self._show(Phase.PAUSED, doing="", share=None)

    def _install_style(self) -> None:
        run = self._state.run
        assert run is not None
        self._show(Phase.FINISHING, doing="Adding the style to the gallery...", share=1.0)

        def work() -> Style:
            style = self._library.adopt(run.pack)
            self._release_lock()  # Windows does not delete a locked file
            self._runs.delete(run)
            return style

        def done(style: Style) -> None:
            self._reset()
            self.finished.emit(style)

        self._job(work, done, run.title)

    def _fail(self, ending: ProcessExit) -> None:
        run = self._state.run
        assert run is not None
        problem = Problem(f"Could not train '{run.title}': {ending.sentence}", ending.details)
        self._broken(problem)

    def _broken(self, problem: Problem) -> None:
        """After a failure: the run is put down if it is worth something, or else goes."""
        run = self._state.run
        if run is not None and run.worth_keeping:
            self._pause_here()
            self._show(Phase.PAUSED, problem=problem)
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

        self._show(Phase.FINISHING, doing="Tidying up...", share=None)
        self._jobs.run(work, done, lambda exc: self._reset(Problem.of(exc, doing="tidy up")))

    def _reset(self, problem: Problem | None = None) -> None:
        self._release_lock()
        self._state = State(problem=problem)
        self.changed.emit(self._state)
        self.look_for_unfinished()

    def _acquire_lock(self, run: RunDirectory) -> bool:
        """Make `run` the current one; False, with a problem, if another program has it."""
        lock = _lock_of(run)
        try:
            lock.acquire()
        except Timeout:
            problem = Problem(f"'{run.title}' is being trained by another window of StyleForge")
            self._show(self._state.phase, problem=problem)
            return False
        self._lock = lock
        self._pace = 0.0
        self.history = list(run.history)
        self._state = replace(self._state, run=run, forecast=None, reading=None)
        self.restarted.emit()
        return True

    def _release_lock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _show(self, phase: Phase, **changes: Any) -> None:
        state = replace(self._state, phase=phase, **changes)
        if state != self._state:
            self._state = state
            self.changed.emit(state)

    def _job(self, work: Callable[[], T], done: Callable[[T], None], title: str) -> None:
        def failed(exc: Exception) -> None:
            problem = Problem.of(exc, doing=f"train '{title}'")
            if self._state.phase in (Phase.PREPARING, Phase.STOPPING):
                self._reset(problem)
            elif self._state.phase is Phase.FINISHING:
                self._broken(problem)
            else:
                self._show(self._state.phase, problem=problem)

        self._jobs.run(work, done, failed)

    def _log(self, exc: Exception) -> None:
        log.info("the studio goes on without it: %s", exc)


def _lock_of(run: RunDirectory) -> FileLock:
    """Held by the window that works on `run`. The system frees it with the program, however that
    ends: what the file holds, or that it is there, means nothing."""
    return FileLock(run.path / "lock", timeout=0, thread_local=False)


def _write_down(run: RunDirectory, history: list[LossPoint]) -> None:
    try:
        run.with_history(_thinned(history)).write()
    except OSError as exc:  # the checkpoint is what counts
        log.info("how far the run is could not be noted: %s", exc)


def _thinned(history: list[LossPoint]) -> tuple[LossPoint, ...]:
    """At most CURVE_POINTS and a few of them, the last one always."""
    step = max(1, len(history) // CURVE_POINTS)
    kept = history[::step]
    return tuple(kept if not history or kept[-1] is history[-1] else [*kept, history[-1]])
