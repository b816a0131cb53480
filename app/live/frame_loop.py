"""The loop that reads, styles and delivers frames. It is independent of Qt and of threads."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import replace

from app.engine.config import EngineConfig, same_network
from app.engine.engine import Engine
from app.engine.inferred import Pending
from app.engine.matting.files import MatteError
from app.engine.process_mode import ProcessMode
from app.engine.result import StyledFrame
from app.errors import Problem
from app.frame import Frame, FrameSource, SourceInfo
from app.live.display_copy import for_display, screen_size, with_preview, with_previews
from app.live.latest_value import LatestValue
from app.live.loop_events import NO_EVENTS, Between, LoopEvents
from app.live.moves import BETWEEN_S, Moves, Taken
from app.live.pacing import Pacing
from app.live.pending_sources import PendingSources
from app.live.scene_learning import SceneLearning
from app.live.source_reports import SourceReports
from app.live.stream_metrics import StreamMetrics
from app.sound.device import Listener
from utils.stop_flag import StopFlag, Stopped, stopped_by
from utils.translation.texts import tr

log = logging.getLogger(__name__)

OVERHEAD_S = 0.5  # between updates of the engine's overhead


class Interrupted(Exception):
    """Raised if the picture being computed is no longer wanted."""


class FrameLoop:
    """The loop that reads, styles and delivers a frame with each `step`, on one thread.

    Commands take effect between steps. If frames stay on a GPU, the next frame of a stream is
    uploaded while one is computed. If the source delivers no new frame (a picture, a pause), the
    loop styles the last one again when the config has changed, once more in better quality when
    changes stop, and repeatedly while networks are compared. A change after the network alone
    needs no new run of it.

    Attributes:
        wanted: The newest config, which another thread may set before it calls `configure`.
        pending: Sources on their way to `open`.
        interrupted: Set by another thread to give up a picture that is being refined or computed
            in bands of rows, before it sends a command, which clears it. Setting `wanted` sets it
            too, if other networks must paint.
        running: Whether there are a source and a config, and no frame has failed.
    """

    def __init__(
        self,
        engine: Engine,
        latest: LatestValue,
        metrics: StreamMetrics,
        events: LoopEvents = NO_EVENTS,
    ) -> None:
        self._wanted: EngineConfig | None = None
        self.pending = PendingSources()
        self.interrupted = StopFlag()
        self.running = False
        self._events = events
        self._engine = engine
        engine.on_progress, engine.between_layers = self._on_progress, self._between_layers
        self._latest = latest
        self._metrics = metrics
        self._source: FrameSource | None = None
        self._frame: Frame | None = None
        self._paused = False
        self._styled: EngineConfig | None = None  # the config of the newest result
        self._delivered: EngineConfig | None = None  # the same, also if it is styled again
        self._refined = False  # whether the newest result is in the better quality
        self._refining = False  # whether it is being computed
        self._kept_refined = False  # whether the output that `Engine.finish_again` uses is
        self._finished: EngineConfig | None = None  # the newest config wanted of it
        self._configured: EngineConfig | None = None  # by the newest command
        self._given_up = False  # whether a picture was, so that nothing is styled meanwhile
        self._reduced = False  # whether the newest result is in the size of the display
        self._moved_to = False  # whether the newest result is an earlier painting, moved
        self._display = self._least = (0, 0)
        self._held = self._idle = self._resting = False
        self._volume = 1.0
        self._listener: Listener | None = None
        self._overhead_at = 0.0
        self._under_way: tuple[Taken, Pending] | None = None  # on the GPU
        self._moves = Moves(self._read_newer, self._moved, self._deliver)
        self._scene = SceneLearning(events.learning, events.learned, events.problem)
        self._reports = SourceReports(events, engine.leave_picture)
        self._pacing = Pacing()

    @property
    def wanted(self) -> EngineConfig | None:
        return self._wanted

    @wanted.setter
    def wanted(self, config: EngineConfig | None) -> None:
        self._wanted, kept = config, self._engine.config
        if config is not None and kept is not None and not same_network(kept, config):
            self.interrupted.set()

    def between(self) -> Between | None:
        """Return the state until the next step, for other users of the engine's thread.

        Return None before the first result, in comparisons and in recordings: the loop then
        needs the thread for itself, unless it rests.
        """
        source, frame, config = self._source, self._frame, self._engine.config
        if source is None or frame is None or config is None or not self.running:
            return None
        busy = self._styled is None or self._held or config.compare
        if busy and not self._resting:
            return None
        return Between(frame, config, source.live and not self._paused, self._idle)

    def open(self, source: FrameSource) -> None:
        """Replace the source, and take ownership of the new one."""
        self.interrupted.clear()
        self.close()
        self._engine.reset_history()
        self._moves.forget()
        self._source = source
        self.pending.remove(source)
        self._paused = False
        source.set_volume(self._volume)
        source.listen(self._listener)
        self._reports.begin(source)
        self._start()

    def configure(self, config: EngineConfig) -> None:
        """Use a config, unless a newer one is on its way; may call `config_rejected`."""
        kept = self._engine.config
        if kept is not None and self.wanted is not None and config != self.wanted:
            return  # a newer one is already on its way
        self.interrupted.clear()
        try:
            self._engine.configure(config)
        except Exception as exc:
            log.info("configure failed", exc_info=True)
            self._events.problem(Problem.of(exc, failure="Could not apply this choice"))
            self._events.config_rejected(kept)
        repeated, self._configured = config == self._configured, config
        if self.running and not (self._given_up or repeated) and config == self._styled:
            return  # the result is there, since it took `wanted`
        self._start()

    def seek(self, position: float) -> None:
        self.interrupted.clear()
        if self._source:
            self._discard()
            self._source.seek(position)
            self._engine.reset_history()

    def step_source(self, count: int) -> None:
        self.interrupted.clear()
        if self._source:
            self._discard()
            self._source.step(count)
            self._engine.reset_history()

    def cancel(self) -> None:
        """End an interruption without another command; the picture on screen stays."""
        self.interrupted.clear()

    def know_picture(self, info: SourceInfo) -> None:
        """Use the scenes and masks of the next configs, which are made for the present picture.

        Args:
            info: The properties that `LoopEvents.info_changed` reported, the same object; the call
                has no effect if they are outdated.
        """
        if info is self._reports.info:
            self._engine.take_picture()

    def learn_scene(self, on: bool) -> None:
        """Learn the empty scene from the next frames of the stream, or stop learning it."""
        (self._scene.begin if on else self._scene.stop)()

    def pause(self, paused: bool) -> None:
        self.interrupted.clear()
        self._paused = paused
        if self._source:
            self._source.pause(paused)

    def set_volume(self, volume: float) -> None:
        """Set the volume of this source and the next ones, 0 to 1."""
        self._volume = volume
        if self._source:
            self._source.set_volume(volume)

    def listen(self, listener: Listener | None) -> None:
        self._listener = listener
        if self._source:
            self._source.listen(listener)

    def set_loop(self, part: tuple[float, float] | None) -> None:
        if self._source:
            self._source.set_loop(part)

    def set_mode(self, width: int, height: int, fps: float) -> None:
        if self._source:
            self._source.set_mode(width, height, fps)

    def set_exposure(self, stops: float | None) -> None:
        if self._source:
            self._source.set_exposure(stops)

    def evict(self, style: str) -> None:
        self._engine.evict(style)

    def compile_kernels(self, compiling: bool) -> None:
        """Set whether kernels are being compiled; the last frame is styled again afterwards."""
        self._engine.compile_kernels(compiling)
        if not compiling:
            self._style_again()

    def tune(self) -> bool | None:
        """Tune the GPU that paints, see `Engine.tune`."""
        return self._engine.tune()

    def try_gpu_again(self) -> None:
        """Open a GPU again that failed, and style the last frame again."""
        self._engine.try_gpu_again()
        self._style_again()

    def time_layers(self, on: bool) -> None:
        """Set whether layers are timed; style the last frame again to time still pictures too."""
        self._engine.time_layers(on)
        self._style_again()

    def set_display_size(self, width: int, height: int) -> None:
        """Process streams in about the display's size, in pixels; (0, 0) for their own size."""
        self._display = width, height

    def set_least_size(self, width: int, height: int) -> None:
        """Process stream frames at this size in pixels or more, for other consumers.

        (0, 0) sets no limit.
        """
        self._least = width, height

    def hold(self, held: bool) -> None:
        """Set whether to keep the automatic size and network, and to make results in the frame
        size.
        """
        self._held = held
        self._engine.hold(held)

    def rest(self, on: bool) -> None:
        """Read frames without styling them, or style the last one and those that follow."""
        self.interrupted.clear()
        if on != self._resting:
            self._resting = on
            self._discard()
            self._style_again()

    def close(self) -> None:
        self.running = False
        self._scene.stop()
        self._discard()
        if self._source:
            self._source.close()
            self._source = None
        self._frame = self._styled = self._delivered = None
        self._latest.take()
        self._reports.end()

    def _start(self) -> None:
        if self._source and self._engine.config:
            self._style_again()
            self.running = True

    def _style_again(self) -> None:
        """Style the last frame again, even if it was given up."""
        self._styled, self._given_up = None, False

    def step(self) -> None:
        """Read a frame (at most LONGEST_S), style and deliver it; do nothing unless running."""
        source = self._source
        if source is None or not self.running:
            return
        if self._under_way is not None:
            # A frame read later is younger when it is painted.
            self._moves.wait(self._pacing.due)
        self._idle = False
        try:
            frame = self._read(source)
        except Exception as exc:
            log.info("source failed", exc_info=True)
            self.close()
            self._events.problem(
                Problem.of(exc, failure=tr("Could not read {name}", name=source.info.title))
            )
            self._events.ended()
            return
        self._reports.follow(source, arrived=frame is not None)
        refine = False
        if frame is not None:
            self._frame = frame
        elif self._under_way is not None:
            self._complete_under_way()
            return
        elif (refine := self._needs_reprocess(source)) is None or self._frame is None:
            self._idle = True
            return
        if self._resting:
            self._idle = frame is None
            return
        if frame is not None or refine or not self._finish_again_or_fail():
            self._style(source, self._frame, refine)

    def _needs_reprocess(self, source: FrameSource) -> bool | None:
        """Return whether to style the last frame again: None for no, True for better quality."""
        config = self._engine.config
        if self._frame is None or config is None or self._given_up:
            return None
        if self._styled != config:
            return False
        stands_still = not source.live or self._paused
        if stands_still and (config.compare or self._reduced or self._moved_to):
            return False
        if stands_still and not self._refined and config.size is None:
            return True
        return None

    def _read(self, source: FrameSource) -> Frame | None:
        if self._under_way is None:
            return source.read()
        return source.read(timeout=self._pacing.timeout())

    def _style(self, source: FrameSource, frame: Frame, refine: bool) -> None:
        streaming = source.live and not self._paused
        if not streaming:
            # The latency of a still picture counts from the command, not from its capture.
            frame = replace(with_preview(frame), captured_at=time.perf_counter())
            self._frame = frame
        self._report_overhead(time.perf_counter())
        self._given_up = False
        taken = self._take(frame, streaming)
        with self._reporting():
            try:
                self._paint(taken, _mode(source, refine), streaming=streaming)
            except (Interrupted, Stopped):  # the loop styles nothing until the next command
                self._styled, self._given_up = self._engine.config, True
                self._events.progress(1.0)
            finally:
                self._moves.under_way = False
                if refine:
                    self._refining = False
                    self._events.refining(None)

    def _paint(self, taken: Taken, mode: ProcessMode, *, streaming: bool) -> None:
        shown, config = taken.shown, self._engine.config
        fluid = streaming and config is not None and config.fluid and not config.compare
        screen = screen_size(shown, self._display)
        if fluid:
            self._moves.begin(taken)
        pending = self._engine.begin(shown, mode, self.wanted, screen) if streaming else None
        before, self._under_way = self._under_way, pending and (taken, pending)
        self._pacing.begun()
        if before is not None:
            self._complete(*before)
        if pending is not None:
            return
        refine = not streaming and mode.refines
        if refine:
            self._refining = True
            self._events.refining(0.0)
        begun = time.perf_counter()
        with stopped_by(self.interrupted) if refine else nullcontext():
            inferred = self._engine.infer(shown, mode)
        styled = self._engine.finish(inferred, self.wanted)
        if fluid:
            self._moves.painted(time.perf_counter() - begun - self._moves.spent_s)
        self._kept_refined = refine
        self._show(styled, taken, refined=refine)

    def _take(self, frame: Frame, streaming: bool) -> Taken:
        begun = time.perf_counter()
        config = self._engine.config
        size = None if config is None else config.size
        needed = max(self._display[0], self._least[0]), max(self._display[1], self._least[1])
        shown = for_display(frame, needed, size) if streaming and not self._held else frame
        if streaming:
            self._scene.take(frame)
        return Taken(frame, shown, begun, time.perf_counter())

    def _read_newer(self, timeout: float) -> Taken | None:
        """Return the source's next frame, if it is there while an earlier one is painted."""
        assert self._source is not None
        frame = self._source.read(timeout=timeout)
        if frame is None:
            return None
        self._frame = frame
        return self._take(frame, streaming=True)

    def _moved(self, taken: Taken) -> StyledFrame | None:
        return self._engine.move(taken.shown, self.wanted, screen_size(taken.shown, self._display))

    def _on_progress(self, share: float) -> None:
        self._follow_wanted()
        self._events.progress(share)

    def _between_layers(self, share: float | None) -> None:
        """Follow changes while a picture is refined, or show a newer frame of a stream.

        A frame of a stream is completed: while the config keeps changing, none would be shown
        otherwise.
        """
        if self._refining:
            self._follow_wanted()
            if share is not None:
                self._events.refining(share)
        elif self._moves.under_way:
            self._moves.show_newer()

    def _follow_wanted(self) -> None:
        """Give up a picture that is no longer wanted.

        While it is refined, a change after the network acts on the result before.
        """
        config, wanted = self._engine.config, self.wanted
        changed = config is not None and wanted is not None and not same_network(config, wanted)
        if changed or self.interrupted.is_set():
            raise Interrupted
        if self._refining and wanted not in (None, self._styled, self._finished):
            self._finish_again()

    def _complete_under_way(self) -> None:
        """Deliver the frame that is on the GPU, since no other follows it at once."""
        before, self._under_way = self._under_way, None
        if before is None:
            return
        self._moves.resume()
        try:
            with self._reporting():
                self._complete(*before)
        finally:
            self._moves.under_way = False

    def _complete(self, taken: Taken, pending: Pending) -> None:
        while self._moves.under_way and not self._engine.ready(pending):
            self._moves.show_newer(BETWEEN_S)
        styled = self._engine.complete(pending)
        self._pacing.completed(styled.timings)
        self._moves.painted(self._pacing.spent_s)
        self._show(styled, taken)

    def _show(self, styled: StyledFrame, taken: Taken, *, refined: bool = False) -> None:
        """Deliver a painting, unless a newer frame shows it moved."""
        if self._moves.under_way:
            self._metrics.painted(styled, time.perf_counter())
        else:
            self._deliver(styled, taken, refined=refined)

    def _finish_again_or_fail(self) -> bool:
        """Return whether `_finish_again` delivered a result, or reported an error."""
        with self._reporting():
            return self._finish_again()
        return True

    def _finish_again(self) -> bool:
        """Deliver the newest output again with other steps after the network.

        Return False if the network has to run.
        """
        assert self._frame is not None
        begun, self._finished = time.perf_counter(), self.wanted
        frame = replace(self._frame, captured_at=begun)
        styled = self._engine.finish_again(frame, self.wanted)
        if styled is not None:
            self._deliver(styled, Taken(frame, frame, begun, begun), refined=self._kept_refined)
        return styled is not None

    def _deliver(self, styled: StyledFrame, taken: Taken, *, refined: bool = False) -> None:
        finished = time.perf_counter()
        reduced = taken.shown is not taken.frame
        if reduced:
            styled = replace(styled, captured=taken.frame)
        styled = _timed(with_previews(styled), taken, finished)
        self._styled, self._refined, self._reduced = styled.config, refined, reduced
        self._delivered = styled.config
        self._moved_to = styled.moved
        if self._latest.put(styled):
            self._events.ready()
        self._metrics.processed(styled, time.perf_counter())  # the window does not wait for this

    def _discard(self) -> None:
        given_up, self._under_way = self._under_way, None
        if given_up is not None:
            self._engine.discard(given_up[1])

    @contextmanager
    def _reporting(self) -> Generator[None]:
        """Report an error of the engine, and style nothing until the next config or source.

        A matte that does not fit stops no stream: the loop styles the frame again without it.
        """
        try:
            yield
        except MatteError as exc:
            log.info("matte failed", exc_info=True)
            self._discard()
            self._events.problem(Problem.of(exc, failure="Could not find people in this picture"))
            self._refuse_matte()
        except Exception as exc:
            log.info("frame failed", exc_info=True)
            self.running = False
            self._discard()
            self._events.problem(Problem.of(exc, failure="Could not style this frame"))

    def _refuse_matte(self) -> None:
        """Return to the matte of the newest result; if it is the same one, to none."""
        refused, before = self._engine.config, self._delivered
        assert refused is not None
        kept = refused.without_matte()
        if before is not None and before.matte != refused.matte:
            kept = replace(refused, matte=before.matte, paint=before.paint)
        try:
            self._engine.configure(kept)
        except MatteError:  # its file is gone meanwhile
            kept = refused.without_matte()
            self._engine.configure(kept)
        if self._wanted is not None and self._wanted.matte == refused.matte:
            self._wanted = kept  # otherwise the next frame would take the matte again
        self._style_again()
        self._events.config_rejected(kept)

    def _report_overhead(self, now: float) -> None:
        """Update the engine's overhead and the sound's delay every OVERHEAD_S."""
        if now - self._overhead_at >= OVERHEAD_S:
            self._overhead_at = now
            self._engine.set_overhead(self._metrics.overhead_ms(now))
            if self._source is not None:
                self._source.set_delay(self._metrics.delay_s(now))


def _mode(source: FrameSource, refine: bool) -> ProcessMode:
    if refine:  # a paused stream keeps its history
        return ProcessMode.SEQUENCE if source.live else ProcessMode.REFINE
    return ProcessMode.LIVE if source.live else ProcessMode.SINGLE


def _timed(styled: StyledFrame, taken: Taken, finished: float) -> StyledFrame:
    """Complete the timings of a result, so that they add up to the time since its capture.

    Copies of the result were made since `finished`, when the engine was done.
    """
    now = time.perf_counter()
    copy_ms = (taken.copied - taken.begun + now - finished) * 1e3
    other_ms = (now - taken.begun) * 1e3 - styled.timings.total - copy_ms
    timings = replace(
        styled.timings,
        wait=max(0.0, taken.begun - styled.source.captured_at) * 1e3,
        copy=copy_ms,
        other=max(0.0, other_ms),
    )
    return replace(styled, timings=timings, finished_at=now)
