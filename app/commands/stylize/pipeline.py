"""Reads, styles and writes pictures at the same time, with outcomes in the order of the jobs."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from app.commands.stylize.files import FAULTS, Picture, read, write
from app.commands.stylize.groups import Group
from app.commands.stylize.jobs import Job
from app.commands.stylize.styling import Failed, Styled, Styling
from app.engine.result import StyledFrame

MOST_THREADS = 16  # for files; more pictures in flight need more memory than they save time


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What became of a picture.

    Attributes:
        job: Its files.
        styled: The result, which was written; None if the picture failed.
        error: Why it failed.
        remark: For the user; may be empty.
        notices: What the engine said meanwhile, one sentence each.
    """

    job: Job
    styled: StyledFrame | None = None
    error: Exception | None = None
    remark: str = ""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Reading:
    """A group that is being read."""

    group: Group
    pictures: list[Future[Picture]]

    @property
    def done(self) -> bool:
        return all(each.done() for each in self.pictures)


class Pipeline:
    """Files are read and written on threads of its own, the engine runs on the caller's. To be used
    as a context: at its end, what has not begun is given up, and files that are being written are
    completed.

    Args:
        styling: Styles the pictures.
        budget_bytes: For the pictures in flight; a single group may take more.
        size: The long side of the network's input that was asked for; None for automatic.
        threads: That read and write; None for one for each core.
        depth: Bits per channel of the results; None for those of the pictures.
    """

    def __init__(
        self,
        styling: Styling,
        budget_bytes: float,
        size: int | None = None,
        threads: int | None = None,
        depth: int | None = None,
    ) -> None:
        threads = threads or min(MOST_THREADS, os.cpu_count() or 1)
        self._styling, self._size, self._depth = styling, size, depth
        self._budget_bytes, self._ahead = budget_bytes, 2 * threads
        self._files = ThreadPoolExecutor(threads, "files")
        self._reading: deque[_Reading] = deque()
        self._writing: deque[Future[Outcome]] = deque()
        self._held: deque[int] = deque()  # bytes, of each picture in flight
        self._lock = threading.Lock()
        self._written = 0

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.shutdown(wait=True, cancel_futures=True)

    @property
    def written(self) -> int:
        """How many results were written."""
        return self._written

    def run(self, groups: Iterable[Group]) -> Iterator[Outcome]:
        """Read, style and write the pictures.

        Args:
            groups: Looked at no further ahead than is read.

        Yields:
            What became of each picture, in their order.
        """
        coming = iter(groups)
        following = next(coming, None)
        while following or self._reading or self._styling.under_way or self._writing:
            while following is not None and self._has_room(following):
                self._read(following)
                following = next(coming, None)
            if self._reading and (self._reading[0].done or not self._styling.under_way):
                self._write(self._styling.begin(self._taken()))
            elif self._styling.under_way:
                self._write(self._styling.complete())
            else:  # there is nothing to compute before a file is written
                yield self._next_outcome()
            while self._writing and self._writing[0].done():
                yield self._next_outcome()

    def _has_room(self, group: Group) -> bool:
        if not self._held:
            return True
        # Groups that are larger than the number of threads are read one ahead.
        most = max(self._ahead, 2 * len(group.jobs))
        fits = sum(self._held) + group.held_bytes <= self._budget_bytes
        return fits and len(self._held) + len(group.jobs) <= most

    def _read(self, group: Group) -> None:
        count = len(group.jobs)
        self._held.extend([group.held_bytes // count] * count)
        pictures = [self._files.submit(read, job, self._depth) for job in group.jobs]
        self._reading.append(_Reading(group, pictures))

    def _taken(self) -> list[Picture | Failed]:
        """Wait for the group that is read first."""
        reading = self._reading.popleft()
        taken: list[Picture | Failed] = []
        for job, future in zip(reading.group.jobs, reading.pictures, strict=True):
            try:
                taken.append(future.result())
            except FAULTS as exc:
                taken.append(Failed(job, exc))
        return taken

    def _write(self, results: Iterable[Styled | Failed]) -> None:
        self._writing.extend(self._files.submit(self._outcome, each) for each in results)

    def _next_outcome(self) -> Outcome:
        """Wait for the outcome of the first picture in flight."""
        outcome = self._writing.popleft().result()
        self._held.popleft()
        return outcome

    def _outcome(self, finished: Styled | Failed) -> Outcome:
        """Write the result of a picture; runs on a thread."""
        notices = finished.notices
        if isinstance(finished, Failed):
            return Outcome(finished.job, error=finished.error, notices=notices)
        picture, styled = finished.picture, finished.result
        try:
            remark = write(picture, styled, self._size)
        except FAULTS as exc:
            return Outcome(picture.job, error=exc, notices=notices)
        with self._lock:
            self._written += 1
        return Outcome(picture.job, styled, None, remark, notices)
