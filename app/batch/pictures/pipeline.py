"""A pipeline that reads, styles and writes pictures concurrently, with outcomes in job order."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from app.batch.pictures.files import FAULTS, Picture, read, write
from app.batch.pictures.groups import Group
from app.batch.pictures.outcome import Fault, Outcome, Result
from app.batch.pictures.styling import Failed, Styled, Styling

# for files; with more, the pictures in flight cost more memory than they save time
MOST_THREADS = 16


@dataclass(frozen=True, slots=True)
class _Reading:
    group: Group
    pictures: list[Future[Picture]]

    @property
    def done(self) -> bool:
        return all(each.done() for each in self.pictures)


class Pipeline:
    """A pipeline with its own threads for files, while the engine runs on the caller's thread.

    Use it as a context. At its end, it abandons files that have not begun, and completes files that
    are being written.

    Args:
        budget_bytes: Memory for the pictures in flight; a single group may exceed it.
        size: Requested long side of the network's input; None for automatic.
        threads: Number of threads that read and write; None for one per core, up to a limit.
        depth: Bits per channel of the results; None for the pictures' own.
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
        self._held: deque[int] = deque()  # bytes of each picture in flight
        self._lock = threading.Lock()
        self._written = 0

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.shutdown(wait=True, cancel_futures=True)

    @property
    def written(self) -> int:
        return self._written

    def run(self, groups: Iterable[Group]) -> Iterator[Outcome]:
        """Read, style and write pictures; yield outcomes in order. Groups are consumed lazily."""
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
            else:  # nothing to compute until a file is written
                yield self._next_outcome()
            while self._writing and self._writing[0].done():
                yield self._next_outcome()

    def _has_room(self, group: Group) -> bool:
        if not self._held:
            return True
        # If groups are larger than the number of threads, read one of them ahead.
        most = max(self._ahead, 2 * len(group.jobs))
        fits = sum(self._held) + group.held_bytes <= self._budget_bytes
        return fits and len(self._held) + len(group.jobs) <= most

    def _read(self, group: Group) -> None:
        count = len(group.jobs)
        self._held.extend([group.held_bytes // count] * count)
        pictures = [self._files.submit(read, job, self._depth) for job in group.jobs]
        self._reading.append(_Reading(group, pictures))

    def _taken(self) -> list[Picture | Failed]:
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
        outcome = self._writing.popleft().result()
        self._held.popleft()
        return outcome

    def _outcome(self, finished: Styled | Failed) -> Outcome:
        """Write the result of a picture; runs on a thread."""
        notices = finished.notices
        if isinstance(finished, Failed):
            return Outcome(finished.job, None, Fault.of(finished.error), notices=notices)
        picture, styled = finished.picture, finished.result
        try:
            remark = write(picture, styled, self._size)
        except FAULTS as exc:
            return Outcome(picture.job, None, Fault.of(exc), notices=notices)
        with self._lock:
            self._written += 1
        return Outcome(picture.job, Result.of(styled), None, remark, notices)
