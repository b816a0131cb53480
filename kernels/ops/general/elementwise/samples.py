"""Arguments on which the elementwise operations are tested and timed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from kernels.ops.general.elementwise.arguments import broadcast
from kernels.ops.general.elementwise.functions import FUNCTIONS

_SHAPES = (((3, 16), (3, 16)), ((5, 7), (7,)), ((2, 3, 9), (3, 1)), ((4,), ()), ((1,), (6, 1)))


def _normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def pairs() -> Iterator[tuple[Any, ...]]:
    """Yield equal and broadcast shapes, layouts with and without vectors, and every dtype."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for first, second in _SHAPES:
            yield _normal(0, *first).to(dtype), _normal(1, *second).to(dtype)
        wide = _normal(2, 33, 40).to(dtype)
        yield wide, wide.t()[:33, :33].repeat(1, 2)[:, :40]
        yield wide.t(), _normal(3, 40, 33).to(dtype)
        yield wide[:, ::2], _normal(4, 33, 1).to(dtype)
        yield _normal(5, 6, 1).to(dtype).expand(6, 8), _normal(6, 1).to(dtype).expand(8)
        image = _normal(5, 2, 4, 5, 6).to(dtype, memory_format=torch.channels_last)
        yield image, _normal(6, 4, 1, 1).to(dtype)


def with_gelu() -> Iterator[tuple[Any, ...]]:
    for x, bias in pairs():
        yield x, bias, "none"
        yield x, bias, "tanh"


def with_dropout() -> Iterator[tuple[Any, ...]]:
    """Yield dropout, no dropout, and everything dropped."""
    state = torch.tensor([12345, 678])
    yield _normal(0, 7), 0.5, False, None
    yield _normal(0, 7), 1.0, True, state
    for x, _ in pairs():
        yield x, 0.25, True, state


def with_prelu() -> Iterator[tuple[Any, ...]]:
    """Yield one weight for all channels, and one per channel."""
    for x, bias in pairs():
        yield x, torch.tensor([0.25], dtype=x.dtype), bias
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x = _normal(0, 2, 3, 5, 4).to(dtype)
        yield x, _normal(1, 3).to(dtype), _normal(2, 3, 1, 1).to(dtype)


def of_backward() -> Iterator[tuple[Any, ...]]:
    state = torch.tensor([12345, 678])
    for name, row in FUNCTIONS.items():
        for x, y in pairs():
            inputs = [x, y, _normal(7, *y.shape).to(x.dtype)][: len(row.kept)]
            shape = x.shape if len(inputs) == 1 else broadcast(x.shape, y.shape)
            grad = _normal(8, *shape).to(x.dtype)
            wanted = [True] * len(row.gradients)
            yield grad, inputs, name, wanted, 0.25, state if row.drops else None


def of_sums() -> Iterator[tuple[Any, ...]]:
    """Yield every function with rows, a row and a number, or columns after the first input."""
    state = torch.tensor([12345, 678])
    shapes = (((70, 96), (96,), ()), ((9, 72), (72,), (72,)), ((5, 64), (5, 1), (5, 1)))
    for name, row in FUNCTIONS.items():
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            for first, *rest in shapes:
                x, grad = _normal(0, *first).to(dtype), _normal(1, *first).to(dtype)
                others = [_normal(seed, *each).to(dtype) for seed, each in enumerate(rest, 2)]
                inputs, gradients = [x, *others][: len(row.kept)], len(row.gradients)
                of = [0, 1] if len(inputs) == 3 else [gradients - 1]
                like, wanted = others[: len(of)], [True] + [False] * (gradients - 1)
                yield grad, inputs, name, wanted, like, of, 0.25, state if row.drops else None
