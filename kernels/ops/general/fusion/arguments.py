"""Checks of the tensors of the library's norms and reductions, and their form for kernels."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

# Numbered as in include/common/data_type.h; FP64 runs in PyTorch.
TYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}
FLOATING = (*TYPES, torch.float64)
BYTES = 16  # per load


def common_dtype(name: str, given: Mapping[str, Tensor | None]) -> torch.dtype:
    """Return the dtype that PyTorch promotes the tensors of an operation to; the first is not None.

    Raises:
        ValueError: If a tensor is not floating, or is on another device than the first.
    """
    found: torch.dtype | None = None
    (first_name, first), *_ = given.items()
    assert first is not None
    for argument, x in given.items():
        if x is None:
            continue
        if x.dtype not in FLOATING:
            raise ValueError(
                f"{name}: {argument} is a tensor of {x.dtype}; expected float16, bfloat16, float32 "
                "or float64"
            )
        if x.device != first.device:
            raise ValueError(
                f"{name}: {argument} is on {x.device}; expected {first.device}, where {first_name} "
                "is"
            )
        found = x.dtype if found is None else torch.promote_types(found, x.dtype)
    assert found is not None
    return found


def check_shape(name: str, argument: str, x: Tensor | None, expected: torch.Size) -> None:
    """Raise ValueError if a given tensor has another shape."""
    if x is not None and x.shape != expected:
        raise ValueError(
            f"{name}: {argument} has the shape {list(x.shape)}; expected {list(expected)}"
        )


def mean_and_variance(x: Tensor, dims: list[int], keepdim: bool) -> tuple[Tensor, Tensor]:
    """Return the moments over dimensions; NaN for no elements, where PyTorch would warn."""
    if x.numel():
        var, mean = torch.var_mean(x, dims, correction=0, keepdim=keepdim)
        return mean, var
    mean = x.mean(dims, keepdim=keepdim)
    return mean, mean


def dense(x: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    return None if x is None else x.to(dtype).contiguous()


def takes_vectors(length: int, *tensors: Tensor | None) -> bool:
    """Return whether rows of this length consist of whole, aligned 16-byte loads in one dtype."""
    given = [x for x in tensors if x is not None]
    return length % (BYTES // given[0].element_size()) == 0 and not any(
        x.data_ptr() % BYTES for x in given
    )


def refuses(x: Tensor) -> str:
    """Return why no CPU kernel supports x, or "" if one does."""
    if x.device.type == "cpu" and x.dtype not in TYPES:
        return f"no native CPU kernel in {x.dtype}; PyTorch's runs"
    return ""
