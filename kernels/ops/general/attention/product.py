"""The FP32 product of queries and keys, in a CUDA kernel where that is faster than PyTorch's."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from kernels.table.launcher import CudaLauncher
from utils.tf32 import products_use_tf32

# On these compute capabilities, tensor cores multiply TF32 eight times as fast as other cores
# multiply FP32. Elsewhere they are at most twice as fast, and a product needs three TF32 products.
FASTER_ON = ((8, 0), (9, 0))
FEWEST, MOST_DEPTH = 64, 256  # queries and keys per tile; the largest measured depth
QUERIES, KEYS, THREADS = 128, 64, 256  # per block
_MOST_BLOCKS = (1 << 16) - 1  # along y and z
_VECTOR = 4  # elements in 16 bytes


def slower_reason(q: Tensor, k: Tensor) -> str:
    """Return why PyTorch's product runs, or "" if `launch` is faster.

    q is [..., queries, depth]; k is [..., keys, depth], of q's dtype and leading dimensions.
    """
    (queries, depth), keys = q.shape[-2:], k.shape[-2]
    if q.dtype != torch.float32 or q.device.type != "cuda":
        return f"no native product in {q.dtype} on {q.device.type}"
    if _capability(q.device) not in FASTER_ON:
        return "tensor cores do not multiply TF32 fast enough on this GPU"
    if products_use_tf32():
        return "PyTorch may use TF32, which is faster than the precision of FP32"
    if not _fits(q, k):
        return f"the product does not take {list(q.shape)} and {list(k.shape)} of these strides"
    if queries < FEWEST or keys < FEWEST or depth > MOST_DEPTH:
        return f"PyTorch's product is faster for {queries} queries, {keys} keys, a depth of {depth}"
    return ""


def _fits(q: Tensor, k: Tensor) -> bool:
    """Return whether rows allow 16-byte reads and the grid is not too large."""
    if q.dim() > 4 or q.shape[-1] % _VECTOR:
        return False
    if q.shape[:-2].numel() > _MOST_BLOCKS or q.shape[-2] > _MOST_BLOCKS * QUERIES:
        return False
    return all(
        x.stride(-1) == 1
        and not any(stride % _VECTOR for stride in x.stride()[:-1])
        and x.data_ptr() % 16 == 0
        for x in (q, k)
    )


def launch(launch: CudaLauncher, q: Tensor, k: Tensor, scores: Tensor) -> None:
    """Write q k^T to `scores`, with the precision of FP32 for finite numbers.

    q [..., queries, depth] and k [..., keys, depth] are FP32 of up to four dimensions. The depth is
    dense and a multiple of 4; other strides and the address are multiples of 16 bytes. `scores` is
    [..., queries, keys], contiguous; `launch` launches from the library attention_parts_cuda.
    """
    q, k = (x[(None,) * (4 - x.dim())] for x in (q, k))
    planes, heads, queries, depth = q.shape
    keys = k.shape[-2]
    launch(
        "styleforge_scores",
        (-(-keys // KEYS), -(-queries // QUERIES), planes * heads),
        THREADS,
        *(q, k, scores, queries, keys, depth, heads, *q.stride()[:3], *k.stride()[:3]),
    )


@cache
def _capability(device: torch.device) -> tuple[int, int]:
    return torch.cuda.get_device_capability(device)
