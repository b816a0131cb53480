"""The window's interface to the engine, the source and the jobs, in the GUI thread."""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Qt, QThread, QTimer, Signal, Slot

from app.background_jobs import Jobs
from app.engine.config import EngineConfig, same_choice
from app.engine.engine import Engine
from app.engine.result import StyledFrame
from app.errors import Problem
from app.frame import FrameSource, SourceInfo
from app.live.latest_value import LatestValue
from app.live.previews.requests import PreviewRequests
from app.live.stream_metrics import StreamMetrics
from app.live.style_jobs import StyleJobs
from app.live.worker import Worker
from app.options import without
from app.sound.device import Listener
from app.sources import describe, list_cameras, open_source
from app.sources.camera import is_camera, with_mode
from app.styles.library import Library
from app.styles.pack import MAX_NAME_LENGTH, Style, StyleError
from app.training.controller import TrainingController
from app.translation.texts import tr
from kernels.ops.registry import STYLE, TRANSFORMER, KernelStatus, prepare
from models.families.table import FAMILIES
from utils.devices import resolve
from utils.text import printable

log = logging.getLogger(__name__)
T = TypeVar("T")
Spec = str | Sequence[str]

SHARE = 0.9  # of a screen's frame between two deliveries at least, since streams are not regular
# Seconds within which another result is worth waiting for when the screen can take one: it is
# younger when it is painted by as much as it is awaited.
NEXT_S = 0.003
# Seconds until a thread that computes in Python lets another one in. The engine's thread needs that
# some thirty times a frame; at Python's 5 ms it waited longer for the window than for a GPU.
SWITCH_S = 0.0005


