"""The thread that holds the newest frame of a live feed and reconnects when the feed breaks."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.errors import StyleForgeError
from app.frame import Frame, FrameSource
from app.sources.deadline import Deadline
from utils.leaving import BackgroundThread
from utils.text import capitalized
from utils.translation.numbers import significant
from utils.translation.texts import tr

log = logging.getLogger(__name__)

STALL_S = 2.0  # seconds without a frame until a feed counts as stalled
RETRY_DELAYS_S = (0.25, 0.5, 1.0, 2.0, 4.0)  # seconds between attempts to reconnect
RATE_FRAMES = 60  # frames that the rate is measured over


class FeedLost(StyleForgeError):
    """Raised if a feed cannot be opened or has ended; the message names it and the reason."""


def timeout_error(name: str, deadline: Deadline) -> FeedLost:
    return FeedLost(
        tr("{source} sent no picture within {n} s", source=name, n=significant(deadline.seconds, 6))
    )


class Feed(Protocol):
    """One connection to a device or server, used only by the grabber's thread."""

    def grab(self) -> None:
        """Wait for the next picture.

        Raises:
            FeedLost: If the feed has ended.
        """
        ...

    def decode(self) -> NDArray[np.uint8] | None:
        """Return the grabbed picture as [H, W, 3] RGB in new memory; None if damaged.

        Raises:
            FeedLost: If no picture of this feed can be shown.
        """
        ...

    def interrupt(self) -> None:
        """Make a waiting `grab` return or raise soon, if possible. Any thread may call it."""
        ...

    def close(self) -> None: ...


class Grabber:
    """A thread that connects, holds the newest frame, and reconnects after a loss.

    A driver may never return, so every wait for the thread has a limit.

    Args:
        connect: opens a Feed or raises FeedLost. The first attempt is not repeated.
        title: name of the source, as in "the camera 'X'".
        waiting: follows the fault in the status, as in "waiting for it to come back".
    """

    def __init__(self, connect: Callable[[], Feed], title: str, waiting: str) -> None:
        self._connect = connect
        self._title = title
        self._retry_text = waiting
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._renewing = threading.Event()
        self._feed: Feed | None = None
        self._unread: Frame | None = None
        self._first: Frame | None = None
        self._lost: StyleForgeError | None = None  # the current fault
        self._last = 0.0  # time of the last frame or connection
        self._paused = False
        self._index = 0
        self._dropped = 0
        self._times: deque[float] = deque(maxlen=RATE_FRAMES)
        self._thread = BackgroundThread(self._run, f"grabber {title}")

    def open(self, deadline: Deadline) -> Frame:
        """Start the thread and return the first frame, which `read` delivers too.

        Raises:
            StyleForgeError: If no frame arrives by the deadline; the grabber is then closed.
        """
        self._thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self._first or self._lost, deadline.remaining)
            first, lost = self._first, self._lost
        if first is None:
            self.close(wait=1.0 if lost else 0.1)  # do not wait for a driver that hangs
            raise lost or timeout_error(self._title, deadline)
        return first

    def read(self, timeout: float) -> Frame | None:
        with self._changed:
            self._changed.wait_for(lambda: self._unread is not None, timeout)
            frame, self._unread = self._unread, None
        return frame

    def pause(self, paused: bool) -> None:
        """Pause or resume. While paused, frames are discarded and not counted as dropped."""
        with self._changed:
            self._paused = paused
            if paused:
                self._unread = None

    def reconnect(self) -> None:
        """Leave the feed after its next picture and reconnect; this does not count as a loss."""
        self._renewing.set()

    @property
    def dropped(self) -> int:
        return self._dropped

    @property
    def fps(self) -> float:
        """Rate of the latest frames; 0 until it is known."""
        with self._changed:
            times = tuple(self._times)
        return (len(times) - 1) / (times[-1] - times[0]) if len(times) > 2 else 0.0

    @property
    def status(self) -> str:
        """One sentence about the current fault; empty while frames arrive."""
        fault = str(self._lost or "")
        if not fault and time.perf_counter() - self._last > STALL_S:
            fault = tr("{source} sends no picture", source=self._title)
        if not fault:
            return ""
        fault = capitalized(fault)
        return tr("{fault}; {remedy}.", fault=fault, remedy=self._retry_text)

    def close(self, wait: float = 3.0) -> None:
        """Stop the thread, which releases the feed; wait for it at most `wait` seconds."""
        self._closed.set()
        if (feed := self._feed) is not None:
            feed.interrupt()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(wait)

    def _run(self) -> None:
        attempt = 0
        while not self._closed.is_set():
            before = self._index
            try:
                self._stay_connected()
            except StyleForgeError as exc:
                if self._closed.is_set():
                    return
                log.debug("%s", exc)
                with self._changed:
                    self._lost = exc
                    self._times.clear()
                    self._changed.notify_all()
                if self._first is None:
                    return
            attempt = 0 if self._index > before else attempt + 1
            if self._renewing.is_set():
                continue
            self._closed.wait(RETRY_DELAYS_S[min(attempt, len(RETRY_DELAYS_S) - 1)])

    def _stay_connected(self) -> None:
        self._renewing.clear()
        with self._changed:  # frames read from now on belong to the new connection
            self._times.clear()
            self._unread = None
        feed = self._feed = self._connect()
        self._last = time.perf_counter()
        try:
            while not (self._closed.is_set() or self._renewing.is_set()):
                self._grab(feed)
        finally:
            self._feed = None
            feed.close()

    def _grab(self, feed: Feed) -> None:
        feed.grab()
        start = time.perf_counter()
        pixels = feed.decode()
        now = time.perf_counter()
        if pixels is None:
            if start - self._last > STALL_S:
                raise FeedLost(tr("{source} sends damaged pictures", source=self._title))
            return
        frame = Frame(pixels, self._index, start, (now - start) * 1e3)
        with self._changed:
            self._index += 1
            self._last = start
            self._times.append(start)
            self._lost = None
            self._first = self._first or frame
            if not self._paused:
                self._dropped += self._unread is not None
                self._unread = frame
            self._changed.notify_all()


class GrabbedSource(FrameSource):
    """A live source whose frames come from `_grabber`; a pause keeps its connection open."""

    _grabber: Grabber

    def close(self) -> None:
        self._grabber.close()

    @property
    def status(self) -> str:
        return self._grabber.status

    @property
    def dropped(self) -> int:
        return self._grabber.dropped

    def pause(self, paused: bool) -> None:
        self._grabber.pause(paused)
