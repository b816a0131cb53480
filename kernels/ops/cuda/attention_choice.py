"""Where our attention is faster than PyTorch's best: one table, measured on an H200.

docs/attention.md has the figures. What was not measured runs on PyTorch.
"""

from __future__ import annotations

from functools import cache

import torch

_HALVES = (torch.float16, torch.bfloat16)
HOPPER = (9, 0)
# By head size, the first length from which on ours is slower, and the first from which on it is
# faster again; by how much it is slower between them: 2 % at most.
SLOWER = {64: (1025, 16384)}
HEAD_SIZES = (32, 64, 128)


def faster_reason(
    device: torch.device,
    dtype: torch.dtype,
    head_size: int,
    length: int,
    *,
    causal: bool = False,
    plain: bool = True,
    gradients: bool = False,
) -> str:
    """Why PyTorch's attention runs, in words; empty where ours is faster.

    Args:
        device: That it runs on.
        dtype: Of q, k and v.
        head_size: D.
        length: Of the queries.
        causal: Whether a query sees no later key.
        plain: Whether there is neither mask nor dropout.
        gradients: Whether gradients are needed.
    """
    if device.type != "cuda":
        return f"PyTorch's attention is faster on the {device.type.upper()}"
    if dtype not in _HALVES:
        return f"PyTorch's attention is faster in {dtype}"
    if _capability(device) != HOPPER:
        return "our attention was not measured against PyTorch's on this GPU"
    if not plain:
        return "PyTorch's attention is faster with masks and dropout"
    if gradients:
        return "PyTorch's attention has the faster backward"
    if head_size not in HEAD_SIZES:
        return f"no native attention for heads of {head_size}, only {list(HEAD_SIZES)}"
    first, last = SLOWER.get(head_size, (0, 0))
    if not causal and first <= length < last:
        return f"PyTorch's attention is faster for {length} queries and heads of {head_size}"
    return ""


@cache
def _capability(device: torch.device) -> tuple[int, int]:
    return torch.cuda.get_device_capability(device)
