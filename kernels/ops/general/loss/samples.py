"""Arguments on which losses are tested and timed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from kernels.ops.general.loss.rows import REDUCTIONS, Labels, in_pytorch, reduced

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
IGNORED = -100


def _normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def _labels(classes: int, *shape: int) -> Tensor:
    labels = torch.randint(0, classes, shape, generator=torch.Generator().manual_seed(9))
    if labels.numel() > 2:
        labels.view(-1)[1] = IGNORED
    return labels


def of_logits() -> Iterator[tuple[Any, ...]]:
    """Yield samples of logits and labels.

    They cover rows that are no multiple of a vector, many classes, strides, every reduction,
    smoothing and weights.
    """
    yield _normal(0, 3, 4), _labels(4, 3), IGNORED, "mean", 0.1, None, None
    for dtype in DTYPES:
        for shape in ((5, 7), (3, 1000), (2, 3, 33)):
            x, labels = 3 * _normal(1, *shape), _labels(shape[-1], *shape[:-1])
            weight = _normal(2, shape[-1]).abs()
            for reduction in REDUCTIONS:
                yield x.to(dtype), labels, IGNORED, reduction, 0.0, None, None
            yield x.to(dtype), labels, IGNORED, "mean", 0.2, weight, torch.float32
        shifted = _normal(3, 2, 5, 17).to(dtype)[:, :-1]
        yield shifted, _labels(17, 2, 4).clamp(0), 3, "sum", 0.1, None, None


def of_backward() -> Iterator[tuple[Any, ...]]:
    for logits, labels, ignore_index, reduction, smoothing, weight, _ in of_logits():
        given = Labels(labels, weight, ignore_index, smoothing)
        rows = in_pytorch(logits, given, None, False)
        loss, divisor = reduced(None, rows.losses, given, reduction, logits.dtype)
        grad = _normal(4, *loss.shape).to(logits.dtype)
        yield grad, logits, labels, rows.lse, divisor, ignore_index, smoothing, weight


def of_heads() -> Iterator[tuple[Any, ...]]:
    """Yield one chunk and several, with and without a bias, and each reduction."""
    for dtype in DTYPES:
        for rows, classes, chunk in ((3, 5, 0), (9, 40, 4)):
            hidden = _normal(0, rows, 4).to(dtype)
            weight, bias = _normal(1, classes, 4).to(dtype), _normal(2, classes).to(dtype)
            labels = _labels(classes, rows)
            yield hidden, weight, labels, bias, IGNORED, "mean", 0.1, chunk, torch.float32, 7
            for reduction in REDUCTIONS:
                yield hidden, weight, labels, None, IGNORED, reduction, 0.0, chunk, None, 0


def of_heads_backward() -> Iterator[tuple[Any, ...]]:
    """Yield the same with a gradient for each row's loss, or one for all."""
    for hidden, weight, labels, bias, ignore_index, _, smoothing, chunk, *_ in of_heads():
        wanted = 3 if bias is None else 7
        for grads in (_normal(5, 1), _normal(5, hidden.shape[0])):
            yield grads, hidden, weight, labels, bias, ignore_index, smoothing, chunk, wanted


def made_gradients() -> Iterator[tuple[Any, ...]]:
    """Yield more and less than a block, a loss of each dtype, and one that counts no row."""
    for dtype in DTYPES:
        made = [_normal(seed, *shape).to(dtype) for seed, shape in enumerate(((300, 301), (7,)))]
        for of_loss, divisor in ((dtype, 7.0), (torch.float32, 0.0)):
            yield made, torch.tensor(-1.5, dtype=of_loss), torch.tensor(divisor)


def pairs() -> Iterator[tuple[Any, ...]]:
    """Yield sizes that fill vectors or not, strides, and more than one block."""
    for dtype in DTYPES:
        for shape in ((3, 5), (2, 64, 33), (300, 301)):
            x, y = _normal(0, *shape).to(dtype), _normal(1, *shape).to(dtype)
            for reduction in REDUCTIONS:
                yield x, y, reduction
        yield _normal(2, 9, 8).to(dtype).t(), _normal(3, 8, 9).to(dtype), "mean"


def pairs_backward() -> Iterator[tuple[Any, ...]]:
    for x, y, reduction in pairs():
        shape = x.shape if reduction == "none" else ()
        yield _normal(6, *shape).to(x.dtype), x, y, reduction
