"""Keeps encoders from taking real-time priority."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

TASKS = Path("/proc/self/task")  # one folder per thread, named by its number
CALLER = 0  # the number by which Linux's scheduler means the calling thread


@contextmanager
def usual_scheduling() -> Iterator[None]:
    """Give the calling thread its scheduling back at the end of the block, and threads that
    started in the block the same one.

    SVT-AV1 sets real-time priority 99 (SCHED_FIFO) for its threads and its caller wherever it may,
    which is as root on Linux, as in most containers. The caller's next threads and processes
    inherit the priority, and everything else on the machine then shares 5 % of its processors.
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
            with suppress(ProcessLookupError):  # a thread that has ended by now
                if os.sched_getscheduler(thread) == os.SCHED_FIFO:
                    os.sched_setscheduler(thread, policy, parameters)


def _threads() -> set[int]:
    return {int(task.name) for task in TASKS.iterdir()}
