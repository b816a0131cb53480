"""A common deadline for all steps of opening a source."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future

from app.frame import FrameSource
from utils.leaving import BackgroundThread

log = logging.getLogger(__name__)


class Deadline:
    """A point in time `seconds` from now."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def remaining(self) -> float:
        """Seconds until the deadline; 0 once it has passed."""
        return max(self._end - time.monotonic(), 0.0)

    def limited(self, seconds: float) -> float:
        """Return `seconds` or the remaining time if less.

        Raises:
            TimeoutError: If no time is left.
        """
        if not (left := self.remaining):
            raise TimeoutError
        return min(seconds, left)


def open_with_deadline(work: Callable[[], FrameSource], deadline: Deadline) -> FrameSource:
    """Run `work`, which opens a source, on its own thread and wait until `deadline`.

    A source that opens later is closed. A thread can be left behind: neither a host lookup nor
    FFmpeg can be interrupted.

    Raises:
        TimeoutError: If the deadline has passed; `work` may raise anything else.
    """
    outcome: Future[FrameSource] = Future()
    BackgroundThread(_open, "opening", (work, outcome)).start()
    try:
        return outcome.result(deadline.remaining)
    except TimeoutError:
        if outcome.cancel():
            raise
        return outcome.result()  # it completed at the same moment, or raised TimeoutError itself
    finally:
        del outcome  # breaks a reference cycle with the exception, which would keep sockets open


def _open(work: Callable[[], FrameSource], outcome: Future[FrameSource]) -> None:
    try:
        source = work()
    except Exception as exc:
        log.debug("opening failed", exc_info=True)
        if outcome.set_running_or_notify_cancel():
            outcome.set_exception(exc)
        del outcome  # as above
        return
    if outcome.set_running_or_notify_cancel():
        outcome.set_result(source)
    else:
        source.close()
