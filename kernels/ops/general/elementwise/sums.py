"""Gradients of elementwise functions, with the sums for broadcast inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from kernels.ops.general.elementwise import reference

Backward = Callable[..., list[Tensor]]  # as `reference.backward`


def of_gradients(
    backward: Backward,
    grad: Tensor,
    inputs: Sequence[Tensor],
    function: str,
    wanted: Sequence[bool],
    like: Sequence[Tensor],
    of: Sequence[int],
    p: float = 0.0,
    state: Tensor | None = None,
) -> list[Tensor]:
    """Return the gradients that `backward` computes, and sums of them by PyTorch.

    Returns the wanted gradients, then the sums, all in the dtype of the result. For each sum,
    `like` has a tensor of its shape, which broadcasts to the gradients' shape, and `of` the index
    of its gradient. Raise ValueError as `check` and `backward` do.
    """
    check(wanted, like, of)
    needed = [want or number in of for number, want in enumerate(wanted)]
    each = iter(backward(grad, inputs, function, needed, p, state))
    found = {number: next(each) for number, need in enumerate(needed) if need}
    whole = [found[number] for number, want in enumerate(wanted) if want]
    return [*whole, *(summed(found[number], x) for number, x in zip(of, like, strict=True))]


def check(wanted: Sequence[bool], like: Sequence[Tensor], of: Sequence[int]) -> None:
    """Raise ValueError if `of` and `like` differ in length, or if `of` names no gradient."""
    if len(of) != len(like):
        raise ValueError(
            f"elementwise_sums_backward: of has {len(of)} values; expected {len(like)}, one for "
            "each tensor of like"
        )
    if any(not 0 <= number < len(wanted) for number in of):
        raise ValueError(
            f"elementwise_sums_backward: of is {list(of)}; expected numbers of {len(wanted)} "
            "gradients, from 0"
        )


reference_sums = functools.partial(of_gradients, reference.backward)


def summed(whole: Tensor, like: Tensor) -> Tensor:
    """Sum a gradient to a shape; the result never shares memory with the gradient."""
    if _is_of_channels(whole, like):
        of_channels: Any = torch.ops.styleforge.channel_bias_backward
        return of_channels(whole).view(like.shape)
    found = whole.sum_to_size(like.shape)
    return found.clone() if found.numel() == whole.numel() else found


def _is_of_channels(whole: Tensor, like: Tensor) -> bool:
    """Return whether a sum is over all dimensions but the second, as for [C, 1, 1] and images."""
    if whole.dim() < 3 or whole.shape[1] == 1:
        return False
    shape = [1] * (whole.dim() - like.dim()) + list(like.shape)
    return shape == [size if d == 1 else 1 for d, size in enumerate(whole.shape)]
