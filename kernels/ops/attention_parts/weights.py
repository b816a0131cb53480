"""The weights of attention in FP16 and BF16 by one CUDA kernel, without a score in memory."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from kernels.ops.cuda.calls import TYPES
from kernels.ops.launcher import CudaLauncher

DTYPES = torch.float16, torch.bfloat16
DEPTHS = 32, 64, 128  # of which there are kernels
LEAST = (8, 0)  # the compute capability from which tensor cores multiply both types
_TILE = 16  # queries that tensor cores take at once
_KEYS = 8  # of 16 bytes
_MOST_HEADS = (1 << 16) - 1  # blocks along y


def slower_reason(q: Tensor, k: Tensor) -> str:
    """Why a product and a softmax in its memory run, in words; empty where `launch` does.

    Args:
        q: [..., queries, depth].
        k: [..., keys, depth], of q's dtype and leading dimensions.
    """
    (queries, depth), keys = q.shape[-2:], k.shape[-2]
    if q.dtype not in DTYPES or q.device.type != "cuda":
        return f"there is no such kernel in {q.dtype} on {q.device.type}"
    if capability(q.device) < LEAST:
        return "tensor cores do not multiply FP16 and BF16 on this GPU as the kernel does"
    if q.dim() > 4 or q.shape[:-2].numel() > _MOST_HEADS or depth not in DEPTHS or keys % _KEYS:
        return f"the kernel does not take {list(q.shape)} and {list(k.shape)}"
    if any(
        x.stride(-1) != 1
        or any(stride % _KEYS for stride in x.stride()[:-1])
        or x.data_ptr() % 16
        or max(queries, keys) * x.stride(-2) >= 1 << 31
        for x in (q, k)
    ):
        return "queries and keys do not lie at multiples of 16 bytes"
    return ""


def launch(launch: CudaLauncher, q: Tensor, k: Tensor, out: Tensor, scale: float) -> None:
    """Write softmax(q k^T scale).

    Args:
        launch: Of the library attention_parts_cuda.
        q: FP16 or BF16 [..., queries, depth], for which `slower_reason` is empty.
        k: [..., keys, depth], as q.
        out: [..., queries, keys], contiguous.
        scale: Of the scores.
    """
    dtype = TYPES[q.dtype]
    q, k = (x[(None,) * (4 - x.dim())] for x in (q, k))
    planes, heads, queries, depth = q.shape
    tiles, threads = shape_of(planes * heads, queries, depth, launch.gpu.multiprocessors)
    launch(
        f"styleforge_weights_{tiles * _TILE}",
        (-(-queries // (tiles * _TILE)), planes * heads, 1),
        threads,
        *(q, k, out, dtype, queries, k.shape[-2], depth, heads, *q.stride()[:3], *k.stride()[:3]),
        float(scale),
    )


def shape_of(heads: int, queries: int, depth: int, multiprocessors: int) -> tuple[int, int]:
    """Tiles of 16 queries of a block, and its threads.

    Every block reads all keys twice: one of two tiles reads half as much for a query, where there
    are enough of them for every multiprocessor.

    Args:
        heads: Of all samples.
        queries: Of each.
        depth: Of each.
        multiprocessors: Of the GPU.
    """
    if depth <= 64 and heads * -(-queries // _TILE) > multiprocessors:
        return 2, 256
    return 1, 512


@cache
def capability(device: torch.device) -> tuple[int, int]:
    """The compute capability of a GPU."""
    return torch.cuda.get_device_capability(device)
