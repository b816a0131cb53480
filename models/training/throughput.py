"""Measures how long a step of a run takes on this machine."""

from __future__ import annotations

import time

from models.training.run import Run
from models.training.trainer import READ_EVERY

MEASURED_S = 2.0  # how long to measure, after the first step
SLOW_S = 30.0  # a first step that takes this long is measurement enough


def seconds_per_step(run: Run) -> float:
    """Takes real steps of `run`, which is good for nothing else then; a few seconds long, or two
    steps on a slow machine. The first step, which sets things up and takes up to twice as long,
    is left out, unless it takes so long that a second one would try anybody's patience."""
    read_every = READ_EVERY if run.device.type == "cuda" else 1
    began = time.perf_counter()
    run.step().tolist()  # reading waits for the device
    first = time.perf_counter() - began
    if first >= SLOW_S:
        return first
    steps, began, spent = 0, time.perf_counter(), 0.0
    while spent < MEASURED_S:
        for _ in range(read_every - 1):
            run.step()
        run.step().tolist()
        steps += read_every
        spent = time.perf_counter() - began
    return spent / steps
