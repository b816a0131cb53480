"""Block-sparse FP16 and BF16 attention in a CUDA kernel that reads only the visible blocks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.general.attention.attend import attend
from kernels.table.calls import TYPES
from kernels.table.launcher import CudaLauncher

DTYPES = torch.float16, torch.bfloat16
LEAST = (8, 0)  # the lowest compute capability whose tensor cores multiply both types
DEPTHS = 64, 128  # that the kernels support
OF_QUERIES, OF_KEYS = 16, 32  # divisors of the block sizes
_THREADS, _QUERIES = 128, 64  # per GPU block
_MOST_HEADS = (1 << 16) - 1  # blocks along y
_WIDE = 8  # elements in 16 bytes
_QUERIES_OF_PYTORCH = 64  # per GPU block, in its FP32 attention


def slower_reason(q: Tensor, k: Tensor, v: Tensor, block_mask: Tensor) -> str:
    """Return why PyTorch's attention runs, or "" if the kernel runs.

    q is [N, H, Lq, D], k [N, H, Lk, D], v [N, H, Lk, Dv], and the mask bool [..., rows, columns].
    """
    if q.dtype not in DTYPES or q.device.type != "cuda":
        return f"there is no such kernel in {q.dtype} on {q.device.type}"
    if torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v)):
        return "the kernel has no gradient"
    if capability(q.device) < LEAST:
        return "the tensor cores of this GPU do not support the kernel's FP16 and BF16 instructions"
    return unfit_reason(q, k, v, block_mask)


def unfit_reason(q: Tensor, k: Tensor, v: Tensor, block_mask: Tensor) -> str:
    """Return why the kernel does not support these shapes, or "" if it does."""
    queries, keys = (
        x.shape[-2] // blocks for x, blocks in zip((q, k), block_mask.shape[-2:], strict=True)
    )
    if queries % OF_QUERIES or keys % OF_KEYS:
        return f"the kernel does not take blocks of {queries} queries and {keys} keys"
    if q.shape[-1] not in DEPTHS or v.shape[-1] != q.shape[-1]:
        return f"the kernel does not take heads of {q.shape[-1]} and {v.shape[-1]}"
    if not q.numel() or not k.numel() or q.shape[0] * q.shape[1] > _MOST_HEADS:
        return f"the kernel does not take {list(q.shape)} and {list(k.shape)}"
    return ""


def launch(
    launch: CudaLauncher,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    block_mask: Tensor,
    scale: float | None = None,
) -> Tensor:
    """Run `block_sparse_forward` in the CUDA kernel if it supports the tensors."""
    check(q, k, v, block_mask)
    if q.dtype not in DTYPES or unfit_reason(q, k, v, block_mask):
        run = by_blocks if _fills_blocks(q, v, block_mask) else with_whole_mask
        return run(q, k, v, block_mask, scale).contiguous()
    q, k, v = map(_readable, (q, k, v))
    n, heads, queries, depth = q.shape
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    seen = block_mask.expand(n, heads, *block_mask.shape[-2:])
    launch(
        f"styleforge_block_sparse_{depth}",
        (-(-queries // _QUERIES), n * heads, 1),
        _THREADS,
        *(q, k, v, out, seen, TYPES[q.dtype], queries, k.shape[2], heads, *seen.shape[2:]),
        *(*q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *seen.stride()),
        float(depth**-0.5 if scale is None else scale),
    )
    return out


@cache
def capability(device: torch.device) -> tuple[int, int]:
    return torch.cuda.get_device_capability(device)


def _readable(x: Tensor) -> Tensor:
    """Return x, or a copy of it with 16-byte aligned rows and 32-bit offsets."""
    lies_so = (
        x.stride(-1) == 1
        and not any(stride % _WIDE for stride in x.stride()[:-1])
        and x.data_ptr() % 16 == 0
        and x.shape[-2] * x.stride(-2) < 1 << 31
    )
    return x if lies_so else x.clone(memory_format=torch.contiguous_format)


def check(q: Tensor, k: Tensor, v: Tensor, block_mask: Tensor) -> None:
    fits = (
        q.dim() == k.dim() == v.dim() == 4
        and (*q.shape[:2], q.shape[3]) == (*k.shape[:2], k.shape[3])
        and v.shape[:3] == k.shape[:3]
        and q.dtype == k.dtype == v.dtype
        and block_mask.dtype == torch.bool
        and block_mask.dim() in (2, 4)
        and block_mask.numel()
        and not q.shape[2] % block_mask.shape[-2]
        and not k.shape[2] % block_mask.shape[-1]
    )
    if not fits or any(x.device != q.device for x in (k, v, block_mask)):
        raise ValueError(
            f"block_sparse_forward: q, k, v and block_mask are {list(q.shape)}, {list(k.shape)}, "
            f"{list(v.shape)} and {list(block_mask.shape)}; expected [N, H, L, D] of one dtype and "
            "bool [rows, columns], which divide the lengths, on one device"
        )


def with_whole_mask(
    q: Tensor, k: Tensor, v: Tensor, block_mask: Tensor, scale: float | None = None
) -> Tensor:
    """Compute `block_sparse_attention` with a mask of all scores."""
    *leading, rows, columns = block_mask.shape
    queries, keys = q.shape[2] // rows, k.shape[2] // columns
    any_seen, added = _of_blocks(block_mask, q.dtype)
    mask = added[..., :, None, :, None].expand(*leading, rows, queries, columns, keys)
    mask = mask.reshape(*leading, rows * queries, columns * keys)
    out = attend(q, k, v, mask, scale=scale)
    by_row = out.view(*out.shape[:2], rows, queries, out.shape[-1])
    return zeroed(by_row, any_seen[..., None]).flatten(2, 3)


def by_blocks(q: Tensor, k: Tensor, v: Tensor, block_mask: Tensor, scale: float | None) -> Tensor:
    """Compute `block_sparse_attention` with blocks of queries as heads that share their keys.

    The mask then has one row per block. PyTorch's attention on a GPU reads this row for all queries
    of the block. A gradient would need one copy of the keys' gradient per block.
    """
    n, heads, length, size = *q.shape[:3], v.shape[-1]
    rows, columns = block_mask.shape[-2:]
    any_seen, added = _of_blocks(block_mask, q.dtype)
    mask = added[..., None].expand(*added.shape, k.shape[2] // columns).flatten(-2)
    if mask.dim() == 4:
        any_seen, mask = (x.expand(n, heads, *x.shape[2:]).flatten(0, 1) for x in (any_seen, mask))
    k, v = (x.reshape(n * heads, 1, *x.shape[2:]).expand(-1, rows, -1, -1) for x in (k, v))
    q = q.reshape(n * heads, rows, length // rows, q.shape[-1])
    mask = mask.view(-1, rows, 1, k.shape[2])
    found = F.scaled_dot_product_attention(q, k, v, mask, scale=scale)
    # Its memory is ordered by queries, then blocks. One pass reorders it and writes zeros where no
    # key was seen.
    out = q.new_empty(found.shape)
    torch.where(any_seen.view(-1, rows, 1, 1), found, found.new_zeros(()), out=out)
    return out.view(n, heads, length, size)


def _fills_blocks(q: Tensor, v: Tensor, block_mask: Tensor) -> bool:
    """Return whether PyTorch's efficient attention runs `by_blocks` without partial GPU blocks."""
    rows, is_wide = block_mask.shape[-2], q.shape[-1] % _WIDE == v.shape[-1] % _WIDE == 0
    return (
        q.dtype == torch.float32
        and is_wide
        and q.numel() * v.numel() > 0
        and q.shape[2] // rows % _QUERIES_OF_PYTORCH == 0
        and max(q.shape[0] * q.shape[1], rows) <= _MOST_HEADS
        and torch.backends.cuda.mem_efficient_sdp_enabled()
    )


def _of_blocks(block_mask: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return which rows see any key, and the 0 or -inf to add to scores (0 if a row sees none)."""
    any_seen = block_mask.any(-1, keepdim=True)
    return any_seen, (block_mask == any_seen).log().to(dtype)


def zeroed(out: Tensor, seen: Tensor) -> Tensor:
    """Fill `out` with zeros where no key was seen, in place if autograd does not record it."""
    fill = Tensor.masked_fill if out.requires_grad else Tensor.masked_fill_
    return fill(out, ~seen, 0.0)


def samples() -> Iterator[tuple[Any, ...]]:
    """Yield both depths, one mask for all heads and one per head, and a block that sees nothing."""
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float32, *DTYPES):
        for depth, heads, of_mask in ((64, 2, ()), (128, 3, (2, 3))):
            shapes = ((2, heads, 64, depth), *((2, heads, 160, depth),) * 2)
            q, k, v = (torch.randn(shape, generator=generator).to(dtype) for shape in shapes)
            blocks = torch.rand(*of_mask, 4, 5, generator=generator) > 0.5
            blocks[..., 1, :] = False
            yield q, k, v, blocks, None
            yield q, k, v, blocks, -0.3
