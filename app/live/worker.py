"""The object that runs the frame loop on the engine's thread, between Qt signals."""

from __future__ import annotations

import logging

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.errors import Problem
from app.frame import FrameSource
from app.live.frame_loop import FrameLoop, LoopEvents
from app.live.latest_value import LatestValue
from app.live.previews.painter import PreviewPainter
from app.live.stream_metrics import StreamMetrics
from app.sound.device import Listener

log = logging.getLogger(__name__)


class Worker(QObject):
    """A worker that steps a FrameLoop with each tick of a zero-interval timer.

    Commands arrive as queued signals and take effect between two ticks. The signals match
    `LoopEvents`. `wanted`, `pending` and `interrupted` of `loop` are for the GUI thread.
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
    refining = Signal(bool)

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
        )
        self.loop = FrameLoop(engine, latest, metrics, events)
        self._previews = PreviewPainter(engine.apart)
        self._tick = QTimer(self, interval=0)
        self._tick.timeout.connect(self._step)

    @Slot(object)
    def open(self, source: FrameSource) -> None:
        self._tick.stop()
        self._previews.forget()
        self.loop.open(source)
        self._follow()

    @Slot(object)
    def configure(self, config: EngineConfig) -> None:
        self.loop.configure(config)
        self._follow()

    @Slot(float)
    def seek(self, position: float) -> None:
        self.loop.seek(position)

    @Slot(int)
    def step_source(self, count: int) -> None:
        self.loop.step_source(count)

    @Slot()
    def cancel(self) -> None:
        self.loop.cancel()

    @Slot(bool)
    def pause(self, paused: bool) -> None:
        self.loop.pause(paused)

    @Slot(float)
    def set_volume(self, volume: float) -> None:
        self.loop.set_volume(volume)

    @Slot(object)
    def listen(self, listener: Listener | None) -> None:
        self.loop.listen(listener)

    @Slot(object)
    def set_loop(self, part: tuple[float, float] | None) -> None:
        self.loop.set_loop(part)

    @Slot(int, int, float)
    def set_mode(self, width: int, height: int, fps: float) -> None:
        self.loop.set_mode(width, height, fps)

    @Slot(object)
    def set_exposure(self, stops: float | None) -> None:
        self.loop.set_exposure(stops)

    @Slot(str)
    def evict(self, style: str) -> None:
        self.loop.evict(style)
        self._previews.evict(style)

    @Slot(object, int)
    def want_previews(self, styles: tuple[str, ...], visible: int) -> None:
        """Paint previews of styles between frames; the first `visible` are in view."""
        self._previews.want(styles, visible)

    @Slot(bool)
    def compile_kernels(self, compiling: bool) -> None:
        self.loop.compile_kernels(compiling)

    @Slot(bool)
    def time_layers(self, on: bool) -> None:
        self.loop.time_layers(on)

    @Slot(int, int)
    def set_display_size(self, width: int, height: int) -> None:
        self.loop.set_display_size(width, height)

    @Slot(int, int)
    def set_least_size(self, width: int, height: int) -> None:
        self.loop.set_least_size(width, height)

    @Slot(bool)
    def hold(self, held: bool) -> None:
        self.loop.hold(held)

    @Slot()
    def close(self) -> None:
        """Close the source; called by the thread when it ends."""
        self._tick.stop()
        self._previews.want((), 0)
        self.loop.close()

    @Slot()
    def _step(self) -> None:
        self.loop.step()
        self._paint_preview()
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

    def _follow(self) -> None:
        if self.loop.running != self._tick.isActive():
            (self._tick.start if self.loop.running else self._tick.stop)()
