"""The norm of lists of tensors as PyTorch's call, and what it is timed on.

Steps are timed as the optimizers of `kernel_fusion` take them, see its `measure_optim`.
"""

from __future__ import annotations

from typing import Any

import torch

from kernels.ops.table import Timed, seeded

MATRICES = 8


def _list(rows: int, columns: int) -> list[Any]:
    """Matrices that have so many rows together, and a vector of each, as layers have."""
    generator = seeded(0)
    shapes = [(max(1, rows // MATRICES), columns), (columns,)] * MATRICES
    return [[torch.randn(shape, generator=generator) for shape in shapes], 2.0]


TIMED = {"total_norm": Timed(torch.nn.utils.get_total_norm, _list, constants=(0,))}
