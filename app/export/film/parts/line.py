"""A pipeline that reads, styles and encodes the frames of film parts on separate threads."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from app.engine.result import StyledFrame
from app.errors import StyleForgeError
from app.export.film.fault import FAULTS, FilmError, reason
from app.export.film.info import FilmFrame, StyledFilmFrame
from app.export.film.parts.output import Output, PartWriter
from app.export.film.report import CONVERT, StageClock
from app.export.film.threads.ahead import THREADS, mapped_ahead
from app.export.film.threads.channel import Channel
from app.frame import Frame
from kernels.frames.stream_state import StreamState


class Styling(Protocol):
    """A styler of frames, such as app.export.film.styling.FilmStyling."""

    batch: int

    @property
    def has_history(self) -> bool:
        """Whether results depend on earlier frames."""
        ...

    def history(self) -> StreamState:
        """Return the state for the next frame, valid once the results of `begin` were taken."""
        ...

    def restore(self, history: StreamState) -> None:
        """Continue with the next frame from a state that `history` returned."""
        ...

    def begin(self, frames: Sequence[Frame]) -> Iterator[StyledFrame]:
        """Style frames, and yield finished results."""
        ...

    def complete_all(self) -> Iterator[StyledFrame]:
        """Wait for all frames in flight, and yield their results."""
        ...

    def discard_all(self) -> None:
        """Wait for all frames in flight, and drop their results."""
        ...


class Parts(Protocol):
    """A sink for parts."""

    def begin(self, number: int) -> Path:
        """Return the file for a part."""
        ...

    def styled(self, batch: Sequence[PartFrame]) -> None:
        """Handle a batch that was passed to the styler, before the next one is."""
        ...

    def keep(self, number: int, made: PartWriter) -> None:
        """Store a part whose file is complete; called on another thread."""
        ...

    def unwritable(self, fault: str) -> FilmError:
        """Build the error that a part cannot be written; `fault` is a clause."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class PartFrame:
    """A frame as read.

    Attributes:
        part: Number of its part; None if the frame only updates the styler's history.
        last: Whether it is known to be the last frame of its part.
    """

    film: FilmFrame
    part: int | None
    last: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Styled:
    """A frame to encode, and its place as in PartFrame."""

    film: StyledFilmFrame
    part: int
    last: bool


