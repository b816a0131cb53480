"""Makes a film of a film: reads, styles and encodes on threads of their own, part by part."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from app.engine.result import StyledFrame
from app.errors import StyleForgeError
from app.export.film.fault import FAULTS, FilmError, named, reason, unmade
from app.export.film.info import FilmFrame, FilmInfo, FilmReading, StyledFilmFrame
from app.export.film.reader import read_frames
from app.export.film.report import CONVERT, FilmReport, StageClock
from app.export.film.segment import Encoding
from app.export.film.store import History, SegmentStore
from app.export.film.threads.ahead import THREADS, mapped_ahead
from app.export.film.threads.channel import Channel
from app.frame import Frame
from kernels.frames.stream_state import StreamState

PART = 240  # frames of a part, about what encoders put between two key frames
SHORT = 0.98  # of the frames or seconds that a file says to have; with fewer it is not whole


class FilmCancelled(StyleForgeError):
    """The film was cancelled; its finished parts are kept."""


class Styling(Protocol):
    """What styles frames, as app.export.film.styling.FilmStyling does."""

    batch: int

    @property
    def has_history(self) -> bool:
        """Whether a result depends on the frames before it."""
        ...

    def history(self) -> StreamState:
        """What the next frame continues, once the results of `begin` were taken."""
        ...

    def restore(self, history: StreamState) -> None:
        """Continue with the next frame what `history` was returned for."""
        ...

    def begin(self, frames: Sequence[Frame]) -> Iterator[StyledFrame]:
        """Style frames, and yield what is finished."""
        ...

    def complete_all(self) -> Iterator[StyledFrame]:
        """Wait for everything that is under way."""
        ...

    def discard_all(self) -> None:
        """Wait for everything that is under way, without results."""
        ...


class Part(Protocol):
    """A part of a film that is being written, as app.export.film.segment.SegmentWriter is."""

    path: Path
    start: int
    times: list[int]
    duration: int

    @property
    def frames(self) -> int:
        """How many frames it has."""
        ...

    def write(self, frame: Any, pts: int, duration: int) -> None:
        """Write a frame that the output has coded."""
        ...

    def close(self) -> None:
        """Complete the file."""
        ...

    def discard(self) -> None:
        """Give the file up."""
        ...


class Output(Protocol):
    """How frames become a file, as app.export.film.assembly.FilmOutput makes films. Its methods may
    be called from any thread."""

    def coded(self, frame: StyledFilmFrame) -> Any:
        """Make of a frame what its parts are given."""
        ...

    def part(self, path: Path) -> Part:
        """Begin a part."""
        ...

    def assemble(self, store: SegmentStore, target: Path) -> tuple[str, ...]:
        """Put all parts together, and return what cannot be kept, one clause each."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class FilmProgress:
    """How far a film is.

    Attributes:
        done: Frames that are styled, those of an earlier run among them.
        count: Frames in all, or nearly so; 0 where it is not known.
        fps: Frames a second of this run, pauses aside.
        styled: The newest frame.
    """

    done: int
    count: int
    fps: float
    styled: StyledFrame

    @property
    def seconds_left(self) -> float | None:
        """Until the end, at this rate; None where it is not known."""
        if not self.count or not self.fps:
            return None
        return max(0, self.count - self.done) / self.fps


@dataclass(frozen=True, slots=True)
class FilmRequest:
    """A film to make.

    Attributes:
        info: The film.
        target: The file of the result.
        encoding: How it is encoded.
        output: Makes it.
        identity: Everything else on which the result depends, for a run that goes on later.
        part: How many frames a part has, at least as many as a batch.
        refused: Why faster encoders cannot be used, one clause each.
    """

    info: FilmInfo
    target: Path
    encoding: Encoding
    output: Output
    identity: Mapping[str, str]
    part: int = PART
    refused: tuple[str, ...] = ()


