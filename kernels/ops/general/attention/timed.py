"""PyTorch equivalents of the attention operations, and arguments to time them."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.general.attention.gathered import inverse_of
from kernels.table.parts import Timed, seeded

SIZE = 64  # size of a head, and of a block of queries or keys
MOST_SCORES = 1 << 26  # of all heads: errors are measured against scores in FP64


def _score(q: Tensor, k: Tensor, scale: float) -> Tensor:
    return torch.softmax(torch.matmul(q, k.transpose(-1, -2)) * scale, -1)


def _rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    turned = torch.cat((-second, first), -1)
    return x * torch.cat((cos, cos), -1) + turned * torch.cat((sin, sin), -1)


def _attention(q: Tensor, k: Tensor, v: Tensor, *_: Any) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def _multihead(
    q: Tensor, k: Tensor, v: Tensor, num_heads: int, scale: None, mask: None, causal: bool
) -> Tensor:
    q, k, v = (x.view(*x.shape[:2], num_heads, -1).transpose(1, 2) for x in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=scale)
    return out.transpose(1, 2).flatten(2)


def _with_rope(
    q: Tensor, k: Tensor, v: Tensor, cos: Tensor, sin: Tensor, interleaved: bool, *options: Any
) -> Tensor:
    return _attention(_rope(q, cos, sin), _rope(k, cos, sin), v, *options)


def _sparse(q: Tensor, k: Tensor, v: Tensor, blocks: Tensor) -> Tensor:
    mask = blocks.repeat_interleave(q.shape[-2] // blocks.shape[-2], -2)
    mask = mask.repeat_interleave(k.shape[-2] // blocks.shape[-1], -1)
    return F.scaled_dot_product_attention(q, k, v, mask)


def _of(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=seeded(seed))


def _scores(rows: int, columns: int) -> list[Any]:
    return [_of(rows, SIZE, seed=1), _of(columns, SIZE, seed=2), SIZE**-0.5]


def _heads(rows: int, columns: int) -> list[Any]:
    shape = 1, _count(rows, columns), rows, SIZE
    return [_of(*shape, seed=seed) for seed in (1, 2, 3)]


def _count(rows: int, columns: int) -> int:
    """Return the number of heads that make these columns, limited by the size of their scores."""
    return max(1, min(columns // SIZE, MOST_SCORES // rows**2))


def _beside(rows: int, columns: int) -> list[Any]:
    heads = _count(rows, columns)
    tokens = [_of(1, rows, heads * SIZE, seed=seed) for seed in (1, 2, 3)]
    return [*tokens, heads, None, None, True]


def _angles(rows: int) -> list[Tensor]:
    angles = _of(rows, SIZE // 2, seed=4)
    return [angles.cos(), angles.sin()]


def _turned_heads(rows: int, columns: int) -> list[Any]:
    return [*_heads(rows, columns), *_angles(rows), False, None, None, True]


def _blocks(rows: int, columns: int) -> list[Any]:
    """Return a mask in which a block of queries sees its own keys, the previous and the first."""
    count = rows // SIZE if rows % SIZE == 0 else 1
    seen = torch.eye(count) + torch.eye(count).roll(1, 0).tril()
    seen[:, 0] = 1
    return [*_heads(rows, columns), seen > 0]


def _gather(x: Tensor, places: Tensor, *_: Tensor) -> Tensor:
    return x[places]


def _sum(x: Tensor, places: Tensor, _order: Tensor, begins: Tensor) -> Tensor:
    return x.new_zeros(len(begins) - 1, *x.shape[1:]).index_put((places,), x, accumulate=True)


def _in_places(rows: int, columns: int) -> list[Any]:
    """Return blocks of keys, each seen by three blocks of queries."""
    blocks = max(1, rows * columns // SIZE**2)
    places = torch.arange(blocks).repeat(3)
    return [_of(blocks, SIZE, SIZE), places, *inverse_of(places, blocks)]


def _of_places(rows: int, columns: int) -> list[Any]:
    x, places, *inverse = _in_places(rows, columns)
    return [x[places], places, *inverse]


def _turned(rows: int, columns: int) -> list[Any]:
    return [_heads(rows, columns)[0], *_angles(rows)]


def _causal(rows: int, columns: int) -> list[Any]:
    return [*_heads(rows, columns), None, None, True]


TIMED = {
    "attention_score": Timed(_score, _scores),
    "flash_attention": Timed(_attention, _causal, is_of_products=True),
    "multihead_attention": Timed(_multihead, _beside, is_of_products=True),
    "block_sparse_attention": Timed(_sparse, _blocks),
    "block_sparse_forward": Timed(_sparse, _blocks),
    "gather_blocks": Timed(_gather, _in_places),
    "sum_blocks": Timed(_sum, _of_places),
    "apply_rope": Timed(_rope, _turned, constants=(1, 2)),
    "rope_attention": Timed(_with_rope, _turned_heads, constants=(3, 4), is_of_products=True),
}
