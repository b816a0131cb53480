"""PyTorch's attention, with the second derivative that its kernels lack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from kernels.table.autograd import has_tangents
from kernels.table.direct import is_watched

_torch: Any = torch._C  # pyright: ignore[reportPrivateUsage]
_any_requires_grad: Callable[..., bool] = _torch._any_requires_grad


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Run torch.nn.functional.scaled_dot_product_attention with a differentiable gradient."""
    given = q, k, v, mask
    is_recorded = not is_watched() and torch.is_grad_enabled() and _any_requires_grad(*given)
    if not is_recorded or has_tangents(given):
        return _attention(*given, causal, scale)
    upper: list[Tensor] = []
    # A mask without a gradient is not passed through: with one, PyTorch would run a slower kernel.
    followed = given if mask is not None and mask.requires_grad else given[:3]
    function: Any = _Followed
    passed: list[Any] = [*function.apply(upper, causal, scale, mask, *followed)]
    rest: list[Any] = [*given[len(followed) :], causal, scale]
    found: Tensor = _attention(*passed, *rest)

    def keep(grad: Tensor) -> None:
        if torch.is_grad_enabled():
            upper.append(grad)

    found.register_hook(keep)  # pyright: ignore[reportUnknownMemberType]
    return found


def _attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, scale: float | None
) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, mask, 0.0, causal, scale=scale)


class _Followed(torch.autograd.Function):
    """Identity on the arguments that recomputes their gradients for a second derivative."""

    @staticmethod
    def forward(
        ctx: Any, upper: list[Tensor], causal: bool, scale: float | None, mask: Any, *given: Tensor
    ) -> Any:
        ctx.save_for_backward(*given[:3], mask)
        ctx.upper, ctx.options = upper, (causal, scale)
        return given

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Any, ...]:
        found: Sequence[Tensor | None] = grads
        if torch.is_grad_enabled():
            # Aliases separate arguments that are the same tensor.
            kept: Any = ctx.saved_tensors
            inputs: list[Any] = [None if x is None else x.view_as(x) for x in kept]
            needs: tuple[bool, ...] = ctx.needs_input_grad[4:]
            wanted = [x for x, need in zip(inputs, needs, strict=False) if need]
            with sdpa_kernel(SDPBackend.MATH):
                result = _attention(*inputs, *ctx.options)
            each = iter(torch.autograd.grad(result, wanted, ctx.upper.pop(), create_graph=True))
            found = [next(each) if need else None for need in needs]
        return None, None, None, None, *found
