"""The object that runs the frame loop on the engine's thread, between Qt signals."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import ParamSpec

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from app.engine.engine import Engine
from app.engine.webgpu_rates import Measurement
from app.errors import Problem
from app.frame import FrameSource
from app.live.frame_loop import FrameLoop, Interrupted
from app.live.latest_value import LatestValue
from app.live.loop_events import LoopEvents
from app.live.previews.painter import PreviewPainter
from app.live.previews.tiles import TilePainter
from app.live.stream_metrics import StreamMetrics
from kernels.network.webgpu.library import WebGpuError

log = logging.getLogger(__name__)
P = ParamSpec("P")


class Worker(QObject):
    """A worker that steps a FrameLoop with each tick of a zero-interval timer.

    Other threads send commands through `post`. The signals match `LoopEvents`. `wanted`, `pending`
    and `interrupted` of `loop` are for the GUI thread.
    """

    ready = Signal()
    problem = Signal(object)  # Problem
    info_changed = Signal(object)  # SourceInfo
    ended = Signal()
    status = Signal(str)
    position_changed = Signal(float)
    silence_changed = Signal(object)  # FrameSource.silence
    config_rejected = Signal(object)  # EngineConfig or None
    progress = Signal(float)
    previewed = Signal(object)  # Preview
    tiled = Signal(object)  # Preview, see TilePainter
    measured = Signal(object)  # KeptRate
    tuned = Signal(object)  # what `Engine.tune` returned
    refining = Signal(object)  # float | None
    learning = Signal(object)  # float | None
    learned = Signal(object)  # Path
    _posted = Signal(object)  # Callable[[], object]

    def __init__(self, engine: Engine, latest: LatestValue, metrics: StreamMetrics) -> None:
        super().__init__()
        events = LoopEvents(
            ready=self.ready.emit,
            problem=self.problem.emit,
            info_changed=self.info_changed.emit,
            ended=self.ended.emit,
            status=self.status.emit,
            position_changed=self.position_changed.emit,
            silence_changed=self.silence_changed.emit,
            config_rejected=self.config_rejected.emit,
            progress=self.progress.emit,
            refining=self.refining.emit,
            learning=self.learning.emit,
            learned=self.learned.emit,
        )
        self.loop = FrameLoop(engine, latest, metrics, events)
        self._previews = PreviewPainter(engine.apart)
        self._tiles = TilePainter(lambda: self._interruptible(engine.apart()))
        self._tick = QTimer(self, interval=0)
        self._tick.timeout.connect(self._step)
        self._posted.connect(self._carry_out, Qt.ConnectionType.QueuedConnection)

    def post(self, command: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Have the engine's thread call a command of `loop` or of this worker.

        Any thread may call this. Commands take effect in their order, between two ticks.
        """
        self._posted.emit(partial(command, *args, **kwargs))

    @Slot(object)
    def _carry_out(self, command: Callable[[], object]) -> None:
        command()
        self._follow()

    def open(self, source: FrameSource) -> None:
        self._previews.forget()
        self._tiles.forget()
        self.loop.open(source)

    def evict(self, style: str) -> None:
        self.loop.evict(style)
        self._previews.evict(style)
        self._tiles.evict(style)

    def want_previews(self, styles: tuple[str, ...], visible: int) -> None:
        """Paint previews of styles between frames; the first `visible` are in view."""
        self._previews.want(styles, visible)

    def want_tiles(self, styles: tuple[str, ...], width: int, height: int) -> None:
        """Paint tiles of a wall between frames, in pixels of the screen."""
        self._tiles.want(styles, width, height)

    def _interruptible(self, engine: Engine) -> Engine:
        """Make `engine` give up a tile when another thread interrupts the loop."""

        def look(_share: float | None) -> None:
            if self.loop.interrupted.is_set():
                raise Interrupted

        engine.between_layers = look
        return engine

    def tune(self) -> None:
        """Tune the GPU that paints, for some milliseconds."""
        try:
            self.tuned.emit(self.loop.tune())
        except OSError as exc:
            log.info("tuning failed", exc_info=True)
            self.problem.emit(Problem.of(exc, failure="Could not tune the GPU"))

    def measure(self, measurement: Measurement) -> None:
        """Paint a picture of a measurement between two frames, then the next one."""
        try:
            rate = measurement.step()
        except (WebGpuError, OSError) as exc:
            log.info("measurement failed", exc_info=True)
            self.problem.emit(Problem.of(exc, failure="Could not measure the GPU"))
            return
        if rate is None:
            self.post(self.measure, measurement)
        else:
            self.measured.emit(rate)

    @Slot()
    def close(self) -> None:
        """Close the source; called by the thread when it ends."""
        self._tick.stop()
        self._previews.want((), 0)
        self._tiles.want((), 1, 1)
        self.loop.close()

    @Slot()
    def _step(self) -> None:
        self.loop.step()
        self._paint_preview()
        self._paint_tile()
        self._follow()

    def _paint_preview(self) -> None:
        try:
            preview = self._previews.step(self.loop.between())
        except Exception as exc:  # the stream continues without previews
            log.info("preview failed", exc_info=True)
            self._previews.want((), 0)
            self.problem.emit(Problem.of(exc, failure="Could not paint the previews of the styles"))
            return
        if preview is not None:
            self.previewed.emit(preview)

    def _paint_tile(self) -> None:
        try:
            tile = self._tiles.step(self.loop.between())
        except Exception as exc:  # the window shows the pictures it has
            log.info("tile failed", exc_info=True)
            self._tiles.want((), 1, 1)
            self.problem.emit(Problem.of(exc, failure="Could not paint the wall"))
            return
        if tile is not None:
            self.tiled.emit(tile)

    def _follow(self) -> None:
        if self.loop.running != self._tick.isActive():
            (self._tick.start if self.loop.running else self._tick.stop)()
