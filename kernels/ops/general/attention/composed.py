"""Attention composed of PyTorch's, of our own where that is faster, and of their surroundings."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kernels.ops.general.attention import blocks, rope, scores, sparse
from kernels.ops.general.attention.attend import attend
from kernels.ops.transformer.attention.api import fused_attention
from kernels.ops.transformer.attention.choice import faster_reason
from kernels.table.direct import is_watched


def flash(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float | None,
    mask: Tensor | None,
    causal: bool,
) -> Tensor:
    _check(q, k, v, mask, causal, "flash_attention")
    return _attend(q, k, v, scale, mask, causal)


def _attend(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None, mask: Tensor | None, causal: bool
) -> Tensor:
    wanted = torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v))
    factor: float = q.shape[-1] ** -0.5 if scale is None else scale
    plain = mask is None and v.shape == k.shape and factor > 0
    size, length = q.shape[-1], q.shape[-2]
    if faster_reason(q.device, q.dtype, size, length, causal=causal, plain=plain, gradients=wanted):
        # PyTorch needs two dimensions.
        whole = mask if mask is None or mask.dim() > 1 else mask.reshape(1, -1)
        return attend(q, k, v, whole, causal, factor)
    return fused_attention(q, k, v, None, factor, causal)[0]


def flash_reference(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float | None,
    mask: Tensor | None,
    causal: bool,
) -> Tensor:
    _check(q, k, v, mask, causal, "flash_attention")
    if causal:
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
    return torch.matmul(scores.reference(q, k, scale, mask), v)


def multihead(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    num_heads: int,
    scale: float | None,
    mask: Tensor | None,
    causal: bool,
) -> Tensor:
    split = _heads(q, k, v, num_heads)
    _check(*split, mask, causal, "multihead_attention")
    return _attend(*split, scale, mask, causal).transpose(1, 2).flatten(2)


def multihead_reference(q: Tensor, k: Tensor, v: Tensor, num_heads: int, *options: Any) -> Tensor:
    split = _heads(q, k, v, num_heads)
    return flash_reference(*split, *options).transpose(1, 2).flatten(2)


def with_rope(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cos: Tensor,
    sin: Tensor,
    interleaved: bool,
    scale: float | None,
    mask: Tensor | None,
    causal: bool,
) -> Tensor:
    _check(q, k, v, mask, causal, "rope_attention")
    turn: Any = torch.ops.styleforge.apply_rope
    q, k = (turn(x, cos, sin, interleaved, False) for x in (q, k))
    return _attend(q, k, v, scale, mask, causal)


def with_rope_reference(
    q: Tensor, k: Tensor, v: Tensor, cos: Tensor, sin: Tensor, interleaved: bool, *options: Any
) -> Tensor:
    q, k = (rope.reference(x, cos, sin, interleaved) for x in (q, k))
    return flash_reference(q, k, v, *options)


def block_sparse(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    block_mask: Tensor,
    scale: float | None,
    most_blocks: int | None,
) -> Tensor:
    seen = _blocks(q, k, v, block_mask)
    n, heads, rows, columns = seen.shape
    queries, keys = q.shape[2] // rows, k.shape[2] // columns
    if not sparse.slower_reason(q, k, v, block_mask):
        by_kernel: Any = torch.ops.styleforge.block_sparse_forward
        return by_kernel(q, k, v, block_mask, scale)
    most = columns if most_blocks is None else min(most_blocks, columns)
    if blocks.slower_reason(q, block_mask, most):
        return sparse.with_whole_mask(q, k, v, block_mask, scale)
    wanted = torch.is_grad_enabled() and (k.requires_grad or v.requires_grad)
    layout = blocks.layout_of(block_mask, seen, keys, most, wanted)
    gather: Any = torch.ops.styleforge.gather_blocks

    def chosen(x: Tensor) -> Tensor:
        every = x.reshape(n * heads * columns, keys, x.shape[-1])
        if layout.inverse is None:
            found = every[layout.places]
        else:
            found = gather(every, layout.places, *layout.inverse)
        return found.view(n, heads * rows, most * keys, x.shape[-1])

    by_block = q.reshape(n, heads * rows, queries, q.shape[-1])
    out = attend(by_block, chosen(k), chosen(v), layout.mask, scale=scale)
    out = out.view(n, heads, rows, queries, v.shape[-1])
    return sparse.zeroed(out, layout.any_seen[..., None]).reshape(*q.shape[:3], v.shape[-1])


def sparse_with_gradient(
    q: Tensor, k: Tensor, v: Tensor, block_mask: Tensor, scale: float | None
) -> Tensor | None:
    """Compute `block_sparse_forward` for autograd; on a GPU it gathers the visible blocks.

    On a CPU it runs PyTorch's attention with a whole mask, as without a gradient; the tensors it
    saves spare backward another forward pass. Returns None for FP64 on a GPU and under a compiler
    or a transform, which cannot wait for the block count.
    """
    sparse.check(q, k, v, block_mask)
    if is_watched():
        return None
    if q.is_cpu:
        return sparse.with_whole_mask(q, k, v, block_mask, scale)
    if not q.is_cuda or q.dtype == torch.float64:
        return None
    return block_sparse(q, k, v, block_mask, scale, blocks.most_seen(block_mask))


def block_sparse_reference(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    block_mask: Tensor,
    scale: float | None,
    most_blocks: int | None,
) -> Tensor:
    seen = _blocks(q, k, v, block_mask)
    rows, columns = seen.shape[2:]
    mask = seen.repeat_interleave(q.shape[2] // rows, 2)
    mask = mask.repeat_interleave(k.shape[2] // columns, 3)
    return torch.matmul(scores.reference(q, k, scale, mask), v)


def count_blocks(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    block_mask: Tensor,
    scale: float | None,
    most_blocks: int | None,
) -> tuple[Any, ...]:
    """Return the arguments of `block_sparse_attention`, with the most blocks that a row sees."""
    fits = q.dim() == k.dim() == v.dim() == 4 and block_mask.dim() >= 2
    if fits and block_mask.numel() and not sparse.slower_reason(q, k, v, block_mask):
        return q, k, v, block_mask, scale, most_blocks  # nothing to gather or wait for
    if most_blocks is None and block_mask.numel():
        most_blocks = blocks.most_seen(block_mask)
    return q, k, v, block_mask, scale, most_blocks


def _blocks(q: Tensor, k: Tensor, v: Tensor, block_mask: Tensor) -> Tensor:
    """Return the mask of every sample and head: [N, H, rows, columns]."""
    _check(q, k, v, None, False, "block_sparse_attention")
    fits = block_mask.dtype == torch.bool and block_mask.dim() in (2, 4) and block_mask.numel()
    if not fits or q.shape[2] % block_mask.shape[-2] or k.shape[2] % block_mask.shape[-1]:
        raise ValueError(
            f"block_sparse_attention: block_mask is {block_mask.dtype} {list(block_mask.shape)}; "
            f"expected bool [rows, columns] or [N, H, rows, columns], where rows divide "
            f"{q.shape[2]} and columns {k.shape[2]}"
        )
    return block_mask.expand(*q.shape[:2], *block_mask.shape[-2:])


def _heads(q: Tensor, k: Tensor, v: Tensor, num_heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return views [N, H, L, E / H] of [N, L, E]."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        if x.dim() != 3 or num_heads < 1 or x.shape[-1] % num_heads:
            raise ValueError(
                f"multihead_attention: {name} has the shape {list(x.shape)}; expected [N, L, E], "
                f"where the {num_heads} heads divide E"
            )
    return _split(q, num_heads), _split(k, num_heads), _split(v, num_heads)


def _split(x: Tensor, num_heads: int) -> Tensor:
    return x.view(*x.shape[:2], num_heads, x.shape[2] // num_heads).transpose(1, 2)


def _check(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, name: str) -> None:
    if q.dim() != 4:
        raise ValueError(f"{name}: q has the shape {list(q.shape)}; expected [N, H, L, D]")
    scores.check(q, k, mask, name)
    if v.shape[:-1] != k.shape[:-1] or v.dtype != q.dtype or v.device != q.device:
        raise ValueError(
            f"{name}: v is {v.dtype} {list(v.shape)} on {v.device}; expected {q.dtype} "
            f"{[*k.shape[:-1], 'size']} on {q.device}"
        )
    if causal and mask is not None:
        raise ValueError(f"{name}: mask and causal are both given; expected one of them")
