"""Ways to stop a long command from outside."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def stop_requested() -> Iterator[threading.Event]:
    """Yield an event that SIGINT or SIGTERM sets, so that the current step can be completed.

    A second signal raises KeyboardInterrupt at once.
    """
    asked = threading.Event()

    def ask(_signum: int, _frame: object) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def interrupt_on_stdin(words: Mapping[str, Callable[[], object]] | None = None) -> None:
    """Treat the first line on stdin, or its end (a killed parent), as Ctrl+C on every system.

    Args:
        words: Lines with another action, which runs on another thread; reading then continues with
            the next line.
    """
    known = words or {}
    # Shells without job control start programs in the background with this signal ignored, and
    # their children inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def wait() -> None:
        while (line := sys.stdin.readline().strip()) in known:
            known[line]()
        _thread.interrupt_main(signal.SIGINT)

    threading.Thread(target=wait, name="stdin", daemon=True).start()
