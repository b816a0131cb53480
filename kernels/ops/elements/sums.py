"""Gradients of elementwise functions, with the sums that belong to inputs that were broadcast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from kernels.ops.elements import reference

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
    """Gradients as `backward` computes them, and sums of these by PyTorch.

    Args:
        backward: Computes whole gradients.
        grad: As that takes it, like what is not listed here.
        inputs: As there.
        function: The name.
        wanted: By different gradient, whether it is returned whole.
        like: By sum, a tensor of its shape, which broadcasts to that of the gradients.
        of: By sum, the number of the gradient.
        p: As there.
        state: As there.

    Returns:
        The gradients that are wanted, then the sums, all of the dtype of the result.

    Raises:
        ValueError: There are not as many numbers of gradients as sums, or there is no such
            gradient, or what `backward` raises.
    """
    check(wanted, like, of)
    needed = [want or number in of for number, want in enumerate(wanted)]
    each = iter(backward(grad, inputs, function, needed, p, state))
    found = {number: next(each) for number, need in enumerate(needed) if need}
    whole = [found[number] for number, want in enumerate(wanted) if want]
    return [*whole, *(summed(found[number], x) for number, x in zip(of, like, strict=True))]


def check(wanted: Sequence[bool], like: Sequence[Tensor], of: Sequence[int]) -> None:
    """Check which sums are asked for.

    Raises:
        ValueError: There are not as many numbers of gradients as sums, or no such gradient.
    """
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


def reference_sums(
    grad: Tensor,
    inputs: Sequence[Tensor],
    function: str,
    wanted: Sequence[bool],
    like: Sequence[Tensor],
    of: Sequence[int],
    p: float = 0.0,
    state: Tensor | None = None,
) -> list[Tensor]:
    """As `of_gradients`, all of it in PyTorch."""
    return of_gradients(reference.backward, grad, inputs, function, wanted, like, of, p, state)


def summed(whole: Tensor, like: Tensor) -> Tensor:
    """A gradient summed to a shape; a tensor of its own where nothing is summed, too."""
    if _is_of_channels(whole, like):
        of_channels: Any = torch.ops.styleforge.channel_bias_backward
        return of_channels(whole).view(like.shape)
    found = whole.sum_to_size(like.shape)
    return found.clone() if found.numel() == whole.numel() else found


def _is_of_channels(whole: Tensor, like: Tensor) -> bool:
    """Whether a sum is over all dimensions but the second, as [C, 1, 1] is of pictures."""
    if whole.dim() < 3 or whole.shape[1] == 1:
        return False
    shape = [1] * (whole.dim() - like.dim()) + list(like.shape)
    return shape == [size if d == 1 else 1 for d, size in enumerate(whole.shape)]
