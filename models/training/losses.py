"""The losses a style is trained with, each in relative form: 0 is a perfect match, and 1 is as
far as nothing at all would be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


def gram(features: Tensor) -> Tensor:
    """G = F F^T / (H W) of [B, C, H, W] features: [B, C, C], in float32.

    Which channels fire together, wherever they do (Gatys et al. 2015, arXiv:1508.06576). The sum
    over H W is long, so it is taken in float32 whatever autocast would choose.
    """
    with torch.autocast(features.device.type, enabled=False):
        # Channels last, this is a view; flattening [B, C, H W] would copy, forth and back.
        flat = features.permute(0, 2, 3, 1).flatten(1, 2)  # [B, H W, C]
        if flat.is_cuda and flat.dtype == torch.bfloat16:
            return _HalfGram.apply(flat)  # type: ignore[no-any-return]
        flat = flat.float()
        return flat.transpose(1, 2) @ flat / flat.shape[1]


class _HalfGram(torch.autograd.Function):
    """The same of [B, H W, C] bfloat16 on the matrix units: the products of two bfloat16 are
    exact in float32, in which they are summed. Widening the features first gives the same sums,
    and takes a fifth of a whole training step on an H200."""

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
    """mean((F - Fc)^2) / mean(Fc^2): the distance of what VGG sees from what it saw in the
    photographs; [B, C, H, W] both, a scalar out."""
    features, target = features.float(), target.float()
    return (features - target).square().mean() / target.square().mean()


def style_loss(grams: Mapping[str, Tensor], targets: Mapping[str, Tensor]) -> Tensor:
    """||G - Gs||^2 / ||Gs||^2, summed over the layers of `targets`, averaged over the batch.

    `grams` are [B, C, C] and `targets` [1, C, C] for each layer; a scalar out.
    """
    layers = (
        (grams[layer] - target).square().sum((1, 2)).mean() / target.square().sum()
        for layer, target in targets.items()
    )
    return torch.stack(list(layers)).sum()


def total_variation(images: Tensor) -> Tensor:
    """The mean squared difference of neighboring pixels, across plus down, of [B, 3, H, W]
    images in 0-255; a scalar. Keeps checkerboards and sparkle out of flat regions."""
    across = (images[..., 1:] - images[..., :-1]).square().mean()
    down = (images[..., 1:, :] - images[..., :-1, :]).square().mean()
    return across + down
