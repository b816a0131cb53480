"""PyTorch equivalents of the elementwise operations, and arguments to time them.

Functions of two tensors alone are timed against their rows of the table.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.general.elementwise import masked
from kernels.table.parts import Timed, seeded

DROPOUT = 0.1


def _bias_gelu(x: Tensor, bias: Tensor, approximate: str = "none") -> Tensor:
    return F.gelu(x + bias, approximate=approximate)


def _gelu_multiply(x: Tensor, gate: Tensor, approximate: str = "none") -> Tensor:
    return F.gelu(x, approximate=approximate) * gate


def _gelu_dropout(x: Tensor, p: float, training: bool, _state: Tensor) -> Tensor:
    return F.dropout(F.gelu(x), p, training)


def _dropout(scores: Tensor, p: float, training: bool, _state: Tensor) -> Tensor:
    return F.dropout(scores, p, training)


def _gelu_dropout_kept(
    x: Tensor, _function: str, p: float, _state: Tensor
) -> tuple[Tensor, Tensor]:
    y = F.dropout(F.gelu(x), p)
    return y, y != 0


def _mish_scale(x: Tensor, scale: Tensor) -> Tensor:
    return F.mish(x) * scale


def _prelu_bias(x: Tensor, alpha: Tensor, bias: Tensor) -> Tensor:
    return F.prelu(x + bias, alpha)


def _of(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=seeded(seed))


def pair(rows: int, columns: int) -> list[Any]:
    return [_of(rows, columns), _of(rows, columns, seed=1)]


def _and_row(rows: int, columns: int) -> list[Any]:
    return [_of(rows, columns), _of(columns, seed=1)]


def _prelu(rows: int, columns: int) -> list[Any]:
    return [_of(rows, columns), torch.full((1,), 0.25), _of(columns, seed=1)]


def _dropped(rows: int, columns: int) -> list[Any]:
    return [_of(rows, columns), DROPOUT, True, torch.tensor([rows, 1])]


def _dropped_with_bits(rows: int, columns: int) -> list[Any]:
    return [_of(rows, columns), "gelu_dropout", DROPOUT, torch.tensor([rows, 1])]


TIMED = {
    "bias_gelu": Timed(_bias_gelu, _and_row),
    "gelu_multiply": Timed(_gelu_multiply, pair),
    "gelu_dropout": Timed(_gelu_dropout, _dropped, is_random=True),
    "mish_scale": Timed(_mish_scale, _and_row),
    "prelu_bias": Timed(_prelu_bias, _prelu),
    "add_relu_masked": Timed(masked.reference, pair),
    "attention_dropout": Timed(_dropout, _dropped, is_random=True),
    "dropout_masked": Timed(_gelu_dropout_kept, _dropped_with_bits, is_random=True),
}
