"""The training losses, in relative form: 0 is a perfect match, 1 the loss of all-zero features."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

# For the weave loss.
PERIOD = 3.0  # pixels: the strongest image left by repeated pixels of half the size
TAPS = 13  # of the filter for stripes of that period
LENGTH = 9  # pixels over which a stripe must be straight
LEAST = 0.1  # of 255 squared: the energy assumed for a style picture without any grain
LUMA = (0.299, 0.587, 0.114)  # of ITU-R BT.601


def gram(features: Tensor) -> Tensor:
    """Compute the Gram matrices G = F F^T / (H W) (Gatys et al. 2015, arXiv:1508.06576).

    The sum over H W is long, so it is computed in float32 even under autocast: [B, C, H, W] to
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
    """Gram matrices of [B, H W, C] bfloat16 on tensor cores; exact products, float32 sums.

    Converting the features first takes a fifth of a training step on an H200, for the same sums.
    """

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
    """Compute mean((F - Fc)^2) / mean(Fc^2) of two [B, C, H, W], a float32 scalar."""
    features, target = features.float(), target.float()
    return (features - target).square().mean() / target.square().mean()


def style_loss(grams: Mapping[str, Tensor], targets: Mapping[str, Tensor]) -> Tensor:
    """Compute the style loss ||G - Gs||^2 / ||Gs||^2, summed over layers, averaged over the batch.

    G is [B, C, C] per layer, Gs [1, C, C]; the result is a float32 scalar.
    """
    layers = (
        (grams[layer] - target).square().sum((1, 2)).mean() / target.square().sum()
        for layer, target in targets.items()
    )
    return torch.stack(list(layers)).sum()


def shrink(pictures: Tensor, scale: float) -> Tensor:
    """Scale [B, 3, H, W] down with an antialiasing filter."""
    if scale == 1:
        return pictures
    return F.interpolate(
        pictures, scale_factor=scale, mode="bilinear", antialias=True, align_corners=False
    )


def total_variation(images: Tensor) -> Tensor:
    """Compute the mean squared difference of neighboring pixels, horizontal plus vertical.

    It suppresses checkerboards and noise in flat regions of [B, 3, H, W] on 0-255.
    """
    across = (images[..., 1:] - images[..., :-1]).square().mean()
    down = (images[..., 1:, :] - images[..., :-1, :]).square().mean()
    return across + down


class WeaveLoss:
    """The loss max(0, E / Es - 1), summed over both axes.

    E is the energy of stripes about three pixels wide and at least nine long. Es is this energy of
    the style picture ([1, 3, H, W], RGB 0-255, at least 13 pixels on a side).

    A network that enlarges by repeating pixels can imitate the finest grain of a painting with
    stripes along the axes alone (Odena et al. 2016, doi:10.23915/distill.00003). The Gram matrices
    are then equal, but the eye sees a mesh. Without this loss, Wreck had 1.5 to 1.8 times the
    energy of its painting there, 6 dB more than a smooth spectrum.
    """

    def __init__(self, style: Tensor) -> None:
        with torch.no_grad():
            self._least = stripe_energy(style).clamp_min(LEAST)

    def __call__(self, result: Tensor) -> Tensor:
        """Compute the float32 loss of an output, [B, 3, H, W], RGB 0-255."""
        return F.relu(stripe_energy(result) / self._least - 1).sum()


def stripe_energy(images: Tensor) -> Tensor:
    """Compute the mean square of the luma after a filter for stripes.

    Maps [B, 3, H, W] float, RGB 0-255, at least 13 pixels on a side, to [2] float32, of 255
    squared: for vertical and for horizontal stripes.
    """
    with torch.autocast(images.device.type, enabled=False):
        weights = images.new_tensor(LUMA, dtype=torch.float32).view(1, 3, 1, 1)
        luma = (images.float() * weights).sum(1, keepdim=True)
        band = _band(luma)
        upright = F.avg_pool2d(F.conv2d(luma, band.view(1, 1, 1, -1)), (LENGTH, 1), stride=1)
        level = F.avg_pool2d(F.conv2d(luma, band.view(1, 1, -1, 1)), (1, LENGTH), stride=1)
        return torch.stack((upright.square().mean(), level.square().mean()))


def _band(like: Tensor) -> Tensor:
    """Return the taps of the filter: a cosine under a Hann window, without the mean."""
    at = torch.arange(TAPS, device=like.device, dtype=like.dtype) - TAPS // 2
    window = 0.5 + 0.5 * torch.cos(2 * math.pi * at / (TAPS + 1))
    taps = torch.cos(2 * math.pi * at / PERIOD) * window
    taps = taps - taps.mean()
    return taps / taps.abs().sum()
