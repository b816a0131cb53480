"""The norm of many tensors as one vector, and their clipping, in PyTorch and in launches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from kernels.ops.general.optim.tensors import Submit, apart, check, launches, lie_alike

_linalg: Any = torch.linalg  # PyTorch does not annotate its functions
_vector_norm: Callable[..., Tensor] = _linalg.vector_norm
KINDS = {1.0: 1, 2.0: 2, math.inf: 0}  # norm types as kernels number them


def total_norm(submit: Submit | None, tensors: list[Tensor], norm_type: float) -> Tensor:
    """Compute the norm; in PyTorch without `submit`, and for types other than 1, 2 and infinity."""
    check("total_norm", tensors=tensors)
    if not tensors:
        return torch.zeros(())
    is_fp64 = any(x.dtype == torch.float64 for x in tensors)
    dtype = torch.float64 if is_fp64 else torch.float32
    if math.isnan(norm_type):
        raise ValueError(f"total_norm: norm_type is {norm_type}; expected a number")
    if submit is None or norm_type not in KINDS:
        each = [_vector_norm(x.double(), norm_type) for x in tensors if x.numel()]
        if not each:
            return tensors[0].new_zeros((), dtype=dtype)
        return _vector_norm(torch.stack(each), norm_type).to(dtype)
    kind, read = KINDS[norm_type], [x if lie_alike(x) else x.contiguous() for x in tensors]
    parted = list(launches([read]))
    if not parted:
        return tensors[0].new_zeros((), dtype=dtype)
    parts = tensors[0].new_empty(sum(chunks for _, chunks in parted), dtype=torch.float64)
    first = 0
    for launch, chunks in parted:
        submit("styleforge_norm_parts", launch, chunks, parts[first:], kind)
        first += chunks
    found = parts.new_empty((), dtype=dtype)
    of_parts, _ = next(launches([[parts]]))
    submit(f"styleforge_norm_{'float64' if is_fp64 else 'float32'}", of_parts, 1, found, kind)
    return found


def clip(submit: Submit | None, tensors: list[Tensor], norm: Tensor, max_norm: float) -> None:
    """Multiply by max_norm / (norm + 1e-6) if that is below 1; without `submit` in PyTorch."""
    check("clip_grads_with_norm", tensors=tensors)
    if not tensors:
        return
    if norm.numel() != 1 or not norm.is_floating_point() or norm.device != tensors[0].device:
        raise ValueError(
            f"clip_grads_with_norm: total_norm is {norm.dtype} {list(norm.shape)} on "
            f"{norm.device}; expected one floating element on {tensors[0].device}"
        )
    others: Sequence[int] = range(len(tensors))
    if submit is not None:
        others, exact = apart([tensors]), norm.double()
        for launch, chunks in launches([tensors], left_out=others):
            submit("styleforge_clip", launch, chunks, exact, float(max_norm))
    factor = (max_norm / (norm.double() + 1e-6)).clamp(max=1) if others else norm
    for at in others:
        x = tensors[at]
        x.mul_(factor.to(torch.promote_types(x.dtype, torch.float32)))
