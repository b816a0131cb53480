"""Limits the time that OpenMP's threads spin at barriers, so that other programs can run."""

from __future__ import annotations

import os

# A network on the CPU waits at hundreds of barriers per frame. GNU's OpenMP spins 300,000 times
# before a waiting thread sleeps. Next to another busy program, spinning uses the time that the
# other threads need: frames took 660 ms instead of 48. With 1,000 spins this does not occur, and on
# an idle machine a frame is a few percent slower at most (docs/explanation/performance.md).
SPIN_COUNT = "1000"


def limit_openmp_spin() -> None:
    """Limit OpenMP's spinning, unless an environment variable sets it; before importing PyTorch."""
    if not os.environ.keys() & {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}:
        os.environ["GOMP_SPINCOUNT"] = SPIN_COUNT
