"""The weave loss: fine stripes along the axes, beyond those that the style picture has itself."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

PERIOD = 3.0  # pixels: where repeated pixels of half the size leave their strongest image
TAPS = 13  # of the filter that passes stripes of that period
LENGTH = 9  # pixels over which a stripe has to be straight
LEAST = 0.1  # of 255 squared: the energy that a style picture without any grain is taken to have
LUMA = (0.299, 0.587, 0.114)  # of ITU-R BT.601


class WeaveLoss:
    """The loss sum over both axes of max(0, E / Es - 1), with E the energy of stripes about three
    pixels wide and at least nine long, and Es that of the style picture.

    A network that enlarges by repeating pixels can imitate the grain of a painting at the finest
    scale along the axes alone (Odena et al. 2016, doi:10.23915/distill.00003): the Gram matrices
    are the same, and the eye sees a mesh. Without this loss Wreck had 1.5 to 1.8 times the energy
    of its painting there, 6 dB more than a smooth spectrum.

    Args:
        style: The style picture, [1, 3, H, W] float, RGB 0-255, at least 13 pixels on a side.
    """

    def __init__(self, style: Tensor) -> None:
        with torch.no_grad():
            self._least = stripe_energy(style).clamp_min(LEAST)

    def __call__(self, result: Tensor) -> Tensor:
        """Compute the loss of a network's output, [B, 3, H, W] float, RGB 0-255.

        Returns:
            A float32 scalar: 0 where the style picture has as many stripes, or more.
        """
        return F.relu(stripe_energy(result) / self._least - 1).sum()


def stripe_energy(images: Tensor) -> Tensor:
    """The mean square of what is left of the luma after a filter for stripes.

    Args:
        images: [B, 3, H, W] float, RGB 0-255, at least 13 pixels on a side.

    Returns:
        [2] float32, of 255 squared: of vertical and of horizontal stripes.
    """
    with torch.autocast(images.device.type, enabled=False):
        weights = images.new_tensor(LUMA, dtype=torch.float32).view(1, 3, 1, 1)
        luma = (images.float() * weights).sum(1, keepdim=True)
        band = _band(luma)
        upright = F.avg_pool2d(F.conv2d(luma, band.view(1, 1, 1, -1)), (LENGTH, 1), stride=1)
        level = F.avg_pool2d(F.conv2d(luma, band.view(1, 1, -1, 1)), (1, LENGTH), stride=1)
        return torch.stack((upright.square().mean(), level.square().mean()))


def _band(like: Tensor) -> Tensor:
    """The taps of the filter: a cosine under a Hann window, without the mean."""
    at = torch.arange(TAPS, device=like.device, dtype=like.dtype) - TAPS // 2
    window = 0.5 + 0.5 * torch.cos(2 * math.pi * at / (TAPS + 1))
    taps = torch.cos(2 * math.pi * at / PERIOD) * window
    taps = taps - taps.mean()
    return taps / taps.abs().sum()
