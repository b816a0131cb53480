"""PyTorch equivalents of the losses, and arguments to time them."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.table.parts import Timed, seeded

CLASSES = 16  # per column: the vocabulary of a model of that width, 65,536 for 4,096
TOKENS = 4  # rows per token of a head, whose products take long
_LARGE = 8192, 128256  # tokens of a batch, and the vocabulary of Llama 3
FEATURES = 1024, 4096


def _linear(hidden: Tensor, weight: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(F.linear(hidden, weight), labels)


def _of(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=seeded(seed))


def _labels(count: int, classes: int) -> Tensor:
    return torch.randint(classes, (count,), generator=seeded(2))


def _logits_of(tokens: int, classes: int) -> list[Any]:
    return [_of(tokens, classes), _labels(tokens, classes)]


def _logits(rows: int, columns: int) -> list[Any]:
    return _logits_of(rows, CLASSES * columns)


def _head(rows: int, columns: int) -> list[Any]:
    return _head_of(max(1, rows // TOKENS), CLASSES * columns, columns)


def _head_of(tokens: int, classes: int, features: int) -> list[Any]:
    weight = _of(classes, features, seed=1) / features**0.5
    return [_of(tokens, features), weight, _labels(tokens, classes)]


def _pair(rows: int, columns: int) -> list[Any]:
    return [_of(rows, columns), _of(rows, columns, seed=1)]


TIMED = {
    "cross_entropy": Timed(F.cross_entropy, _logits, large=(partial(_logits_of, *_LARGE),)),
    "linear_cross_entropy": Timed(
        *(_linear, _head),
        is_joint=True,
        is_of_products=True,
        large=tuple(partial(_head_of, *_LARGE, features) for features in FEATURES),
    ),
    "mse_loss": Timed(F.mse_loss, _pair, constants=(1,)),
}
