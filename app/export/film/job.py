"""Jobs that turn a film into a film with one engine, part by part, and resume later."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path

from app.engine.result import StyledFrame
from app.errors import StyleForgeError
from app.export.film.fault import FAULTS, FilmError, named, reason, unmade
from app.export.film.info import FilmReading
from app.export.film.parts.line import FilmLine, PartFrame
from app.export.film.parts.line import Styling as Styling
from app.export.film.parts.output import PartWriter
from app.export.film.parts.remarks import kept_of
from app.export.film.parts.request import PART as PART
from app.export.film.parts.request import FilmCancelled as FilmCancelled
from app.export.film.parts.request import FilmProgress as FilmProgress
from app.export.film.parts.request import FilmRequest as FilmRequest
from app.export.film.parts.whole import finished
from app.export.film.reader import read_frames
from app.export.film.report import FilmReport
from app.export.film.store import History, SegmentStore
from utils.translation.joints import clauses
from utils.translation.texts import tr


class FilmJob:
    """A job that makes a film on the thread of `run`, where it calls `on_progress` per batch.

    Any thread may call `pause`, `resume` and `cancel`.
    """

    def __init__(
        self,
        request: FilmRequest,
        styling: Styling,
        on_progress: Callable[[FilmProgress], object] = lambda progress: None,
    ) -> None:
        self._request, self._styling, self._on_progress = request, styling, on_progress
        self._reading = FilmReading()
        self._line = FilmLine(request.output, styling)
        self._discards = False  # whether to delete the parts after a cancellation

    def pause(self) -> None:
        self._line.pause()

    def resume(self) -> None:
        self._line.resume()

    def cancel(self, *, keep: bool = True) -> None:
        """End `run` soon; keep the finished parts for a later run, or delete them."""
        self._discards = self._discards or not keep
        self._line.cancel()

    def run(self) -> FilmReport:
        """Make the film, continuing after the finished parts of an earlier run.

        Raises:
            FilmCancelled: If the job was cancelled.
            StyleForgeError: If the film cannot be made; the finished parts stay.
        """
        request = self._request
        try:
            with SegmentStore(request.target, self._identity()) as store:
                return self._make(store)
        except FAULTS as exc:
            raise unmade(request.target, request.info.path, reason(exc)) from exc

    def _identity(self) -> dict[str, str]:
        return self._request.whole_identity

    def _make(self, store: SegmentStore) -> FilmReport:
        request, line, begun = self._request, self._line, time.perf_counter()
        resumed = done = store.frames
        after = self._continue(store)

        def told(count: int, newest: StyledFrame) -> None:
            nonlocal done
            done += count
            spent = time.perf_counter() - begun - line.paused_s
            rate = (done - resumed) / spent
            self._on_progress(FilmProgress(done, request.info.count, rate, newest))

        line.run(self._frames(store, after), _StoredParts(request, store, self._styling), told)
        if line.cancelled:
            cancelled = tr("{file} was cancelled", file=named(request.target))
            kept = "" if self._discards else kept_of(store)
            if self._discards or not store.finished:
                store.remove()
            raise FilmCancelled(clauses((cancelled, kept)))
        seconds = time.perf_counter() - begun - line.paused_s
        shares = line.clock.shares(seconds)
        return finished(request, store, self._reading, resumed, seconds, shares, line.running)

    def _frames(self, store: SegmentStore, after: int | None) -> Generator[PartFrame]:
        """Yield the frames after a time; frames of finished parts only update the history."""
        number, last, count = len(store.segments), store.last, 0
        frames = read_frames(self._request.info, self._reading, after)
        with closing(frames):
            for frame in frames:
                if last is not None and frame.pts <= last:
                    yield PartFrame(frame, None)
                    continue
                part, place = divmod(count, self._request.part)
                ends = place == self._request.part - 1
                yield PartFrame(frame, number + part, last=ends)
                count += 1

    def _continue(self, store: SegmentStore) -> int | None:
        """Restore the history of the finished parts and return the time after which to read frames.

        That time is less than a batch before the end of the parts, so all batches equal the batches
        of an uninterrupted run.
        """
        if store.history is None:
            return store.last
        try:
            self._styling.restore(store.history.kept)
        except StyleForgeError as exc:
            raise FilmError(
                tr(
                    "cannot continue {file}: {error}; delete the folder {folder} to start over",
                    file=named(self._request.target),
                    error=exc,
                    folder=named(store.folder),
                )
            ) from exc
        return store.history.after


class _StoredParts:
    """A sink that stores the parts of a film with the history that later frames need."""

    def __init__(self, request: FilmRequest, store: SegmentStore, styling: Styling) -> None:
        self._request, self._store, self._styling = request, store, styling
        self._given = store.frames - store.frames_behind_history
        self._histories: dict[int, History] = {}  # by the number of the part they follow

    def begin(self, number: int) -> Path:
        return self._store.begin(number)

    def styled(self, batch: Sequence[PartFrame]) -> None:
        """Save the history of the frames so far if a part ends before the next batch does."""
        self._given += len(batch)
        if not self._styling.has_history:
            return
        parts = (self._given + self._styling.batch - 1) // self._request.part
        if self._given <= parts * self._request.part:
            self._histories[parts - 1] = History(batch[-1].film.pts, self._styling.history())

    def keep(self, number: int, made: PartWriter) -> None:
        history = self._histories.pop(number, None)
        self._store.add(number, made.path, made.start, made.times, made.duration, history)

    def unwritable(self, fault: str) -> FilmError:
        request, said = self._request, clauses((fault, kept_of(self._store)))
        return unmade(request.target, request.info.path, said)
