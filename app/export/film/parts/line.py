"""Reads, styles and encodes the frames of parts of a film on threads of their own."""

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


class Parts(Protocol):
    """Where parts are put."""

    def begin(self, number: int) -> Path:
        """The file for a part."""
        ...

    def styled(self, batch: Sequence[PartFrame]) -> None:
        """Hear that a batch has been given to what styles frames, before the next one is."""
        ...

    def keep(self, number: int, made: PartWriter) -> None:
        """Take a part whose file is complete; called on another thread."""
        ...

    def unwritable(self, fault: str) -> FilmError:
        """The error that a part cannot be written; `fault` is a clause."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class PartFrame:
    """A frame that is read.

    Attributes:
        film: The frame.
        part: The number of its part; None of a frame that is only remembered by what styles it.
        last: Whether it is known to be the last frame of its part.
    """

    film: FilmFrame
    part: int | None
    last: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Styled:
    """A frame to be encoded, and its place as of PartFrame."""

    film: StyledFilmFrame
    part: int
    last: bool


class FilmLine:
    """Makes parts, on the thread that calls `run` and others. `pause`, `resume` and `cancel` may be
    called from any thread.

    Args:
        output: Codes and writes the parts.
        styling: Styles the frames.

    Attributes:
        clock: How long each stage worked.
        running: What ran for the newest frame.
        paused_s: How many seconds it was paused.
        cancelled: Whether it was cancelled.
    """

    def __init__(self, output: Output, styling: Styling) -> None:
        self._output, self._styling = output, styling
        self.clock = StageClock()
        self.running = ""
        self.paused_s = 0.0
        self.cancelled = False
        self._pausing = threading.Lock()  # of `cancelled` and `_going` together
        self._going = threading.Event()
        self._going.set()
        self._fault: Exception | None = None

    def pause(self) -> None:
        """Let what is under way end, and then wait; nothing is paused once it was cancelled."""
        with self._pausing:
            if not self.cancelled:
                self._going.clear()

    def resume(self) -> None:
        """Go on after a pause."""
        self._going.set()

    def cancel(self) -> None:
        """End `run` soon; what is finished is kept."""
        with self._pausing:
            self.cancelled = True
            self._going.set()

    def run(
        self,
        frames: Generator[PartFrame],
        parts: Parts,
        on_batch: Callable[[int, StyledFrame], object],
    ) -> None:
        """Make parts.

        Args:
            frames: Read on a thread of its own, and closed there.
            parts: Where they are put.
            on_batch: Told after each batch how many frames were styled, and the newest of them.

        Raises:
            StyleForgeError: A frame cannot be read, or a part not be written.
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
        """Pass results on, and count the time until each is there."""
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
        """Encode what is styled, part by part; a part is completed while the next one begins."""
        try:
            with ThreadPoolExecutor(1, thread_name_prefix="film part") as completing:
                self._encode_parts(styled, parts, completing)
        except FAULTS as exc:
            self._fault = parts.unwritable(reason(exc))
        except FilmError as exc:
            self._fault = parts.unwritable(str(exc))
        except StyleForgeError as exc:  # of what is told of the parts
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
        before: Future[None] | None = None  # completes the part before

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
