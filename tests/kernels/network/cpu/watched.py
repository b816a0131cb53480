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
from kernels.network.cpu import weights
from kernels.network.cpu.launchers import CpuNetwork, Kind, ValidWeights
from kernels.network.shapes import NetworkShape
from tests.kernels.network.cpu.test_plan import Painter, frame, picture

SIDES = range(16, 68, 4)
OF_BYTES = range(16, 68, 3)


def main(path: str) -> None:
    library = ctypes.CDLL(path)
    use_openmp(library)
    native = CpuNetwork(library)
    for shape in (NetworkShape((16, 32, 48), 5, 2), NetworkShape((32, 16, 64), 9, 1)):
        painter = Painter(native, shape)
        for number, (height, width) in enumerate(itertools.product(SIDES, SIDES)):
            if number % 7 == 0:
                assert painter(picture(height, width)).isfinite().all()
        for number, (height, width) in enumerate(itertools.product(OF_BYTES, OF_BYTES)):
            if number % 17 == 0:
                assert painter.in_bytes(frame(height, width))[1].isfinite().all()
        convolve_first(native, shape)
    torch.set_num_threads(3)
    convolve_first(native, shape)
    assert Painter(native, shape).in_bytes(frame(157, 95))[1].isfinite().all()
    assert Painter(native, shape)(picture(160, 96)).isfinite().all()


def convolve_first(native: CpuNetwork, shape: NetworkShape) -> None:
    outputs, side = shape.widths[0], shape.end_kernel
    weight = torch.randn(outputs, 3, side, side)
    prepared = ValidWeights(weights.first_weights(weight, native), weights.tap_sums(weight))
    for height, width in ((16, 16), (17, 43), (34, 29), (61, 95)):
        x = torch.rand(1, 3, height + side - 1, width + side - 1)
        to = torch.empty(1, outputs, height, width).contiguous(memory_format=torch.channels_last)
        x = x.contiguous(memory_format=torch.channels_last)
        native.convolve(Kind.VALID_FIRST, x, prepared, to, side=side)
        assert to.isfinite().all()


if __name__ == "__main__":
    main(sys.argv[1])
