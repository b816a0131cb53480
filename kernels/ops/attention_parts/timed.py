"""The operations of attention as PyTorch's calls one after another, and what they are timed on."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.table import Timed

SIZE = 64  # of a head


def _score(q: Tensor, k: Tensor, scale: float) -> Tensor:
    return torch.softmax(torch.matmul(q, k.transpose(-1, -2)) * scale, -1)


def _rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    turned = torch.cat((-second, first), -1)
    return x * torch.cat((cos, cos), -1) + turned * torch.cat((sin, sin), -1)


def _attention(q: Tensor, k: Tensor, v: Tensor, *_: Any) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def _of(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def _scores(rows: int, columns: int) -> list[Any]:
    return [_of(rows, SIZE, seed=1), _of(columns, SIZE, seed=2), SIZE**-0.5]


def _heads(rows: int, columns: int) -> list[Any]:
    shape = 1, max(1, columns // SIZE), rows, SIZE
    return [_of(*shape, seed=seed) for seed in (1, 2, 3)]


def _turned(rows: int, columns: int) -> list[Any]:
    angles = _of(rows, SIZE // 2, seed=4)
    return [_heads(rows, columns)[0], angles.cos(), angles.sin()]


def _causal(rows: int, columns: int) -> list[Any]:
    return [*_heads(rows, columns), None, None, True]


TIMED = {
    "attention_score": Timed(_score, _scores),
    "flash_attention": Timed(_attention, _causal),
    "apply_rope": Timed(_rope, _turned),
}
