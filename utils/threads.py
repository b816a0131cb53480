"""How the threads of native code wait for one another: briefly, so that other programs can run."""

from __future__ import annotations

import os

# A network on the CPU waits at hundreds of barriers a frame. GNU's OpenMP turns 300,000 times
# before a waiting thread sleeps; beside another busy program that burns the turns the other
# threads need, and frames of 660 ms instead of 48 were seen. With 1,000 turns they are gone, and
# alone it is slower by a few percent at most (docs/performance.md).
TURNS = "1000"


def limit_openmp_spin() -> None:
    """To be called before PyTorch is imported, which is when OpenMP reads its settings; leaves
    them alone where the user made some."""
    if not os.environ.keys() & {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}:
        os.environ["GOMP_SPINCOUNT"] = TURNS