class Session(QObject):
    """Lives in the GUI thread and owns the engine's thread.

    No method blocks: opening, installing and compiling are jobs, styling is done by the worker.

    Args:
        library: The styles.
        config: The initial config.
        budget_ms: The capture-to-paint time that the automatic size aims at.
        engine: Another engine than that of the application; used by the engine's thread only.
        parent: Of the QObject.

    Attributes:
        library: The styles.
        metrics: Of the stream.
        engine: Used by the engine's thread only.
        studio: The controller of trainings.
        style_jobs: The long work on styles.
        previews: Asks for the picture in other styles.
        refresh_rate: Of the screen, in Hz. Results that come faster are not given to the window:
            it gets the newest when it can be seen; while held, every one.
    """

    styled = Signal(object)  # StyledFrame; the newest, of the choice in force (see same_choice)
    painted = Signal(object)  # StyledFrame; it is on screen
    problem = Signal(object)  # Problem
    notice = Signal(str)  # one sentence that is no error
    config_changed = Signal(object)  # EngineConfig
    tried_changed = Signal(str)  # the key of the style that is tried; empty when none is
    config_refused = Signal(object)  # EngineConfig; the one to return to, before `config_changed`
    source_changed = Signal(object)  # SourceInfo, or None when nothing is open
    source_status = Signal(str)  # a temporary fault of the source; empty when there is none
    opening_changed = Signal(str)  # "Opening ..." while a source is opened, empty after
    opening_failed = Signal()  # follows the `problem` that says why
    position_changed = Signal(float)
    silence_changed = Signal(object)  # str, why sound is not heard, or None where there is none
    progress = Signal(float)  # of a picture that is computed in bands of rows; 1 at its end
    refining = Signal(float)  # LoopEvents.refining
    paused_changed = Signal(bool)
    kernels_changed = Signal(object)  # tuple[KernelStatus, ...]
    styles_changed = Signal()
    picture_styled = Signal(object)  # Style, made of a picture and chosen
    trained = Signal(object)  # Style; it is in the library already
    cameras_found = Signal(object)  # tuple[CameraName, ...]

    _open = Signal(object)
    _configure = Signal(object)
    _seek = Signal(float)
    _step = Signal(int)
    _cancel = Signal()
    _pause = Signal(bool)
    _set_volume = Signal(float)
    _listen = Signal(object)
    _set_loop = Signal(object)
    _set_mode = Signal(int, int, float)
    _set_exposure = Signal(object)
    _evict = Signal(str)
    _compile_kernels = Signal(bool)
    _set_display_size = Signal(int, int)
    _set_least_size = Signal(int, int)
    _hold = Signal(bool)
    _time_layers = Signal(bool)

    def __init__(
        self,
        library: Library,
        config: EngineConfig,
        *,
        budget_ms: float = 150.0,
        engine: Engine | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.library = library
        self.metrics = StreamMetrics()
        self.refresh_rate = 60.0
        self._config = config
        self._info: SourceInfo | None = None
        self._spec: Spec = ""
        self._live = False
        self._paused = False
        self._position = 0.0
        self._silence: str | None = None
        self._tried = ""
        self._held = self._layers_timed = self._shared = False
        self._least: dict[str, tuple[int, int]] = {}  # by who takes results
        self._deliver_at = 0.0
        self._later = QTimer(self, singleShot=True, timerType=Qt.TimerType.PreciseTimer)
        self._later.timeout.connect(self._on_time)
        self._awaiting = False  # the next result, though one is waiting
        self._opening = 0  # the number of the newest call of `open`, which supersedes the others
        self._jobs = Jobs(self)
        self.style_jobs = StyleJobs(library, self._jobs, self)
        self.style_jobs.problem.connect(self.problem)
        self.previews = PreviewRequests(
            library, self._jobs, self.style_jobs, lambda: self.still or self._paused, self
        )
        self._sent: EngineConfig | None = None  # the newest that the worker was given
        self._preparing: tuple[str, ...] | None = None  # styles
        self._latest = LatestValue()
        self._thread = QThread(self)
        self._thread.setObjectName("engine")
        self.engine = engine or Engine(library, self.notice.emit, budget_ms)
        self._worker = Worker(self.engine, self._latest, self.metrics)
        self._worker.moveToThread(self._thread)
        self._connect(self._worker)
        self._thread.finished.connect(self._worker.close)  # runs on the thread, before it ends
        self.studio = TrainingController(library, self)
        self.studio.finished.connect(self._trained)
        sys.setswitchinterval(SWITCH_S)
        self._thread.start()
        self._send()

    def _connect(self, worker: Worker) -> None:
        self._open.connect(worker.open)
        self._configure.connect(worker.configure)
        self._seek.connect(worker.seek)
        self._step.connect(worker.step_source)
        self._cancel.connect(worker.cancel)
        self._pause.connect(worker.pause)
        self._set_volume.connect(worker.set_volume)
        self._listen.connect(worker.listen)
        self._set_loop.connect(worker.set_loop)
        self._set_mode.connect(worker.set_mode)
        self._set_exposure.connect(worker.set_exposure)
        self._evict.connect(worker.evict)
        self._compile_kernels.connect(worker.compile_kernels)
        self._set_display_size.connect(worker.set_display_size)
        self._set_least_size.connect(worker.set_least_size)
        self._hold.connect(worker.hold)
        self._time_layers.connect(worker.time_layers)
        worker.ready.connect(self._deliver)
        worker.problem.connect(self.problem)
        worker.info_changed.connect(self._source_info)
        worker.ended.connect(self._ended)
        worker.status.connect(self.source_status)
        worker.position_changed.connect(self._moved)
        worker.silence_changed.connect(self._silenced)
        worker.progress.connect(self.progress)
        worker.refining.connect(self.refining)
        worker.config_rejected.connect(self._refused)
        self.previews.wanted.connect(worker.want_previews)
        worker.previewed.connect(self.previews.take)

    # Config

    @property
    def config(self) -> EngineConfig:
        """The config of the newest choice; setting it takes effect with the next frame."""
        return self._config

    @config.setter
    def config(self, config: EngineConfig) -> None:
        self._end_trial()
        if config != self._config:
            self._config = config
            self._send()
            self.config_changed.emit(config)
        elif config != self._worker.loop.wanted:  # a style was tried
            self._send()

    @property
    def tried(self) -> str:
        """The key of the style that is tried; "" while none is."""
        return self._tried

    @property
    def _shown(self) -> EngineConfig:
        """The config of what is shown: the choice, or the style that is tried."""
        return self._config.mixed([(self._tried, 1.0)]) if self._tried else self._config

    def trial_refusal(self, key: str) -> str:
        """Why a style cannot be tried now, as a sentence; empty if it can."""
        if self._info is None:
            return tr("There is no picture to try a style on")
        if self._held:
            return tr("While a film is recorded, no style is tried, since it would be in the film")
        if self._shared:
            return tr("While the virtual camera shows the stream, no style is tried")
        if self._config.compare:
            return tr("During a speed test, no style is tried")
        if self.style_jobs.unprepared((key,)):
            return tr("This style is not prepared yet; choose it once, and it can be tried")
        return ""

    def try_style(self, key: str) -> None:
        """Show a style without choosing it, until the config is set or another one is tried.

        Args:
            key: Of a style without a `trial_refusal`; "" to show the choice again.
        """
        if key != self._tried:
            self._tried = key
            self._send()
            self.tried_changed.emit(key)

    def _end_trial(self) -> None:
        """Forget the style that is tried, for what follows is sent to the worker anyway."""
        if self._tried:
            self._tried = ""
            self.tried_changed.emit("")

    def _send(self) -> None:
        """Give the worker the config, as soon as its styles are prepared."""
        config = self._shown
        if keys := self.style_jobs.unprepared(config.styles):
            if keys == self._preparing:
                return
            self._preparing = keys

            def prepared() -> None:
                self._preparing = None
                self._send()

            def failed() -> None:
                self._preparing = None
                if self.style_jobs.unprepared(self._config.styles) == keys:
                    self._refused(self._sent)

            self.style_jobs.prepare(keys, prepared, failed)
            return
        self._sent = self._config
        self._worker.loop.wanted = config
        self._configure.emit(config)

    @Slot(object)
    def _refused(self, kept: EngineConfig | None) -> None:
        """Return to the config in force; if there is none yet, to one that works everywhere."""
        if self._tried:
            self.try_style("")
            return
        if kept is None:
            kept = replace(self._config, device="auto", mix=None, mix_more=())
            if kept == self._config and self.library.styles:
                kept = EngineConfig(style=self.library.styles[0].key)
        self.config_refused.emit(kept)
        self.config = kept

    # Source

    @property
    def info(self) -> SourceInfo | None:
        """The open source; None while there is none."""
        return self._info

    @property
    def spec(self) -> Spec:
        """The source opened last, as passed to `open`."""
        return self._spec

    @property
    def still(self) -> bool:
        """Whether a single picture is open."""
        return self._info is not None and not self._live and self._info.count == 1

    @property
    def position(self) -> float:
        """Seconds into a video, or the index of the picture."""
        return self._position

    @property
    def silence(self) -> str | None:
        """Why the source's sound is not heard; "" where it is, None where it has none."""
        return self._silence

    @property
    def paused(self) -> bool:
        """Whether the source is paused; may be set."""
        return self._paused

    @paused.setter
    def paused(self, paused: bool) -> None:
        if paused != self._paused:
            self._paused = paused
            self._pause.emit(paused)
            self.paused_changed.emit(paused)

    def open(self, spec: Spec) -> None:
        """Open a source in the background; `source_changed` or `problem` follows.

        The present stream continues until the new source is open.

        Args:
            spec: As for app.sources.open_source.
        """
        self._opening += 1
        number = self._opening
        name = describe(spec)
        self.opening_changed.emit(tr("Opening {name}...", name=name))
        pending = self._worker.loop.pending

        def work() -> FrameSource | None:
            source = open_source(spec)
            if number != self._opening:
                source.close()
                return None
            return source if pending.add(source) else None

        def done(source: FrameSource | None) -> None:
            if source is None:
                return
            pending.remove(source)
            if number != self._opening:
                source.close()
                return
            self.opening_changed.emit("")
            self._spec = spec
            self.play(source)

        def failed(exc: Exception) -> None:
            if number == self._opening:
                self.opening_changed.emit("")
                self.problem.emit(Problem.of(exc, doing=tr("open {name}", name=name)))
                self.opening_failed.emit()

        self._jobs.run(work, done, failed)

    def play(self, source: FrameSource) -> None:
        """Stream from an open source; the engine's thread takes ownership of it."""
        if not self._worker.loop.pending.add(source):
            return
        self.paused = False
        self.metrics.start(source.kind)
        self._live = source.live
        self._worker.loop.interrupted.set()
        self._open.emit(source)

    def set_display_size(self, width: int, height: int) -> None:
        """Process streams of large frames in about the size in which they are displayed.

        Args:
            width: Of the displayed picture, in pixels of the screen; 0 for frames' own size.
            height: The same.
        """
        self._set_display_size.emit(width, height)

    def set_least_size(self, width: int, height: int, who: str) -> None:
        """Keep streams of large frames about as large as this, where the display is smaller.

        Args:
            width: In pixels; 0 where `who` takes no results.
            height: The same.
            who: Takes the results beside the display; several may, and the largest sides count.
        """
        self._least[who] = width, height
        widths, heights = zip(*self._least.values(), strict=True)
        self._shared = max(widths) > 0
        if self._shared:
            self.try_style("")
        self._set_least_size.emit(max(widths), max(heights))

    def hold(self, held: bool) -> None:
        """Keep the automatic size and network while `held` (a recording), and give results the
        frame's size."""
        if held:
            self.try_style("")
        self._held = held
        self._hold.emit(held)

    def time_layers(self, on: bool) -> None:
        """Time every layer of the network (`Timings.layers`), which slows it on a GPU."""
        if on != self._layers_timed:
            self._layers_timed = on
            self._time_layers.emit(on)

    def seek(self, position: float) -> None:
        """Go to a position of the source: seconds, or the index of a picture."""
        self._worker.loop.interrupted.set()
        self._seek.emit(position)

    def step(self, count: int) -> None:
        """Go `count` frames or pictures forward; backward if negative."""
        self._worker.loop.interrupted.set()
        self._step.emit(count)

    def set_volume(self, volume: float) -> None:
        """Set how loud the sound of films is heard, 0 to 1; 0 is mute."""
        self._set_volume.emit(volume)

    def listen(self, listener: Listener | None) -> None:
        """Give the sound of films, as it is played, to a listener on another thread; None for no
        more."""
        self._listen.emit(listener)

    def set_loop(self, part: tuple[float, float] | None) -> None:
        """Play a part of a film again and again.

        Args:
            part: The times of its first and last frame, in seconds; None for all of the film.
        """
        self._set_loop.emit(part)

    def set_camera_mode(self, width: int, height: int, fps: float) -> None:
        """Have the open camera deliver another size and rate; `source_changed` tells what its
        driver made of it. Does nothing where no camera is open.

        Args:
            width: In pixels.
            height: In pixels.
            fps: Frames a second.
        """
        if self._info is not None and isinstance(self._spec, str) and is_camera(self._spec):
            # By its name, since indices change when another camera is plugged in.
            self._spec = with_mode(f"camera:{self._info.title}", width, height, fps)
            self._set_mode.emit(width, height, fps)

    def set_exposure(self, stops: float | None) -> None:
        """Expose the camera's pictures longer or shorter.

        Args:
            stops: Each doubles or halves the time; 0 is that of the automatic when it is left;
                None for automatic.
        """
        self._set_exposure.emit(stops)

    def cancel(self) -> None:
        """Give up a picture that is computed in bands of rows; what is on screen stays."""
        self._worker.loop.interrupted.set()
        self._cancel.emit()

    @Slot(object)
    def _source_info(self, info: SourceInfo) -> None:
        self._info = info
        self.source_changed.emit(info)

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

    @Slot()
    def _on_time(self) -> None:
        """Deliver a result to the screen, which can take one: of a fast stream the next one."""
        self._awaiting = not self._awaiting and self._latest.await_next(NEXT_S)
        if self._awaiting:
            self._later.start(math.ceil(NEXT_S * 1e3))  # should the stream end
        else:
            self._deliver()

    @Slot()
    def _deliver(self) -> None:
        early = self._deliver_at - time.perf_counter()
        if early > 0 and not self._held:  # the newest result waits for the screen
            self._later.start(math.ceil(early * 1e3))
            return
        self._awaiting = False
        self._later.stop()
        self._deliver_at = time.perf_counter() + SHARE / self.refresh_rate
        result = self._latest.take()
        if result is not None and same_choice(result.config, self._shown):
            self.styled.emit(result)

    def on_painted(self, styled: StyledFrame, paint_ms: float = 0.0) -> None:
        """Record that the viewport has painted a result.

        Args:
            styled: The result.
            paint_ms: How long painting took.
        """
        self.metrics.displayed(styled, time.perf_counter(), paint_ms)
        self.painted.emit(styled)

    # Jobs

    def run(self, work: Callable[[], T], done: Callable[[T], None], *, doing: str) -> None:
        """Run a background job.

        Args:
            work: Called on another thread.
            done: Called with its result on the GUI thread.
            doing: Completes the problem "Could not ..." that is emitted if `work` raises.
        """
        self._jobs.run(work, done, lambda exc: self.problem.emit(Problem.of(exc, doing=doing)))

    def prepare_kernels(self, families: Sequence[str] = (STYLE, TRANSFORMER)) -> None:
        """Compile and load missing kernels while the stream runs, test those that were never used
        on this machine, and have networks load what they would load when they run for the first
        time; `kernels_changed` follows for each family.

        Args:
            families: Of operations, in order: the second is not needed before a picture becomes a
                style, which must not wait for it then.
        """
        family, *others = families

        def ended() -> None:
            self._compile_kernels.emit(False)
            if others:
                self.prepare_kernels(others)

        def done(statuses: Any) -> None:
            self.kernels_changed.emit(statuses)
            ended()

        def failed(exc: Exception) -> None:
            self.problem.emit(Problem.of(exc, doing="prepare the kernels"))
            ended()

        self._compile_kernels.emit(True)
        device = self._config.device
        self._jobs.run(lambda: _prepared(family, device, self.library), done, failed)

    def cameras(self) -> None:
        """List the cameras; `cameras_found` follows, with none if that failed."""

        def failed(exc: Exception) -> None:
            self.problem.emit(Problem.of(exc, doing="look for cameras"))
            self.cameras_found.emit(())

        self._jobs.run(list_cameras, self.cameras_found.emit, failed)

    def install_style(self, path: Path, title: str = "") -> None:
        """Install a checkpoint or pack as a style, and choose it.

        Args:
            path: The file or folder.
            title: Of the style; "" to derive it from the path.
        """

        def done(style: Style) -> None:
            self._forget(style.key)
            self.styles_changed.emit()
            self.config = self._config.mixed([(style.key, 1.0)])

        name = printable(path.name, MAX_NAME_LENGTH)
        self.run(
            lambda: self.library.install(path, title), done, doing=tr("install {name}", name=name)
        )

    def install_styles(self, paths: Sequence[Path]) -> None:
        """Install several checkpoints, packs or files of styles, and choose the last one; what
        cannot be installed becomes a problem each.

        Args:
            paths: The files or folders.
        """

        def work() -> tuple[list[Style], list[StyleError]]:
            installed: list[Style] = []
            refused: list[StyleError] = []
            for path in paths:
                try:
                    installed.append(self.library.install(path))
                except StyleError as exc:
                    refused.append(exc)
            return installed, refused

        def done(outcome: tuple[list[Style], list[StyleError]]) -> None:
            installed, refused = outcome
            for style in installed:
                self._forget(style.key)
            if installed:
                self.styles_changed.emit()
                self.config = self._config.mixed([(installed[-1].key, 1.0)])
                titles = ", ".join(style.title for style in installed)
                self.notice.emit(tr("Installed {styles}", styles=titles))
            for exc in refused:
                self.problem.emit(Problem.of(exc, doing="install a style"))

        self.run(work, done, doing="install the styles")

    def install_picture(self, path: Path, title: str = "") -> None:
        """Make a style of a picture, and choose it; `style_jobs` tells the progress.

        Args:
            path: The picture.
            title: Of the style; "" to derive it from the path.
        """

        def done(style: Style) -> None:
            self.styles_changed.emit()
            self.config = self._config.mixed([(style.key, 1.0)])
            self.picture_styled.emit(style)

        self.style_jobs.install_picture(path, title, done)

    def rename_style(self, key: str, title: str) -> None:
        """Give one of the user's styles another title."""

        def done(_: Style) -> None:
            self.styles_changed.emit()
            self._configure.emit(self._config)  # the engine tells the titles of what it paints

        self.run(lambda: self.library.rename(key, title), done, doing="rename the style")

    @Slot(object)
    def _trained(self, style: Style) -> None:
        self.styles_changed.emit()
        self.trained.emit(style)  # not chosen: hours later, the stream may be in use otherwise

    def remove_style(self, key: str) -> None:
        """Delete one of the user's styles; if it is in use, the first style replaces it."""

        def done(_: None) -> None:
            self._forget(key)
            left = without(self._config.parts, key)
            if not left and self.library.styles:
                left = ((self.library.styles[0].key, 1.0),)
            if left:
                self.config = self._config.mixed(left)
            self.styles_changed.emit()

        self.run(lambda: self.library.remove(key), done, doing="remove the style")

    def _forget(self, key: str) -> None:
        """Drop what is known of a style that was removed or replaced."""
        self.style_jobs.forget(key)
        self.previews.forget(key)
        self._evict.emit(key)

    def shutdown(self) -> None:
        """End every thread and close every source; call once, before the application quits."""
        self.studio.close()
        self.style_jobs.close()
        self._jobs.close()
        self._worker.loop.interrupted.set()
        self._thread.quit()
        self._thread.wait()
        self._worker.loop.pending.close()


def _prepared(operations: str, device: str, library: Library) -> tuple[KernelStatus, ...]:
    """Prepare a family of operations, and the networks that need no other after it.

    Args:
        operations: The family.
        device: As in the config.
        library: With the networks that styles share.
    """
    statuses = prepare(family=operations)
    with suppress(ValueError):  # of a device that is not there, which the engine tells
        for networks in FAMILIES.values():
            if networks.operations[-1] == operations:
                networks.warm_up(resolve(device), library.networks)
    return statuses
