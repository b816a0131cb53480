"""Prevents encoders from running at real-time priority."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

TASKS = Path("/proc/self/task")  # one folder per thread, named by its number
CALLER = 0  # Linux's scheduler uses this number for the calling thread


@contextmanager
def usual_scheduling() -> Iterator[None]:
    """Restore the calling thread's scheduling after the block, for new threads also within it.

    SVT-AV1 sets real-time priority 99 (SCHED_FIFO) for its threads and its caller if it may: as
    root on Linux, which is usual in containers. The caller's next threads and processes inherit the
    priority, and everything else on the machine then shares 5 % of its processors.
    """
    if not sys.platform.startswith("linux"):
        yield
        return
    policy, parameters = os.sched_getscheduler(CALLER), os.sched_getparam(CALLER)
    before = _threads()
    try:
        yield
    finally:
        for thread in (CALLER, *(_threads() - before)):
            with suppress(ProcessLookupError):  # a thread that has ended meanwhile
                if os.sched_getscheduler(thread) == os.SCHED_FIFO:
                    os.sched_setscheduler(thread, policy, parameters)


def _threads() -> set[int]:
    return {int(task.name) for task in TASKS.iterdir()}