class FilmJob:
    """Makes one film, on the thread that calls `run`. `pause`, `resume` and `cancel` may be called
    from any other.

    Args:
        request: What to make.
        styling: Styles the frames.
        on_progress: Told how far the film is after each batch, on the thread of `run`.
    """

    def __init__(
        self,
        request: FilmRequest,
        styling: Styling,
        on_progress: Callable[[FilmProgress], object] = lambda progress: None,
    ) -> None:
        self._request, self._styling, self._on_progress = request, styling, on_progress
        self._clock = StageClock()
        self._reading = FilmReading()
        self._going = threading.Event()
        self._going.set()
        self._cancelled = False
        self._paused_s = 0.0
        self._fault: Exception | None = None
        self._running = ""
        self._histories: dict[int, History] = {}  # by the number of the part behind which it is

    def pause(self) -> None:
        """Let what is under way end, and then wait."""
        self._going.clear()

    def resume(self) -> None:
        """Go on after a pause."""
        self._going.set()

    def cancel(self) -> None:
        """End `run` soon; what is finished is kept."""
        self._cancelled = True
        self._going.set()

    def run(self) -> FilmReport:
        """Make the film, going on behind the parts that an earlier run has finished.

        Returns:
            What became of it.

        Raises:
            FilmCancelled: It was cancelled.
            StyleForgeError: It cannot be made. What is finished is kept in either case.
        """
        request = self._request
        try:
            with SegmentStore(request.target, self._identity()) as store:
                return self._make(store)
        except FAULTS as exc:
            raise unmade(request.target, request.info.path, reason(exc)) from exc

    def _identity(self) -> dict[str, str]:
        info, encoding = self._request.info, self._request.encoding
        about = info.path.stat()
        return {
            "source": f"{info.path.resolve()}, {about.st_size} bytes of {about.st_mtime_ns}",
            "encoder": repr(encoding),
            "part": str(self._request.part),
            **self._request.identity,
        }

    def _make(self, store: SegmentStore) -> FilmReport:
        request, begun = self._request, time.perf_counter()
        resumed, after = store.frames, self._continue(store)
        read: Channel[FilmFrame] = Channel(max(4, 2 * self._styling.batch))
        styled: Channel[StyledFilmFrame] = Channel(max(4, 2 * self._styling.batch))
        threads = [
            threading.Thread(target=self._decode, args=(read, styled, after), name="film decoder"),
            threading.Thread(target=self._encode, args=(read, styled, store), name="film encoder"),
        ]
        for thread in threads:
            thread.start()
        try:
            self._style(read, styled, store, begun)
        except BaseException:
            styled.give_up()
            self._styling.discard_all()
            raise
        finally:
            read.give_up()
            styled.end()
            for thread in threads:
                thread.join()
        if self._fault is not None:
            raise self._fault
        if self._cancelled:
            raise FilmCancelled(f"{named(request.target)} was cancelled; {self._kept(store)}")
        if not store.segments:
            raise FilmError(f"no frame of {named(request.info.path)} can be decoded")
        seconds = time.perf_counter() - begun - self._paused_s
        try:
            remarks = request.output.assemble(store, request.target)
        except FilmError as exc:
            raise FilmError(f"{exc}; {self._kept(store)}") from exc
        faults = self._faults(store)
        frames = store.frames
        store.remove()
        encoder = request.encoding.encoder
        return FilmReport(
            frames,
            resumed,
            seconds,
            self._clock.shares(seconds),
            f"{encoder.name}, {encoder.device}",
            self._running,
            (*request.info.remarks, *self._remarks(), *remarks),
            faults,
            request.refused,
        )

    def _continue(self, store: SegmentStore) -> int | None:
        """Go on behind the finished parts, with what their frames leave to the next ones, and
        return the time behind which frames are read: before the end of the parts by less than a
        batch, so that all batches are those of a run that was not stopped."""
        if store.history is None:
            return store.last
        try:
            self._styling.restore(store.history.kept)
        except StyleForgeError as exc:
            raise FilmError(
                f"{named(self._request.target)} cannot go on: {exc}; without the folder "
                f"{named(store.folder)} it begins anew"
            ) from exc
        return store.history.after

    def _decode(
        self,
        read: Channel[FilmFrame],
        styled: Channel[StyledFilmFrame],
        after: int | None,
    ) -> None:
        try:
            frames = read_frames(self._request.info, self._reading, after)
            while True:
                with self._clock.working("decode"):
                    frame = next(frames, None)
                if frame is None or not read.put(frame):
                    frames.close()
                    break
        except StyleForgeError as exc:
            self._fault = exc
            styled.give_up()
        finally:
            read.end()

    def _style(
        self,
        read: Channel[FilmFrame],
        styled: Channel[StyledFilmFrame],
        store: SegmentStore,
        begun: float,
    ) -> None:
        """Style what is read; of frames that are finished, what they leave is all that counts."""
        waiting: deque[FilmFrame] = deque()
        resumed, last = store.frames, store.last
        done, given = resumed, resumed - store.frames_behind_history

        def hand_on(results: Iterable[StyledFrame]) -> bool:
            nonlocal done
            newest = None
            for result in results:
                film = waiting.popleft()
                if last is not None and film.pts <= last:
                    continue
                made = result.frame
                frame = StyledFilmFrame(made.pixels, film.pts, film.duration, made.alpha)
                if not styled.put(frame):
                    return False
                done, newest = done + 1, result
            if newest is not None:
                self._running = str(newest.running)
                spent = time.perf_counter() - begun - self._paused_s
                rate = (done - resumed) / spent
                self._on_progress(FilmProgress(done, self._request.info.count, rate, newest))
            return True

        for batch in _batches(read, self._styling.batch):
            waiting.extend(batch)
            results = list(self._timed(self._styling.begin([each.frame for each in batch])))
            given += len(batch)
            self._remember(given, batch[-1].pts)
            if not hand_on(results):
                return
            self._wait_while_paused()
            if self._cancelled:
                styled.give_up()
                self._styling.discard_all()
                return
        hand_on(self._timed(self._styling.complete_all()))

    def _remember(self, given: int, newest: int) -> None:
        """Keep what the frames so far leave to the next ones if a part ends before the next batch
        does.

        Args:
            given: How many frames of the film there were.
            newest: When the last one is shown, in the film's time base.
        """
        if not self._styling.has_history:
            return
        part = (given + self._styling.batch - 1) // self._request.part
        if given <= part * self._request.part:
            with self._clock.working("engine"):
                self._histories[part] = History(newest, self._styling.history())

    def _timed(self, results: Iterable[StyledFrame]) -> Iterator[StyledFrame]:
        """Pass results on, and count the time until each is there."""
        coming = iter(results)
        while True:
            with self._clock.working("engine"):
                result = next(coming, None)
            if result is None:
                return
            self._clock.add("network", result.timings.network / 1e3)
            yield result

    def _wait_while_paused(self) -> None:
        if not self._going.is_set():
            begun = time.perf_counter()
            self._going.wait()
            self._paused_s += time.perf_counter() - begun

    def _encode(
        self, read: Channel[FilmFrame], styled: Channel[StyledFilmFrame], store: SegmentStore
    ) -> None:
        """Encode what is styled, part by part; a part is completed while the next one begins."""
        try:
            with ThreadPoolExecutor(1, thread_name_prefix="film part") as completing:
                self._encode_parts(styled, store, completing)
        except FAULTS as exc:
            self._fault = self._unwritable(reason(exc), store)
        except FilmError as exc:
            self._fault = self._unwritable(str(exc), store)
        finally:
            styled.give_up()
            read.give_up()

    def _encode_parts(
        self, styled: Channel[StyledFilmFrame], store: SegmentStore, completing: ThreadPoolExecutor
    ) -> None:
        output = self._request.output
        writer: Part | None = None
        before: Future[None] | None = None  # completes the part before

        def coded(frame: StyledFilmFrame) -> tuple[Any, int, int]:
            begun = time.perf_counter()
            made = output.coded(frame)
            self._clock.add(CONVERT, (time.perf_counter() - begun) / THREADS)
            return made, frame.pts, frame.duration

        try:
            coming = mapped_ahead(coded, styled, "film converter")
            while (following := next(coming, None)) is not None:
                with self._clock.working("encode"):
                    if writer is None:
                        writer = output.part(store.begin())
                    writer.write(*following)
                    if writer.frames == self._request.part:
                        if before is not None:
                            before.result()
                        before, writer = completing.submit(self._keep, writer, store), None
            if before is not None:
                before.result()
            ended = not self._cancelled and self._fault is None and not styled.given_up
            if writer is not None and ended:
                with self._clock.working("encode"):
                    self._keep(writer, store)
                writer = None
        finally:
            if writer is not None:
                writer.discard()

    def _keep(self, writer: Part, store: SegmentStore) -> None:
        """Complete a part."""
        writer.close()
        history = self._histories.pop(len(store.segments) + 1, None)
        store.add(writer.path, writer.start, writer.times, writer.duration, history)

    def _unwritable(self, fault: str, store: SegmentStore) -> FilmError:
        return unmade(
            self._request.target, self._request.info.path, f"{fault}; {self._kept(store)}"
        )

    def _kept(self, store: SegmentStore) -> str:
        return (
            f"{store.frames} frames are finished, and the same command goes on behind them"
            if store.frames
            else "nothing of it was finished"
        )

    def _remarks(self) -> Iterator[str]:
        info, encoding = self._request.info, self._request.encoding
        if (info.width, info.height) != (encoding.width, encoding.height):
            yield (
                f"it has {encoding.width}x{encoding.height} of {info.width}x{info.height} pixels, "
                f"since {encoding.codec.title} needs even sizes"
            )
        if self._reading.scaled:
            yield f"{self._reading.scaled} frames of another size were scaled to that of the first"

    def _faults(self, store: SegmentStore) -> tuple[str, ...]:
        reading, info, frames = self._reading, self._request.info, store.frames
        first, last = store.segments[0], store.segments[-1]
        seconds = float((last.last + last.duration - first.start) * info.time_base)
        faults: list[str] = []
        if reading.fault:
            faults.append(f"it could be read for {frames} frames only: {reading.fault}")
        if reading.damaged:
            faults.append(f"{reading.damaged} packets of it could not be decoded")
        if info.counted and frames < SHORT * info.count:
            faults.append(f"{frames} of the {info.count} frames that it says to have could be read")
        elif info.timed and not info.counted and seconds < SHORT * info.seconds - 2 / info.rate:
            said = f"{info.seconds:.1f} seconds that it says to have"
            faults.append(f"{seconds:.1f} of the {said} could be read")
        return tuple(faults)


def _batches(frames: Iterable[FilmFrame], size: int) -> Iterator[list[FilmFrame]]:
    batch: list[FilmFrame] = []
    for frame in frames:
        batch.append(frame)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
