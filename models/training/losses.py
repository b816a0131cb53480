"""The training losses, in relative form: 0 is a perfect match, 1 the loss of all-zero features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


def gram(features: Tensor) -> Tensor:
    """The Gram matrices G = F F^T / (H W) (Gatys et al. 2015, arXiv:1508.06576).

    The sum over H W is long, so it is taken in float32 whatever autocast would choose.

    Args:
        features: [B, C, H, W], floating.

    Returns:
        [B, C, C] float32.
    """
    with torch.autocast(features.device.type, enabled=False):
        # A view of channels-last features; flattening to [B, C, H W] would copy, twice.
        flat = features.permute(0, 2, 3, 1).flatten(1, 2)  # [B, H W, C]
        if flat.is_cuda and flat.dtype == torch.bfloat16:
            # PyTorch: Function.apply has no annotations.
            return _HalfGram.apply(flat)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        flat = flat.float()
        return flat.transpose(1, 2) @ flat / flat.shape[1]


class _HalfGram(torch.autograd.Function):
    """The Gram matrices of [B, H W, C] bfloat16 on tensor cores. The product of two bfloat16 is
    exact in float32, in which they are summed. Converting the features first gives the same sums,
    and takes a fifth of the time of a training step on an H200."""

    @staticmethod
    def forward(ctx: Any, flat: Tensor) -> Tensor:
        ctx.save_for_backward(flat)
        return torch.bmm(flat.transpose(1, 2), flat, out_dtype=torch.float32) / flat.shape[1]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (flat,) = ctx.saved_tensors
        (gradient,) = gradients
        both = (gradient + gradient.transpose(1, 2)) / flat.shape[1]
        return flat @ both.to(flat.dtype)


def content_loss(features: Tensor, target: Tensor) -> Tensor:
    """The content loss mean((F - Fc)^2) / mean(Fc^2).

    Args:
        features: F, of the output, [B, C, H, W].
        target: Fc, of the photographs, [B, C, H, W].

    Returns:
        A float32 scalar.
    """
    features, target = features.float(), target.float()
    return (features - target).square().mean() / target.square().mean()


def style_loss(grams: Mapping[str, Tensor], targets: Mapping[str, Tensor]) -> Tensor:
    """The style loss ||G - Gs||^2 / ||Gs||^2, summed over layers and averaged over the batch.

    Args:
        grams: G, the Gram matrices of the output, [B, C, C] for each layer.
        targets: Gs, those of the style picture, [1, C, C] for each layer.

    Returns:
        A float32 scalar.
    """
    layers = (
        (grams[layer] - target).square().sum((1, 2)).mean() / target.square().sum()
        for layer, target in targets.items()
    )
    return torch.stack(list(layers)).sum()


def total_variation(images: Tensor) -> Tensor:
    """The mean squared difference of neighboring pixels, horizontal plus vertical; it suppresses
    checkerboards and noise in flat regions.

    Args:
        images: [B, 3, H, W] on 0-255.

    Returns:
        A scalar.
    """
    across = (images[..., 1:] - images[..., :-1]).square().mean()
    down = (images[..., 1:, :] - images[..., :-1, :]).square().mean()
    return across + down
