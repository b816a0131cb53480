"""One deadline for everything that opening a source takes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from app.frame import FrameSource

log = logging.getLogger(__name__)


class Deadline:
    """A moment `seconds` from now."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until then; 0 once it has passed."""
        return max(self._end - time.monotonic(), 0.0)

    def within(self, seconds: float) -> float:
        """`seconds`, or what is left where that is less. Raises TimeoutError once it has passed."""
        if not (left := self.left):
            raise TimeoutError
        return min(seconds, left)


def opened(work: Callable[[], FrameSource], deadline: Deadline) -> FrameSource:
    """The source that `work` opens, on a thread of its own. Raises what `work` raises, and
    TimeoutError at the deadline; a source that comes later is closed.

    Looking up a host cannot be interrupted, nor can FFmpeg: a thread can be left behind.
    """
    outcome: Future[FrameSource] = Future()
    threading.Thread(target=_open, args=(work, outcome), name="opening", daemon=True).start()
    try:
        return outcome.result(deadline.left)
    except TimeoutError:
        if outcome.cancel():
            raise
        return outcome.result()  # it came in the same moment, or is a TimeoutError itself
    finally:
        del outcome  # an exception that holds this frame, and is held by it, keeps sockets open


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
