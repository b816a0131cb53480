"""The product of queries and keys in FP32, by a CUDA kernel where that is faster than PyTorch's."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from kernels.ops.launcher import CudaLauncher
from utils.tf32 import products_use_tf32

# Of these compute capabilities, tensor cores multiply TF32 eight times as fast as the others FP32;
# elsewhere they do so twice as fast at most, where a product takes three of theirs.
FASTER_ON = ((8, 0), (9, 0))
FEWEST, MOST_DEPTH = 64, 256  # queries and keys, of which a block has a tile; what was counted
QUERIES, KEYS, THREADS = 128, 64, 256  # of a block
_MOST_BLOCKS = (1 << 16) - 1  # along y and z
_VECTOR = 4  # elements of 16 bytes


def slower_reason(q: Tensor, k: Tensor) -> str:
    """Why PyTorch's product runs, in words; empty where `launch` is faster.

    Args:
        q: [..., queries, depth].
        k: [..., keys, depth], of q's dtype and leading dimensions.
    """
    (queries, depth), keys = q.shape[-2:], k.shape[-2]
    if q.dtype != torch.float32 or q.device.type != "cuda":
        return f"there is no product of ours in {q.dtype} on {q.device.type}"
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
    """Whether rows are read 16 bytes at a time, and there are not too many blocks."""
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
    """Write q k^T, with the precision of FP32 where no number is infinite.

    Args:
        launch: Of the library attention_parts_cuda.
        q: FP32 [..., queries, depth] of up to four dimensions, with a dense depth of a multiple of
            4, and other strides and an address of multiples of 16 bytes.
        k: [..., keys, depth], as q.
        scores: [..., queries, keys], contiguous.
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
