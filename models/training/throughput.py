"""Measures the duration of a training step on this machine."""

from __future__ import annotations

import time

from models.training.run import Run

MEASURED_S = 1.0  # duration of the measurement after the first step
SLOW_S = 30.0  # a first step that takes this long is the whole measurement


def seconds_per_step(run: Run) -> float:
    """Measure the seconds per training step of a run that serves no other purpose.

    The first step takes up to twice as long; it counts only if it took SLOW_S seconds.
    """
    start = time.perf_counter()
    run.step().read(run.iteration)  # waits for the device
    first = time.perf_counter() - start
    if first >= SLOW_S:
        return first
    steps, start, elapsed = 0, time.perf_counter(), 0.0
    while elapsed < MEASURED_S:
        for _ in range(run.read_every - 1):
            run.step()
        run.step().read(run.iteration)
        steps += run.read_every
        elapsed = time.perf_counter() - start
    return elapsed / steps
