"""Runs every layer of the network's library at many sizes, for a sanitizer to watch.

    python -m tests.kernels.network.cpu.watched LIBRARY

LIBRARY is compiled with `-fsanitize=address,undefined`, and the process has preloaded libasan.
"""

from __future__ import annotations

import ctypes
import itertools
import sys

import torch

from kernels.jit.openmp import use_openmp
from kernels.network.cpu.launchers import CpuNetwork
from kernels.network.shapes import NetworkShape
from tests.kernels.network.cpu.test_plan import Painter, picture

SIDES = range(16, 68, 4)


def main(path: str) -> None:
    library = ctypes.CDLL(path)
    use_openmp(library)
    native = CpuNetwork(library)
    for shape in (NetworkShape((16, 32, 48), 5, 2), NetworkShape((32, 16, 64), 9, 1)):
        painter = Painter(native, shape)
        for number, (height, width) in enumerate(itertools.product(SIDES, SIDES)):
            if number % 7 == 0:
                assert painter(picture(height, width)).isfinite().all()
    torch.set_num_threads(3)
    assert Painter(native, shape)(picture(160, 96)).isfinite().all()


if __name__ == "__main__":
    main(sys.argv[1])
