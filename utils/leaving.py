"""Ends the process without a thread of ours that outlives the interpreter.

PyTorch, OpenCV and FFmpeg run C++ on our threads. Python ends a daemon thread that returns to an
interpreter that is gone, and C++ answers with `abort` (status 134) or a fault (139). So the end of
the process waits for these threads. A thread that hangs in a driver or on the network would keep
the process alive: after WAIT_S the process calls `os._exit`, with the status that it would have
had. No other code in the program ends the process this way.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

WAIT_S = 5.0  # for all threads together
END_S = 30.0  # from the end of the program to the end of its process

log = logging.getLogger(__name__)
_status = 0
_hanging: list[object] = []


class BackgroundThread(threading.Thread):
    """A daemon thread for which the end of the process waits, with a time limit."""

    def __init__(
        self, target: Callable[..., object], name: str, args: tuple[Any, ...] = ()
    ) -> None:
        super().__init__(target=target, name=name, args=args, daemon=True)
        _leave_at_exit()


def leave_behind(owner: object, name: str) -> None:
    """Let the process end while a thread of `owner`, unknown to Python, is still running.

    A reference to the owner remains, since Qt aborts if a running thread is deleted.
    """
    log.info("left behind: %s", name)
    _hanging.append(owner)
    _leave_at_exit()


def record_status(status: int) -> int:
    """Record the exit status for a process that must leave a thread behind, and return it."""
    global _status
    _status = status
    return status


def limit_end(status: int) -> int:
    """Limit the interpreter's wait for threads, otherwise unlimited for a pool's, to END_S."""
    # Python may end this thread at any time: it runs no C++.
    threading.Thread(target=_exit_late, name="end of the process", daemon=True).start()
    return record_status(status)


@cache
def _leave_at_exit() -> None:
    """Register `_leave` once, late enough to run before the libraries' own handlers."""
    atexit.register(_leave)


def _leave() -> None:
    end = time.monotonic() + WAIT_S
    with suppress(KeyboardInterrupt):  # a second Ctrl+C does not wait
        for thread in _running():
            thread.join(max(0.0, end - time.monotonic()))
    if _hanging or _running():
        _exit()


def _running() -> list[BackgroundThread]:
    return [each for each in threading.enumerate() if isinstance(each, BackgroundThread)]


def _exit_late() -> None:
    time.sleep(END_S)
    _exit()


def _exit() -> None:
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # the stream is closed or missing
            stream.flush()
    failed = getattr(sys, "last_value", None) is not None  # Python has printed the exception
    os._exit(_status or int(failed))