class FilmLine:
    """A pipeline that makes parts on the thread that calls `run` and on its own threads.

    Any thread may call `pause`, `resume` and `cancel`.
    """

    def __init__(self, output: Output, styling: Styling) -> None:
        self._output, self._styling = output, styling
        self.clock = StageClock()
        self.running = ""
        self.paused_s = 0.0
        self.cancelled = False
        self._pausing = threading.Lock()  # guards `cancelled` and `_going` together
        self._going = threading.Event()
        self._going.set()
        self._fault: Exception | None = None

    def pause(self) -> None:
        """Finish the work in progress, then wait. Does nothing after `cancel`."""
        with self._pausing:
            if not self.cancelled:
                self._going.clear()

    def resume(self) -> None:
        self._going.set()

    def cancel(self) -> None:
        """End `run` soon; finished parts stay."""
        with self._pausing:
            self.cancelled = True
            self._going.set()

    def run(
        self,
        frames: Generator[PartFrame],
        parts: Parts,
        on_batch: Callable[[int, StyledFrame], object],
    ) -> None:
        """Make parts; a separate thread reads and closes `frames`.

        Args:
            on_batch: Called after each batch with the number of styled frames and the newest one.

        Raises:
            StyleForgeError: If a frame cannot be read or a part cannot be written.
        """
        read: Channel[PartFrame] = Channel(max(4, 2 * self._styling.batch))
        styled: Channel[_Styled] = Channel(max(4, 2 * self._styling.batch))
        threads = [
            threading.Thread(target=self._decode, args=(frames, read, styled), name="film decoder"),
            threading.Thread(target=self._encode, args=(read, styled, parts), name="film encoder"),
        ]
        for thread in threads:
            thread.start()
        try:
            self._style(read, styled, parts, on_batch)
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

    def _decode(
        self, frames: Generator[PartFrame], read: Channel[PartFrame], styled: Channel[_Styled]
    ) -> None:
        try:
            while True:
                with self.clock.working("decode"):
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
        read: Channel[PartFrame],
        styled: Channel[_Styled],
        parts: Parts,
        on_batch: Callable[[int, StyledFrame], object],
    ) -> None:
        waiting: deque[PartFrame] = deque()

        def hand_on(results: Iterable[StyledFrame]) -> bool:
            newest, count = None, 0
            for result in results:
                frame = waiting.popleft()
                if frame.part is None:
                    continue
                made, film = result.frame, frame.film
                shown = StyledFilmFrame(made.pixels, film.pts, film.duration, made.alpha)
                if not styled.put(_Styled(shown, frame.part, frame.last)):
                    return False
                newest, count = result, count + 1
            if newest is not None:
                self.running = str(newest.running)
                on_batch(count, newest)
            return True

        for batch in _batches(read, self._styling.batch):
            waiting.extend(batch)
            results = list(self._timed(self._styling.begin([each.film.frame for each in batch])))
            with self.clock.working("engine"):
                parts.styled(batch)
            if not hand_on(results):
                return
            self._wait_while_paused()
            if self.cancelled:
                styled.give_up()
                self._styling.discard_all()
                return
        hand_on(self._timed(self._styling.complete_all()))

    def _timed(self, results: Iterable[StyledFrame]) -> Iterator[StyledFrame]:
        """Pass results on, and measure the wait for each."""
        coming = iter(results)
        while True:
            with self.clock.working("engine"):
                result = next(coming, None)
            if result is None:
                return
            self.clock.add("network", result.timings.network / 1e3)
            yield result

    def _wait_while_paused(self) -> None:
        if not self._going.is_set():
            begun = time.perf_counter()
            self._going.wait()
            self.paused_s += time.perf_counter() - begun

    def _encode(self, read: Channel[PartFrame], styled: Channel[_Styled], parts: Parts) -> None:
        """Encode styled frames part by part; a part is completed while the next one begins."""
        try:
            with ThreadPoolExecutor(1, thread_name_prefix="film part") as completing:
                self._encode_parts(styled, parts, completing)
        except FAULTS as exc:
            self._fault = parts.unwritable(reason(exc))
        except FilmError as exc:
            self._fault = parts.unwritable(str(exc))
        except StyleForgeError as exc:  # raised by the receiver of the parts
            self._fault = exc
        finally:
            styled.give_up()
            read.give_up()

    def _encode_parts(
        self, styled: Channel[_Styled], parts: Parts, completing: ThreadPoolExecutor
    ) -> None:
        output = self._output
        writer: PartWriter | None = None
        part = 0
        before: Future[None] | None = None  # completes the previous part

        def completed(made: PartWriter) -> Future[None]:
            if before is not None:
                before.result()
            return completing.submit(_complete, parts, part, made)

        def coded(frame: _Styled) -> tuple[_Styled, Any]:
            begun = time.perf_counter()
            made = output.coded(frame.film)
            self.clock.add(CONVERT, (time.perf_counter() - begun) / THREADS)
            return frame, made

        try:
            coming = mapped_ahead(coded, styled, "film converter")
            while (following := next(coming, None)) is not None:
                frame, made = following
                with self.clock.working("encode"):
                    if writer is not None and frame.part != part:
                        before, writer = completed(writer), None
                    if writer is None:
                        part = frame.part
                        writer = output.part(parts.begin(part))
                    writer.write(made, frame.film.pts, frame.film.duration)
                    if frame.last:
                        before, writer = completed(writer), None
            if before is not None:
                before.result()
            ended = not self.cancelled and self._fault is None and not styled.given_up
            if writer is not None and ended:
                with self.clock.working("encode"):
                    _complete(parts, part, writer)
                writer = None
        finally:
            if writer is not None:
                writer.discard()


def _complete(parts: Parts, number: int, writer: PartWriter) -> None:
    writer.close()
    parts.keep(number, writer)


def _batches(frames: Iterable[PartFrame], size: int) -> Iterator[list[PartFrame]]:
    batch: list[PartFrame] = []
    for frame in frames:
        batch.append(frame)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
