"""The line before the engine: one thread does the waiting work in order."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from http import HTTPStatus
from types import TracebackType
from typing import TypeVar

from app.server.refusal import Refused

T = TypeVar("T")
STOPPING = "the server is stopping"
RETRY_S = 5  # seconds until a full line may have room
log = logging.getLogger(__name__)


class Line:
    """The engine's thread, and `most` places in line, the current work's too. `close` ends it."""

    def __init__(self, most: int) -> None:
        self._most, self._taken = most, 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread = ThreadPoolExecutor(1, "engine")

    @property
    def taken(self) -> int:
        return self._taken

    @property
    def is_closing(self) -> bool:
        """Whether the line accepts no more work, and current work should end early."""
        return self._closing.is_set()

    def place(self, *, always: bool = False) -> Place:
        """Reserve a place before there is work for it.

        `always` reserves it even if all places are taken, for jobs of an earlier run of the server.

        Raises:
            Refused: If all places are taken, or the server is stopping.
        """
        with self._lock:
            if self.is_closing:
                raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, STOPPING)
            if self._taken >= self._most and not always:
                raise Refused(
                    HTTPStatus.SERVICE_UNAVAILABLE,
                    "too many pictures are waiting; try again later",
                    {"Retry-After": str(RETRY_S)},
                )
            self._taken += 1
        return Place(self)

    def close(self) -> None:
        """Complete the current work, and give up the rest."""
        with self._lock:  # otherwise work could be added after that
            self._closing.set()
        self._thread.shutdown(wait=True, cancel_futures=True)

    def begin(self, work: Callable[[], T]) -> Future[T]:
        """Run `work` on the thread, for a place; raise Refused if the server is stopping."""
        with self._lock:
            if self.is_closing:
                raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, STOPPING)
            return self._thread.submit(work)

    def give_back(self) -> None:
        with self._lock:
            self._taken -= 1


class Place:
    """A place in the line.

    A context manager returns it at the end, or its work does when done or cancelled.
    """

    def __init__(self, line: Line) -> None:
        self._line, self._is_used = line, False

    def put(self, work: Callable[[], T]) -> Future[T]:
        """Run `work` on the engine's thread in turn; raise Refused if the server is stopping."""
        future = self._line.begin(work)
        self._is_used = True
        future.add_done_callback(lambda _: self._line.give_back())
        return future

    def __enter__(self) -> Place:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._is_used:
            self._line.give_back()
