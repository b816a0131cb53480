"""A clamp to 0-255 whose gradient leads values outside the range back into it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

LOWEST, HIGHEST = 0.0, 255.0


def projected_clamp(result: Tensor) -> Tensor:
    """Clamp a network's output to 0-255, so that the losses apply to the displayed picture.

    The gradient of an ordinary clamp is zero for values outside the range, which would then never
    return. This gradient drops only the part that leads further outside (Rosen 1960).
    """
    # PyTorch: Function.apply has no annotations.
    return _ProjectedClamp.apply(result)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


class _ProjectedClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, result: Tensor) -> Tensor:
        ctx.save_for_backward(result)
        return result.clamp(LOWEST, HIGHEST)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (result,) = ctx.saved_tensors
        (gradient,) = gradients
        # A step follows the negative gradient.
        outward = ((result < LOWEST) & (gradient > 0)) | ((result > HIGHEST) & (gradient < 0))
        return gradient.masked_fill(outward, 0.0)
