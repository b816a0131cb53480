"""Arguments on which optimizer steps are tested and timed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

SHAPES = ((3, 5), (64, 129), (1,), (2, 3, 4, 4), (0, 3))
DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def normals(seed: int, dtype: torch.dtype | None) -> list[Tensor]:
    """Return a tensor of each shape; without a dtype, in different ones."""
    generator = torch.Generator().manual_seed(seed)
    drawn = [torch.randn(shape, generator=generator) for shape in SHAPES]
    drawn[3] = drawn[3].to(memory_format=torch.channels_last)
    return [x.to(dtype or DTYPES[at % len(DTYPES)]) for at, x in enumerate(drawn)]


def of_adam() -> Iterator[tuple[Any, ...]]:
    """Yield both decays, a first and a later step, every dtype and a mix, a scaled gradient."""
    for dtype in (*DTYPES, None):
        lists = [normals(seed, dtype) for seed in range(3)]
        squares = [x.square() for x in normals(3, dtype)]
        steps = [torch.tensor(float(1 + 6 * at)) for at in range(len(SHAPES))]
        numbers = 1e-2, 0.9, 0.999, 1e-8, 0.1
        yield *lists, squares, steps, *numbers, True, False, None, None
        for found in (torch.zeros(1), torch.ones(1)):
            yield *lists, squares, steps, *numbers, False, True, torch.tensor(8.0), found


def of_sgd() -> Iterator[tuple[Any, ...]]:
    """Yield steps with and without momentum, every dtype and a mix, a scaled gradient."""
    for dtype in (*DTYPES, None):
        params, grads, buffers = (normals(seed, dtype) for seed in range(3))
        yield params, grads, [], 0.1, 0.0, 0.0, 0.1, False, False, None, None
        yield params, grads, buffers, 0.1, 0.9, 0.5, 0.1, False, True, None, None
        yield params, grads, buffers, 0.1, 0.9, 0.0, 0.0, True, False, torch.tensor(4.0), None


def of_norms() -> Iterator[tuple[Any, ...]]:
    """Yield each norm with a kernel, and one without."""
    for dtype in (*DTYPES, None):
        for kind in (2.0, 1.0, math.inf, 3.0):
            yield normals(0, dtype), kind


def of_clipping() -> Iterator[tuple[Any, ...]]:
    """Yield gradients above and below the norm."""
    for dtype in (*DTYPES, None):
        for norm in (91.5, 0.25):
            yield normals(0, dtype), torch.tensor(norm), 1.0
