"""The motion of a scene between two gray pictures of cells on the GPU, and its kernels' arguments.

Some constants are in frames/native/smoothing/motion.h as well.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor

from kernels.frames.structs import FlowParams, HalveParams, MedianParams

SMALLEST = 8  # cells: the least short side after a halving
STEPS = 2  # towards the motion, at each size


class DenseMotion:
    """The pictures and the motion of cells, [rows, columns].

    Attributes:
        pair: [2, rows, columns] float32, the newest and the known picture in gray.
        flow: [rows, columns, 2] float32, where each cell of the newest picture was in the known
            one, in cells to the right and down.
        halvings: Arguments for halving the gray pictures, each with its output, fine to coarse.
        steps: Arguments for estimating the motion, each with its output, in order.
    """

    def __init__(self, rows: int, columns: int, device: torch.device) -> None:
        def buffer(*shape: int) -> Tensor:
            return torch.zeros(shape, dtype=torch.float32, device=device)

        # Fine to coarse: the newest and the known picture in gray, and two buffers of motion.
        self._pairs = [buffer(2, *size) for size in sizes(rows, columns)]
        self._flows = [buffer(2, *pair.shape[1:], 2) for pair in self._pairs]
        self.pair, self.flow = self._pairs[0], self._flows[0][0]
        self.halvings, self.steps = self._halvings(), self._steps()

    def _halvings(self) -> list[tuple[HalveParams, Tensor]]:
        return [
            (
                HalveParams(large.data_ptr(), small.data_ptr(), *large.shape[1:], *small.shape[1:]),
                small,
            )
            for large, small in pairwise(self._pairs)
        ]

    def _steps(self) -> list[tuple[FlowParams | MedianParams, Tensor]]:
        steps: list[tuple[FlowParams | MedianParams, Tensor]] = []
        known: Tensor | None = None
        for pair, flows in zip(reversed(self._pairs), reversed(self._flows), strict=True):
            for step in range(STEPS):
                newest = flows[step % 2]
                size = (0, 0) if known is None else known.shape[:2]
                coarse = None if known is None else known.data_ptr()
                addresses = pair.data_ptr(), coarse, newest.data_ptr()
                steps.append((FlowParams(*addresses, *pair.shape[1:], *size), newest))
                known = newest
            assert known is not None
            assert known.data_ptr() != flows[0].data_ptr()
            addresses = known.data_ptr(), flows[0].data_ptr()
            settles = flows is self._flows[0]
            steps.append((MedianParams(*addresses, *pair.shape[1:], settles), flows[0]))
            known = flows[0]
        return steps


def sizes(rows: int, columns: int) -> list[tuple[int, int]]:
    """Return (rows, columns) of the pictures for estimating motion, fine to coarse."""
    found = [(rows, columns)]
    while min(found[-1]) >= 2 * SMALLEST:
        found.append(((found[-1][0] + 1) // 2, (found[-1][1] + 1) // 2))
    return found
