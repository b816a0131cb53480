"""The running threads of this process: Python's, daemons included, and Qt's."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    from PySide6.QtCore import QThread

Thread = Union[threading.Thread, "QThread"]

LASTING = {"tqdm_monitor"}  # PyTorch's compiler starts it, and it lives as long as the process
GRACE_S = 10.0  # a thread asked to end may need this long on a busy machine


def running() -> set[Thread]:
    """Return every running Python thread and every running QThread that Python has seen.

    Threads that libraries start outside Python (OpenMP's, PyTorch's, Qt's own) are not included.
    """
    # Python creates an object for a foreign thread that runs Python, and some versions keep it
    # after the thread has ended. Qt's threads are queried directly.
    python = {t for t in threading.enumerate() if not isinstance(t, threading._DummyThread)}
    python = {thread for thread in python if not _lasts(thread)}
    return python | _qt_threads()


def _lasts(thread: threading.Thread) -> bool:
    # wgpu polls each open GPU on a thread, and the process shares its GPUs until it ends.
    return thread.name in LASTING or type(thread).__name__ == "PollThread"


def _qt_threads() -> set[Thread]:
    """Return Qt's threads, if Qt is loaded: network tests also run on machines without it."""
    if "PySide6.QtCore" not in sys.modules:
        return set()
    import shiboken6
    from PySide6.QtCore import QCoreApplication, QThread

    application = QCoreApplication.instance()
    main = application.thread() if application else None
    wrapped = [w for w in shiboken6.getAllValidWrappers() if isinstance(w, QThread)]
    return {thread for thread in wrapped if thread is not main and thread.isRunning()}


def stray(before: Collection[Thread], within: float | None = None) -> list[str]:
    """Return the names of threads missing from `before` that do not end `within` seconds.

    The default is GRACE_S.
    """
    end = time.perf_counter() + (GRACE_S if within is None else within)
    while (left := running().difference(before)) and time.perf_counter() < end:
        time.sleep(0.01)
    return sorted(_name(thread) for thread in left)


def _name(thread: Thread) -> str:
    if isinstance(thread, threading.Thread):
        return f"{'daemon' if thread.daemon else 'thread'} '{thread.name}'"
    return f"QThread '{thread.objectName()}'"
