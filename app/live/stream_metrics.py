"""The rates and the latency of a stream, and its bottleneck. Independent of Qt."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, median, quantiles

from app.engine.result import StyledFrame, Timings
from app.live.flicker import Flicker, FlickerMeter

WINDOW_S = 2.0  # of the averages
TIMED = 100  # most frames whose timings are averaged, evenly spaced in the window
BUSY = 0.85  # utilization of the engine above which it is the bottleneck
# Fields of Timings; the longest is the bottleneck of a busy engine.
ENGINE_PARTS = (
    *("resize", "upload", "network", "download"),
    *("motion", "blend", "comparison", "copy", "other"),
)


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """The part that limits a stream.

    Attributes:
        part: One of ENGINE_PARTS, "display", or the kind of the source: "camera", "video".
        fps: The rate of display or source; 0 for a part of the engine.
    """

    part: str
    fps: float = 0.0


@dataclass(frozen=True, slots=True)
class StreamStats:
    """The metrics of a stream over the last WINDOW_S seconds.

    Attributes:
        capture_fps: Frames per second that the source delivered, including dropped ones.
        latency_ms: Median from capture to paint: wait, total, `deliver_ms` and `paint_ms`.
        latency_p95_ms: Its 95th percentile.
        dropped: Frames that were not styled since the source was opened.
        deliver_ms: Mean time from the engine's thread to the window's.
        paint_ms: Mean time of painting.
        bottleneck: The part that limits the stream; None if there is no stream.
        flicker: Measured over the last frames; None before there are two.
        painted_fps: Frames per second that the network painted; fewer than `processed_fps` if the
            last painting moves with the scene meanwhile.
    """

    capture_fps: float = 0.0
    processed_fps: float = 0.0
    displayed_fps: float = 0.0
    latency_ms: float = 0.0
    latency_p95_ms: float = 0.0
    dropped: int = 0
    timings: Timings = field(default_factory=Timings)
    deliver_ms: float = 0.0
    paint_ms: float = 0.0
    bottleneck: Bottleneck | None = None
    flicker: Flicker | None = None
    painted_fps: float = 0.0


@dataclass(frozen=True, slots=True)
class _Painted:
    at: float
    timings: Timings


@dataclass(frozen=True, slots=True)
class _Processed:
    at: float
    timings: Timings
    moved: bool
    captured: int  # frames of the source up to this one, without backward seeks
    capturing_s: float  # the time of these frames


@dataclass(frozen=True, slots=True)
class _Displayed:
    at: float
    latency_ms: float
    timings: Timings
    deliver_ms: float
    paint_ms: float


class StreamMetrics:
    """A thread-safe collector of frame times, as `time.perf_counter()` seconds.

    The engine's thread calls `processed`, the window's thread `displayed`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.start("")

    def start(self, source: str) -> None:
        """Discard everything for a new source; its kind names the bottleneck, "" for none."""
        with self._lock:
            self._source = source
            self._painted: deque[_Painted] = deque()
            self._processed: deque[_Processed] = deque()
            self._displayed: deque[_Displayed] = deque()
            self._last_index: int | None = None
            self._last_captured = 0.0
            self._captured, self._capturing_s, self._dropped = 0, 0.0, 0
            self._flicker = FlickerMeter()

    def painted(self, styled: StyledFrame, now: float) -> None:
        """Record a painting that is not displayed itself, but moves with the scene."""
        with self._lock:
            self._painted.append(_Painted(now, styled.timings))
            _forget_old(self._painted, now)

    def processed(self, styled: StyledFrame, now: float) -> None:
        """Record that the engine finished a frame at `now`, whether or not it is displayed."""
        frame = styled.source
        with self._lock:
            if frame.captured_at == self._last_captured:
                return  # the same frame was styled again
            if self._last_index is not None and frame.index > self._last_index:
                self._dropped += frame.index - self._last_index - 1
                self._captured += frame.index - self._last_index
                self._capturing_s += frame.captured_at - self._last_captured
            self._last_index, self._last_captured = frame.index, frame.captured_at
            self._processed.append(
                _Processed(now, styled.timings, styled.moved, self._captured, self._capturing_s)
            )
            if not styled.moved:
                self._painted.append(_Painted(now, styled.timings))
            _forget_old(self._painted, now)
            _forget_old(self._processed, now)
            self._flicker.add(styled)

    def displayed(self, styled: StyledFrame, now: float, paint_ms: float) -> None:
        frame = styled.source
        finished_at = styled.finished_at or now
        deliver_ms = max(0.0, (now - finished_at) * 1e3 - paint_ms)
        latency_ms = (now - frame.captured_at) * 1e3
        with self._lock:
            self._displayed.append(
                _Displayed(now, latency_ms, styled.timings, deliver_ms, paint_ms)
            )
            _forget_old(self._displayed, now)

    def overhead_ms(self, now: float) -> float:
        """Return the median capture-to-paint ms outside the engine; 0 if nothing was painted."""
        with self._lock:
            _forget_old(self._displayed, now)
            outside = [s.latency_ms - s.timings.engine for s in self._displayed]
        return median(outside) if outside else 0.0

    def delay_s(self, now: float) -> float:
        """Return the median seconds from taking a frame to painting it; 0 if none was."""
        with self._lock:
            _forget_old(self._displayed, now)
            delays = [s.latency_ms - s.timings.wait for s in self._displayed]
        return median(delays) / 1e3 if delays else 0.0

    def stats(self, now: float) -> StreamStats:
        with self._lock:
            _forget_old(self._processed, now)
            _forget_old(self._displayed, now)
            _forget_old(self._painted, now)
            processed, displayed = list(self._processed), list(self._displayed)
            painted = list(self._painted)
            dropped, flicker = self._dropped, self._flicker.flicker
        latencies = [s.latency_ms for s in displayed]
        capture_fps = _capture_rate(processed)
        processed_fps = _rate([s.at for s in processed])
        displayed_fps = _rate([s.at for s in displayed])
        painted_fps = _rate([s.at for s in painted])
        timings = _mean([s.timings for s in painted])
        moved = [s.timings for s in processed if s.moved]
        if moved:  # the network's time is of the paintings, the rest of what is shown
            timings = replace(
                _mean(moved),
                **{name: getattr(timings, name) for name in ("network", "groups", "layers")},
            )
        return StreamStats(
            capture_fps,
            processed_fps,
            displayed_fps,
            median(latencies) if latencies else 0.0,
            _p95(latencies),
            dropped,
            timings,
            fmean(s.deliver_ms for s in displayed) if displayed else 0.0,
            fmean(s.paint_ms for s in displayed) if displayed else 0.0,
            self._bottleneck(capture_fps, painted_fps, processed_fps, displayed_fps, timings),
            flicker,
            painted_fps,
        )

    def _bottleneck(
        self,
        capture_fps: float,
        painted_fps: float,
        processed_fps: float,
        displayed_fps: float,
        timings: Timings,
    ) -> Bottleneck | None:
        if not processed_fps:
            return None
        other = timings.total - timings.network
        busy = (timings.network * painted_fps + other * processed_fps) / 1e3 >= BUSY
        # Other processes may also slow the engine: if it drops frames, it does not wait for them,
        # unless each takes longer to read than to style.
        behind = processed_fps < 0.9 * capture_fps and timings.read < timings.total
        if busy or behind:
            return Bottleneck(max(ENGINE_PARTS, key=lambda part: getattr(timings, part)))
        if displayed_fps < 0.9 * processed_fps:
            return Bottleneck("display", displayed_fps)
        return Bottleneck(self._source, capture_fps) if self._source else None


def _rate(times: Sequence[float]) -> float:
    span = times[-1] - times[0] if len(times) > 1 else 0.0
    return (len(times) - 1) / span if span > 0 else 0.0


def _capture_rate(samples: Sequence[_Processed]) -> float:
    if not samples:
        return 0.0
    first, last = samples[0], samples[-1]
    span = last.capturing_s - first.capturing_s
    return (last.captured - first.captured) / span if span > 0 else 0.0


def _mean(timed: Sequence[Timings]) -> Timings:
    """Average up to TIMED of the timings: more would keep the engine's thread waiting."""
    some = timed[:: max(1, math.ceil(len(timed) / TIMED))]
    return Timings.mean(some) if some else Timings()


def _forget_old(
    samples: deque[_Painted] | deque[_Processed] | deque[_Displayed], now: float
) -> None:
    while samples and now - samples[0].at > WINDOW_S:
        samples.popleft()


def _p95(values: Sequence[float]) -> float:
    if len(values) < 2:
        return values[0] if values else 0.0
    return quantiles(values, n=20, method="inclusive")[-1]
