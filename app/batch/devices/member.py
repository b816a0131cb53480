"""The side of a process in a shared run: it takes tasks and answers them."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Hashable, Iterator
from multiprocessing.connection import Connection
from typing import Any

from app.batch.devices.messages import (
    Answer,
    Begin,
    End,
    Ended,
    Failure,
    News,
    Ready,
    Stop,
    Take,
    Task,
)
from app.errors import StyleForgeError


class Stopped(StyleForgeError):
    """Raised if the process must stop, or the process that gave it work is gone."""


class Member:
    """The connection to the process that gives out the work. Any thread may send messages.

    Attributes:
        on_stop: Called on a separate thread once the process must stop. May be set.
    """

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._lock = pipe, threading.Lock()
        self._heard: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.on_stop: Callable[[], object] = lambda: None
        threading.Thread(target=self._listen, name="work", daemon=True).start()

    def requests(self) -> Iterator[Any]:
        """Yield one request after another until the process must stop."""
        while not isinstance(heard := self._heard.get(), Stop):
            if isinstance(heard, Begin):
                yield heard.request

    def tasks(self, ahead: int = 0) -> Iterator[tuple[Any, ...]]:
        """Take tasks of the current request; prefetch `ahead` besides the one yielded.

        Raises:
            Stopped: If the process must stop.
        """
        for _ in range(1 + ahead):
            self._send(Take())
        while not isinstance(heard := self._heard.get(), End):
            if isinstance(heard, Stop):
                self._heard.put(heard)  # for `requests`
                raise Stopped("stopped")
            assert isinstance(heard, Task)
            yield heard.items
            self._send(Take())

    def ready(self, value: Any) -> None:
        self._send(Ready(value))

    def answer(self, item: Hashable, value: Any) -> None:
        """Send the outcome of an item, once per item."""
        self._send(Answer(item, value))

    def news(self, value: Any) -> None:
        self._send(News(value))

    def ended(self, value: Any) -> None:
        """Report that all tasks are answered, or that the process has stopped."""
        self._send(Ended(value))

    def failed(self, text: str) -> None:
        self._send(Failure(text))

    def _send(self, message: object) -> None:
        try:
            with self._lock:
                self._pipe.send(message)
        except OSError:
            raise Stopped("the process that distributes the work has ended") from None

    def _listen(self) -> None:
        heard: Any = None
        while not isinstance(heard, Stop):
            try:
                heard = self._pipe.recv()
            except (EOFError, OSError):
                heard = Stop()
            self._heard.put(heard)
        self.on_stop()
