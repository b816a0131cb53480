"""Arguments on which the library's norms and reductions are tested and timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor

from kernels.ops.general.fusion import groups
from kernels.ops.general.fusion.rows import ACTIVATIONS, Norm, reference

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
# Rows with and without whole vectors, of one warp and several, and more than a block takes at once.
_ROWS = (
    ((2, 3, 16), (16,)),
    ((5, 7), (7,)),
    ((9, 2, 20), (2, 20)),
    ((300, 136), (136,)),
    ((3, 1030), (1030,)),
)
# Channels with and without whole vectors, of images and of rows, many and few.
_CHANNELS = ((2, 3, 2, 4), (3, 5, 7, 3), (9, 40), (2, 16, 40, 50), (3, 33, 5, 64))


def _normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def of_channel_sums() -> Iterator[tuple[Any, ...]]:
    """Yield images of both layouts, one and many, and rows."""
    for dtype in DTYPES:
        for shape in (*_CHANNELS, (1, 3, 40, 50), (70, 6, 4, 4)):
            x = _normal(0, *shape).to(dtype) + 1
            yield (x,)
            if x.dim() == 4:
                yield (x.contiguous(memory_format=torch.channels_last),)


def of_rows() -> Iterator[tuple[Any, ...]]:
    """Yield layer norms with all parameters, one and none, and strides."""
    for dtype in DTYPES:
        for shape, normalized in _ROWS:
            x = _normal(0, *shape).to(dtype)
            weight, bias = (_normal(seed, *normalized).to(dtype) for seed in (1, 2))
            yield x, list(normalized), weight, bias, 1e-5
            yield x, list(normalized), weight, None, 1e-3
        yield _normal(3, 40, 33).to(dtype).t(), [40], None, None, 1e-5


def of_rms_rows() -> Iterator[tuple[Any, ...]]:
    for x, normalized, weight, _, eps in of_rows():
        yield x, normalized, weight, eps


def of_sums() -> Iterator[tuple[Any, ...]]:
    """Yield a residual with both kinds of norm."""
    for x, normalized, weight, bias, eps in of_rows():
        residual = _normal(4, *x.shape).to(x.dtype)
        yield x, residual, normalized, weight, bias, eps, "layer"
        yield x, residual, normalized, weight, None, eps, "rms"


def of_row_gradients() -> Iterator[tuple[Any, ...]]:
    """Yield every activation, centered and not, with and without another gradient to add."""
    for number, (x, normalized, weight, bias, eps) in enumerate(of_rows()):
        grad, added = (_normal(seed, *x.shape).to(x.dtype) for seed in (5, 6))
        for at, activation in enumerate(ACTIVATIONS):
            given = added if activation == "none" else None
            norm = Norm("norm", centered=(number + at) % 2 == 0)
            statistics = reference(norm, x, normalized, weight, bias, eps)[-1]
            of = weight, bias, statistics, given, activation, norm.centered
            yield grad, x, normalized, *of, eps


def of_channels() -> Iterator[tuple[Any, ...]]:
    """Yield batch norms in training and evaluation, in both layouts."""
    for dtype in DTYPES:
        for shape in _CHANNELS:
            channels = shape[1]
            x = _normal(0, *shape).to(dtype)
            weight, bias, mean = (_normal(seed, channels) for seed in (1, 2, 3))
            yield x, weight, bias, None, None, True, 0.1, 1e-5
            yield x + 3, None, None, mean, mean.square() + 0.5, False, 0.1, 1e-3
            if x.dim() == 4:
                last = x.to(memory_format=torch.channels_last)
                yield last, weight.to(dtype), None, None, None, True, 0.1, 1e-5
                yield last, weight, bias, mean, mean.square() + 0.5, False, 0.1, 1e-5


def of_channel_gradients() -> Iterator[tuple[Any, ...]]:
    for x, weight, bias, *_, training, _momentum, eps in of_channels():
        wide, dims = x.float(), [d for d in range(x.dim()) if d != 1]
        var, mean = torch.var_mean(wide, dims, correction=0)
        grad = _normal(7, *x.shape).to(x)
        yield grad, x, weight, bias, mean, torch.rsqrt(var + eps), training, eps


def of_groups() -> Iterator[tuple[Any, ...]]:
    """Yield group norms of all and of some channels, with and without a shift."""
    for dtype in DTYPES:
        for shape, count in (((2, 6, 5, 7), 3), ((3, 4, 16, 40), 1), ((2, 40, 8), 1), ((5, 24), 2)):
            x = _normal(0, *shape).to(dtype) + 3
            shift, weight, bias = (_normal(seed, shape[1]).to(dtype) for seed in (1, 2, 3))
            yield x, 4 * shift, count, weight, bias, 1e-5
            yield x, None, count, weight.float(), None, 1e-3
            yield x, shift, 1, None, bias, 1e-5


def of_group_gradients() -> Iterator[tuple[Any, ...]]:
    for x, shift, count, weight, bias, eps in of_groups():
        _, kept = groups.reference(x, shift, count, weight, bias, eps)
        yield _normal(7, *x.shape).to(x), x, shift, count, weight, bias, kept, eps


_REDUCED: tuple[tuple[tuple[int, ...], list[int] | None], ...] = (
    ((3, 16), [-1]), ((5, 7), [0]), ((4, 6, 8), [1]), ((2, 3, 4, 5), [1, 2]),
    ((2, 3, 4, 5), [0, 3]), ((300, 136), None), ((7, 2000), [1]), ((900, 24), [0]), ((), None),
)  # fmt: skip


def of_reductions() -> Iterator[tuple[Any, ...]]:
    """Yield rows, columns, middle dimensions, separate dimensions and full reductions."""
    for dtype in DTYPES:
        for shape, dim in _REDUCED:
            yield _normal(0, *shape).to(dtype), dim, False
        yield _normal(1, 12, 9).to(dtype).t(), [0], True


def of_reduction_gradients(function: str, samples: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """Yield the gradient of `function` for each of `samples`."""
    for x, dim, _ in samples():
        shape = x.sum(dim, keepdim=True).shape if dim is not None else (1,) * x.dim()
        yield _normal(8, *shape).to(x.dtype), x, function, dim


def gradients_of(*functions: str) -> Iterator[Any]:
    for each in map(partial(of_reduction_gradients, samples=of_reductions), functions):
        yield from each
