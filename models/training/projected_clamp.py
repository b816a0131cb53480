"""What of a result is seen: 0 to 255, with a gradient that leads back inside."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

LOWEST, HIGHEST = 0.0, 255.0


def projected_clamp(result: Tensor) -> Tensor:
    """`result` clamped to 0-255, any shape: training on it judges the picture that is shown,
    and a style does not learn strokes that the clamp then burns away.

    Where a value lies outside, the gradient of a clamp is zero, and nothing would bring it back.
    Here only the part that leads further out is dropped (gradient projection, Rosen 1960).
    """
    return _Seen.apply(result)  # type: ignore[no-any-return]


class _Seen(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, result: Tensor) -> Tensor:
        ctx.save_for_backward(result)
        return result.clamp(LOWEST, HIGHEST)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (result,) = ctx.saved_tensors
        (gradient,) = gradients
        # A step goes against the gradient.
        outward = ((result < LOWEST) & (gradient > 0)) | ((result > HIGHEST) & (gradient < 0))
        return gradient.masked_fill(outward, 0.0)
