"""The PyTorch equivalent of the norm of lists of tensors, and arguments to time it.

Steps are timed through the optimizers of `kernel_fusion`, see its `measure_optim`.
"""

from __future__ import annotations

from typing import Any

import torch

from kernels.table.parts import Timed, seeded

MATRICES = 8


def _list(rows: int, columns: int) -> list[Any]:
    """Return MATRICES matrices with `rows` rows in total, and a vector for each, as in layers."""
    generator = seeded(0)
    shapes = [(max(1, rows // MATRICES), columns), (columns,)] * MATRICES
    return [[torch.randn(shape, generator=generator) for shape in shapes], 2.0]


TIMED = {"total_norm": Timed(torch.nn.utils.get_total_norm, _list, constants=(0,))}
