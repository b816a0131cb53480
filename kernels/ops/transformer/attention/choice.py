"""The choice between our attention and PyTorch's: one table, measured on an H200.

docs/explanation/attention.md has the figures. Unmeasured cases run in PyTorch.
"""

from __future__ import annotations

from functools import cache

import torch

_HALVES = (torch.float16, torch.bfloat16)
HOPPER = (9, 0)
# By head size: the length from which ours is slower, and the length from which it is faster again.
# Between them it is slower by 2 % at most.
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
    """Return why PyTorch's attention runs, or "" if ours is faster.

    `length` is the number of queries. A `plain` call has neither mask nor dropout.
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
