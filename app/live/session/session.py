"""The window's interface to the engine, the source and the jobs, in the GUI thread."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from PySide6.QtCore import QObject, QThread, Signal, Slot

from app.background_jobs import Jobs
from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.result import StyledFrame
from app.errors import Problem
from app.frame import FrameSource, SourceInfo
from app.live.latest_value import LatestValue
from app.live.previews.requests import PreviewRequests
from app.live.session.choice import Choice
from app.live.session.delivery import Delivery
from app.live.session.gpu import GpuChoice
from app.live.session.kernel_preparation import KernelPreparation
from app.live.session.opening import Opening, Spec
from app.live.session.user_styles import UserStyles
from app.live.session.wall import Wall
from app.live.stream_metrics import StreamMetrics
from app.live.style_jobs import StyleJobs
from app.live.worker import Worker
from app.sound.device import Listener
from app.sources import list_cameras
from app.sources.camera import is_camera, with_mode
from app.styles.catalog import Catalog
from app.styles.pack import Style
from app.training.controller import TrainingController
from kernels.table.registry import STYLE, TRANSFORMER
from utils.leaving import WAIT_S, leave_behind
from utils.translation.texts import tr

T = TypeVar("T")

# Seconds until a thread that computes in Python lets another one run. The engine's thread needs
# that some thirty times per frame; at Python's 5 ms it waited longer for the window than for a GPU.
SWITCH_S = 0.0005


class Session(QObject):
    """The window's session, which lives in the GUI thread and owns the engine's thread.

    No method blocks: jobs open, install and compile, and the worker styles.

    Args:
        budget_ms: The capture-to-paint time that the automatic size aims at.
        engine: An engine to use instead of the application's; used only by the engine's thread.

    Attributes:
        engine: Used only by the engine's thread.
    """

    styled = Signal(object)  # StyledFrame; the newest, of the choice in force (see same_choice)
    painted = Signal(object)  # StyledFrame; it is on screen
    problem = Signal(object)  # Problem
    notice = Signal(str)  # one sentence that is not an error
    config_changed = Signal(object)  # EngineConfig
    tried_changed = Signal(str)  # the key of the style being tried; empty if there is none
    config_refused = Signal(object)  # EngineConfig; the one to return to, before `config_changed`
    source_changed = Signal(object)  # SourceInfo, or None if nothing is open
    replaced = Signal()  # another source plays next, perhaps the same one again
    source_status = Signal(str)  # a temporary fault of the source; empty if there is none
    opening_changed = Signal(str)  # "Opening ..." while a source is being opened, then empty
    opening_failed = Signal()  # follows the `problem` with the reason
    position_changed = Signal(float)
    silence_changed = Signal(object)  # str, why sound is not heard, or None without sound
    progress = Signal(float)  # of a picture computed in bands of rows; 1 at its end
    refining = Signal(object)  # float | None, see LoopEvents.refining
    learning = Signal(object)  # float | None, see LoopEvents.learning
    scene_learned = Signal(object)  # Path, see LoopEvents.learned
    paused_changed = Signal(bool)
    rests_changed = Signal(bool)  # see `rest`
    gpu_failed = Signal(str)  # one sentence; the CPU continues
    kernels_changed = Signal(object)  # tuple[KernelStatus, ...]
    styles_changed = Signal()
    picture_styled = Signal(object)  # Style, made from a picture and chosen
    trained = Signal(object)  # Style; it is in the catalog already
    cameras_found = Signal(object)  # tuple[CameraName, ...]
    ending = Signal()  # `shutdown` begins: complete any file being written

    def __init__(
        self,
        catalog: Catalog,
        config: EngineConfig,
        *,
        budget_ms: float = 150.0,
        engine: Engine | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.catalog = catalog
        self.metrics = StreamMetrics()
        self._info: SourceInfo | None = None
        self._spec: Spec = ""
        self._live = False
        self._paused = False
        self._position = 0.0
        self._silence: str | None = None
        self._layers_timed = self._shared = False
        self._least: dict[str, tuple[int, int]] = {}  # by consumer of the results
        self._jobs = Jobs(self)
        self.style_jobs = StyleJobs(catalog, self._jobs, self)
        self.style_jobs.problem.connect(self.problem)
        self.previews = PreviewRequests(
            catalog, self._jobs, self.style_jobs, lambda: self.still or self._paused, self
        )
        latest = LatestValue()
        self._thread = QThread(self)
        self._thread.setObjectName("engine")
        self.engine = engine or Engine(catalog, self.notice.emit, budget_ms)
        self.engine.report_gpu_failures(self.gpu_failed.emit)
        self._worker = Worker(self.engine, latest, self.metrics)
        self._worker.moveToThread(self._thread)
        self._loop, self._post = self._worker.loop, self._worker.post
        self.choice = Choice(config, catalog, self.style_jobs, self._worker, self)
        self.delivery = Delivery(latest, self.choice, self)
        self.user_styles = UserStyles(catalog, self.style_jobs, self.write, self.choice, self)
        self.wall = Wall(catalog, self._jobs, self.style_jobs, self._worker, self)
        self._opening = Opening(self._jobs, self._loop.pending, self)
        self._kernels = KernelPreparation(catalog, self._jobs, self)
        self.gpu = GpuChoice(self.choice, self._worker, self._jobs, self)
        self._connect_parts(self._worker)
        self._connect(self._worker)
        self._thread.finished.connect(self._worker.close)  # runs on the thread, before it ends
        self.studio = TrainingController(catalog, self)
        self.studio.finished.connect(self._trained)
        sys.setswitchinterval(SWITCH_S)
        self._thread.start()
        self.choice.send()

    def _connect(self, worker: Worker) -> None:
        worker.ready.connect(self.delivery.deliver)
        worker.problem.connect(self.problem)
        worker.info_changed.connect(self._source_info)
        worker.ended.connect(self._ended)
        worker.status.connect(self.source_status)
        worker.position_changed.connect(self._moved)
        worker.silence_changed.connect(self._silenced)
        worker.progress.connect(self.progress)
        worker.refining.connect(self.refining)
        worker.learning.connect(self.learning)
        worker.learned.connect(self.scene_learned)
        worker.config_rejected.connect(self.choice.refuse)
        self.previews.wanted.connect(partial(self._post, worker.want_previews))
        worker.previewed.connect(self.previews.take)

    def _connect_parts(self, worker: Worker) -> None:
        self.choice.changed.connect(self.config_changed)
        self.choice.tried_changed.connect(self.tried_changed)
        self.choice.refused.connect(self.config_refused)
        self.delivery.styled.connect(self.styled)
        self.user_styles.changed.connect(self.styles_changed)
        self.user_styles.pictured.connect(self.picture_styled)
        self.user_styles.notice.connect(self.notice)
        self.user_styles.problem.connect(self.problem)
        self.user_styles.forgotten.connect(self.previews.forget)
        self.user_styles.forgotten.connect(self.wall.forget)
        self.user_styles.forgotten.connect(partial(self._post, worker.evict))
        self._opening.changed.connect(self.opening_changed)
        self._opening.opened.connect(self._on_opened)
        self._opening.problem.connect(self.problem)
        self._opening.failed.connect(self.opening_failed)
        self._kernels.compiling.connect(partial(self._post, self._loop.compile_kernels))
        self._kernels.changed.connect(self.kernels_changed)
        self._kernels.problem.connect(self.problem)
        self.gpu.notice.connect(self.notice)
        self.delivery.styled.connect(self.gpu.painted)

    # Config

    @property
    def config(self) -> EngineConfig:
        return self.choice.config

    @config.setter
    def config(self, config: EngineConfig) -> None:
        self.choice.config = config

    def trial_refusal(self, key: str) -> str:
        """Return why a style cannot be tried now, as a sentence; empty if it can."""
        if self._info is None:
            return tr("There is no picture to try a style on")
        if self.delivery.held:
            return tr("You cannot try a style while you record a film: the film would show it")
        if self._shared:
            return tr("You cannot try a style while the virtual camera shows the stream")
        if self.config.compare:
            return tr("You cannot try a style during a speed test")
        if self.style_jobs.unprepared((key,)):
            return tr("This style is not prepared yet; choose it once before you try it")
        return ""

    @property
    def shared(self) -> bool:
        """Whether a recording or something besides the window uses the results."""
        return self.delivery.held or self._shared

    # Source

    @property
    def info(self) -> SourceInfo | None:
        return self._info

    @property
    def spec(self) -> Spec:
        return self._spec

    @property
    def still(self) -> bool:
        return self._info is not None and not self._live and self._info.count == 1

    @property
    def of_pictures(self) -> bool:
        """Whether the source is a picture or several, not a stream."""
        return self._info is not None and not self._live

    @property
    def position(self) -> float:
        return self._position

    @property
    def silence(self) -> str | None:
        return self._silence

    @property
    def paused(self) -> bool:
        return self._paused

    @paused.setter
    def paused(self, paused: bool) -> None:
        if paused != self._paused:
            self._paused = paused
            if self._live and not paused:  # the still being refined is no longer wanted
                self._loop.interrupted.set()
            self._post(self._loop.pause, paused)
            self.paused_changed.emit(paused)

    def open(self, spec: Spec, otherwise: Callable[[], object] | None = None) -> None:
        """Open a source in the background; `source_changed` or `problem` is emitted.

        The present stream continues until then. `otherwise` replaces the emission of a problem.
        """
        self._opening.open(spec, otherwise)

    @Slot(object, object)
    def _on_opened(self, spec: Spec, source: FrameSource) -> None:
        self._spec = spec
        self.play(source)

    def play(self, source: FrameSource) -> None:
        """Stream from an open source; the engine's thread takes ownership of it."""
        if not self._loop.pending.add(source):
            return
        self.paused = False
        self.replaced.emit()
        self.metrics.start(source.kind)
        self._live, self._info = source.live, source.info  # of the same source as `spec`
        self._loop.interrupted.set()
        self._post(self._worker.open, source)

    def set_display_size(self, width: int, height: int) -> None:
        """Process streams of large frames in about the displayed size, in pixels of the screen.

        A width of 0 keeps the frames' own size.
        """
        self._post(self._loop.set_display_size, width, height)

    def set_least_size(self, width: int, height: int, who: str) -> None:
        """Keep streams of large frames at least about this large, even on a smaller display.

        `who` consumes results besides the display; a width of 0 ends that. The largest sides count.
        """
        self._least[who] = width, height
        widths, heights = zip(*self._least.values(), strict=True)
        self._shared = max(widths) > 0
        if self._shared:
            self.choice.try_style("")
            self.wall.end()
        self._post(self._loop.set_least_size, max(widths), max(heights))

    def hold(self, held: bool) -> None:
        """Set whether to keep the automatic size and network, and to use each frame's own size.

        Recording uses this. Setting it also ends the trial of a style.
        """
        if held:
            self.choice.try_style("")
            self.wall.end()
        self.delivery.held = held
        self._post(self._loop.hold, held)

    @property
    def streaming(self) -> bool:
        """Whether a camera, a film or the scene plays."""
        return self._info is not None and self._live and not self._paused

    def learn_scene(self, on: bool) -> None:
        """Learn the empty scene from the next frames, or stop learning it.

        `learning` follows, and `scene_learned` at the end.
        """
        self._post(self._loop.learn_scene, on)

    def rest(self, on: bool) -> None:
        """Read frames without styling them, for work that needs the machine, or style them again.

        The wall makes the stream rest too, and keeps it so.
        """
        if on or not self.wall.shown:
            self._loop.interrupted.set()
            self._post(self._loop.rest, on)
        self.rests_changed.emit(on)

    def time_layers(self, on: bool) -> None:
        """Time every layer of the network (`Timings.layers`), which slows it on a GPU."""
        if on != self._layers_timed:
            self._layers_timed = on
            self._post(self._loop.time_layers, on)

    def seek(self, position: float) -> None:
        self._loop.interrupted.set()
        self._post(self._loop.seek, position)

    def step(self, count: int) -> None:
        """Go forward by `count` frames or pictures; backward if negative."""
        self._loop.interrupted.set()
        self._post(self._loop.step_source, count)

    def set_volume(self, volume: float) -> None:
        self._post(self._loop.set_volume, volume)

    def listen(self, listener: Listener | None) -> None:
        """Send the sound of films, as it is played, to a listener on another thread.

        With None, stop sending.
        """
        self._post(self._loop.listen, listener)

    def set_loop(self, part: tuple[float, float] | None) -> None:
        self._post(self._loop.set_loop, part)

    def set_camera_mode(self, width: int, height: int, fps: float) -> None:
        """Switch the open camera, if any, to another size in pixels and rate in Hz.

        `source_changed` reports the mode that its driver chose.
        """
        if self._info is not None and isinstance(self._spec, str) and is_camera(self._spec):
            # Named, since indices change when another camera is plugged in.
            self._spec = with_mode(f"camera:{self._info.title}", width, height, fps)
            self._post(self._loop.set_mode, width, height, fps)

    def set_exposure(self, stops: float | None) -> None:
        """Set the camera's exposure time in stops; each doubles or halves it.

        0 is the automatic exposure time at the moment it is left; None returns to automatic.
        """
        self._post(self._loop.set_exposure, stops)

    def cancel(self) -> None:
        """Give up a picture that is computed in bands of rows; the picture on screen stays."""
        self._loop.interrupted.set()
        self._post(self._loop.cancel)

    @Slot(object)
    def _source_info(self, info: SourceInfo) -> None:
        self._info = info
        self.source_changed.emit(info)
        # All controllers have now forgotten the mask of the picture before.
        self._post(self._loop.know_picture, info)

    @Slot()
    def _ended(self) -> None:
        self._info = None
        self.source_changed.emit(None)

    @Slot(float)
    def _moved(self, position: float) -> None:
        self._position = position
        self.position_changed.emit(position)

    @Slot(object)
    def _silenced(self, silence: str | None) -> None:
        self._silence = silence
        self.silence_changed.emit(silence)

    # Results

    def on_painted(self, styled: StyledFrame, paint_ms: float = 0.0) -> None:
        self.metrics.displayed(styled, time.perf_counter(), paint_ms)
        self.painted.emit(styled)

    # Jobs

    def run(self, work: Callable[[], T], done: Callable[[T], None], *, failure: str) -> None:
        """Run `work` on another thread, then `done` with its result on the GUI thread.

        `failure` begins the problem that is emitted if `work` raises.
        """
        self._jobs.run(work, done, lambda exc: self.problem.emit(Problem.of(exc, failure=failure)))

    @property
    def writing(self) -> bool:
        return self._jobs.writing

    def write(self, work: Callable[[], T], done: Callable[[T], None], *, failure: str) -> None:
        """Run a job that writes a user's file, see `run`; closing the window waits for it."""
        self._jobs.run(
            work, done, lambda exc: self.problem.emit(Problem.of(exc, failure=failure)), writes=True
        )

    def prepare_kernels(self, families: Sequence[str] = (STYLE, TRANSFORMER)) -> None:
        """Prepare the kernels for the device in use; `kernels_changed` is emitted per family."""
        self._kernels.prepare(self.config.device, families)

    def cameras(self) -> None:
        """List the cameras; `cameras_found` is emitted, with an empty list on failure."""

        def failed(exc: Exception) -> None:
            self.problem.emit(Problem.of(exc, failure="Could not look for cameras"))
            self.cameras_found.emit(())

        self._jobs.run(list_cameras, self.cameras_found.emit, failed)

    @Slot(object)
    def _trained(self, style: Style) -> None:
        self.styles_changed.emit()
        self.trained.emit(style)  # not chosen: hours later, the stream may serve another purpose

    def shutdown(self) -> None:
        """End all threads and close all sources; call this once, before quitting.

        If the engine does not end within WAIT_S seconds, its thread is left behind.
        """
        self.ending.emit()
        self.studio.close()
        self.style_jobs.close()
        self._jobs.close()
        self._loop.interrupted.set()
        self._thread.quit()
        if not self._thread.wait(round(WAIT_S * 1e3)):
            leave_behind(self, "engine")
        self._loop.pending.close()
