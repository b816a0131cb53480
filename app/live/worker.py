"""The frame loop: one background thread that owns the engine and the open source."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import replace

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.process_mode import ProcessMode
from app.engine.result import StyledFrame, Timings
from app.errors import Problem
from app.frame import Frame, FrameSource, SourceInfo
from app.live.display_copy import for_display, with_preview, with_previews
from app.live.stream_metrics import StreamMetrics

log = logging.getLogger(__name__)

OVERHEAD_S = 0.5  # how often the engine is told what is spent outside it


class LatestValue:
    """Holds the newest result only; a reader that is late misses frames, never falls behind."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._value: StyledFrame | None = None

    def put(self, value: StyledFrame) -> bool:
        """Store `value`; True if the reader has to be told."""
        with self._lock:
            was_empty = self._value is None
            self._value = value
        return was_empty

    def take(self) -> StyledFrame | None:
        """Empty the box."""
        with self._lock:
            value, self._value = self._value, None
        return value


class Worker(QObject):
    """Reads, styles and delivers, one frame per tick of a zero-interval timer; commands arrive
    as queued signals and take effect between two ticks.

    A frame is styled again without a new one having been read when the config changed while the
    source stands still (a picture, a pause), once more at leisure when it goes on standing
    still, and over and over while baseline and fused are compared.
    """

    ready = Signal()  # a doorbell: the result itself waits in `latest`
    problem = Signal(object)  # Problem
    info_changed = Signal(object)  # SourceInfo, of a new source and whenever it has changed
    ended = Signal()  # the source delivers no more frames
    status = Signal(str)  # the source's sentence, when it changes
    position_changed = Signal(float)  # the source's position, when it changes
    config_rejected = Signal(object)  # the EngineConfig that stays in force, or None

    def __init__(self, engine: Engine, latest: LatestValue, meter: StreamMetrics) -> None:
        super().__init__()
        self.wanted: EngineConfig | None = None  # set from the GUI thread: newest config wanted
        self._engine = engine
        self._latest = latest
        self._meter = meter
        self._source: FrameSource | None = None
        self._info: SourceInfo | None = None
        self._frame: Frame | None = None
        self._paused = False
        self._styled: EngineConfig | None = None  # what the newest result was made with
        self._refined = False  # the newest result took its time
        self._reduced = False  # the newest result was made for the display
        self._display = (0, 0)
        self._held = False
        self._status = ""
        self._position = 0.0
        self._overhead_at = 0.0
        self._tick = QTimer(self, interval=0)
        self._tick.timeout.connect(self._step)

    @Slot(object)
    def open(self, source: FrameSource) -> None:
        """Replace the source; takes ownership of it."""
        self.close()
        self._engine.reset_history()
        self._source = source
        self._paused = False
        self._info = source.info
        self.info_changed.emit(self._info)
        self._start()

    @Slot(object)
    def configure(self, config: EngineConfig) -> None:
        kept = self._engine.config
        if kept is not None and self.wanted is not None and config != self.wanted:
            return  # a newer one is already on its way
        try:
            self._engine.configure(config)
        except Exception as exc:
            log.info("configure failed", exc_info=True)
            self.problem.emit(Problem.of(exc, doing="use that choice"))
            self.config_rejected.emit(kept)
        self._start()

    @Slot(float)
    def seek(self, position: float) -> None:
        if self._source:
            self._source.seek(position)
            self._engine.reset_history()

    @Slot(int)
    def step_source(self, count: int) -> None:
        if self._source:
            self._source.step(count)
            self._engine.reset_history()

    @Slot(bool)
    def pause(self, paused: bool) -> None:
        self._paused = paused
        if self._source:
            self._source.pause(paused)

    @Slot(str)
    def forget(self, style: str) -> None:
        self._engine.evict(style)

    @Slot(bool)
    def compile_kernels(self, compiling: bool) -> None:
        """Kernels are being compiled, or are there: then the newest frame is styled again, since
        the config does not name them."""
        self._engine.compile_kernels(compiling)
        if not compiling:
            self._styled = None

    @Slot(int, int)
    def show_on(self, width: int, height: int) -> None:
        """Frames of a stream are worked on with no more pixels than so large a display needs."""
        self._display = width, height

    @Slot(bool)
    def hold(self, held: bool) -> None:
        """While held (a recording), results have the frame's size and the network keeps its."""
        self._held = held
        self._engine.hold(held)

    @Slot()
    def close(self) -> None:
        """Let go of the source; the thread's last act when it ends."""
        self._tick.stop()
        if self._source:
            self._source.close()
            self._source = None
        self._frame = self._styled = None
        self._latest.take()
        self._set_status("")

    def _start(self) -> None:
        if self._source and self._engine.config:
            self._styled = None
            self._tick.start()

    @Slot()
    def _step(self) -> None:
        source = self._source
        if source is None:
            return
        try:
            frame = source.read()
        except Exception as exc:
            log.info("source failed", exc_info=True)
            self.close()
            self.problem.emit(Problem.of(exc, doing=f"read {source.info.title}"))
            self.ended.emit()
            return
        self._set_status(source.status)
        if source.info != self._info:  # a measured rate, another picture of the strip
            self._info = source.info
            self.info_changed.emit(self._info)
        if source.position != self._position:
            self._position = source.position
            self.position_changed.emit(self._position)
        refine = False
        if frame is not None:
            self._frame = frame
        elif (refine := self._needs_reprocess(source)) is None or self._frame is None:
            return
        self._style(source, self._frame, refine)

    def _needs_reprocess(self, source: FrameSource) -> bool | None:
        """Whether to style the old frame again: None for no, True for at leisure."""
        config = self._engine.config
        if self._frame is None or config is None:
            return None
        if self._styled != config:
            return False
        stands_still = not source.live or self._paused
        if stands_still and (config.compare or self._reduced):
            return False
        if stands_still and not self._refined and config.size is None:
            return True
        return None

    def _style(self, source: FrameSource, frame: Frame, refine: bool) -> None:
        streaming = source.live and not self._paused
        if not streaming:
            # A picture's age says nothing; the delay that matters began with the command.
            frame = replace(with_preview(frame), captured_at=time.perf_counter())
            self._frame = frame
        begun = time.perf_counter()
        self._report_overhead(begun)
        shown = for_display(frame, self._display) if streaming and not self._held else frame
        copied = time.perf_counter()
        try:
            inferred = self._engine.infer(shown, _mode(source, refine))
            styled = self._engine.finish(inferred, self.wanted)
            finished = time.perf_counter()
            if shown is not frame:
                styled = replace(styled, captured=frame)
            styled = with_previews(styled)
            styled = _timed(styled, begun, copied, finished)
        except Exception as exc:
            log.info("frame failed", exc_info=True)
            self._tick.stop()  # until the next config or source, or every frame would say so
            self.problem.emit(Problem.of(exc, doing="style this frame"))
            return
        self._styled, self._refined = styled.config, refine
        self._reduced = shown is not frame
        self._meter.processed(styled, time.perf_counter())
        if self._latest.put(styled):
            self.ready.emit()

    def _report_overhead(self, now: float) -> None:
        """The automatic size needs to know, though not for every frame."""
        if now - self._overhead_at >= OVERHEAD_S:
            self._overhead_at = now
            self._engine.set_overhead(self._meter.overhead_ms(now))

    def _set_status(self, status: str) -> None:
        if status != self._status:
            self._status = status
            self.status.emit(status)


def _mode(source: FrameSource, refine: bool) -> ProcessMode:
    if refine:  # a stream that is paused keeps its history
        return ProcessMode.SEQUENCE if source.live else ProcessMode.REFINE
    return ProcessMode.LIVE if source.live else ProcessMode.SINGLE


def _timed(styled: StyledFrame, begun: float, copied: float, finished: float) -> StyledFrame:
    """`styled` with every stretch since its capture in its timings, so that they add up.

    The engine's thread took the frame at `begun`, had a copy of it in the size of the display at
    `copied`, and the result at `finished`; what follows until now are copies of that.
    """
    now = time.perf_counter()
    around = Timings(
        wait=max(0.0, begun - styled.source.captured_at) * 1e3,
        copy=(copied - begun + now - finished) * 1e3,
    )
    timings = styled.timings + around
    other_ms = (now - begun) * 1e3 - timings.total
    return replace(styled, timings=timings + Timings(other=max(0.0, other_ms)), finished_at=now)
