"""Random changes of the colors of style pictures, and noise in flat areas of photographs."""

from __future__ import annotations

import functools
import math

import torch
import torch.nn.functional as F
from torch import Tensor

# RGB to luma and two chroma axes (YIQ), in which a hue is an angle.
_YIQ = ((0.299, 0.587, 0.114), (0.5959, -0.2746, -0.3213), (0.2115, -0.5227, 0.3112))
SATURATION = 0.4  # largest relative change
CONTRAST = 0.25  # largest relative change
BRIGHTNESS = 20.0  # largest change, of 255
FLAT = 18.0  # local standard deviation, of 255, from which an area is not flat
NEIGHBORS = 11  # side of the window of the local deviation, in pixels
GRAINS = (3, 8)  # pixels across: the two bands of the texture noise
KEPT = 0.86  # of the deviation of white noise, after a bicubic enlargement


def jitter_colors(pictures: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """Rotate hues by any angle and change saturation, contrast and brightness, at random.

    Each picture, [B, 3, H, W] float32, RGB 0-255, is changed with probability `share`. The
    generator is on their device; the result is clamped to 0-255.
    """
    count, device = len(pictures), pictures.device
    draw = torch.rand(5, count, generator=generator, device=device)
    angle = 2 * math.pi * draw[0]
    saturation = 1 + SATURATION * (2 * draw[1] - 1)
    turn = torch.zeros(count, 3, 3, device=device)
    turn[:, 0, 0] = 1.0
    turn[:, 1, 1] = turn[:, 2, 2] = saturation * angle.cos()
    turn[:, 2, 1] = saturation * angle.sin()
    turn[:, 1, 2] = -turn[:, 2, 1]
    to_yiq, to_rgb = _matrices(device)
    matrix = to_rgb @ turn @ to_yiq * (1 + CONTRAST * (2 * draw[2] - 1))[:, None, None]
    flat = pictures.flatten(2) - 127.5
    changed = (matrix @ flat + 127.5 + (BRIGHTNESS * (2 * draw[3] - 1))[:, None, None]).clamp(
        0, 255
    )
    chosen = (draw[4] < share)[:, None, None]
    return torch.where(chosen, changed, flat + 127.5).view_as(pictures)


@functools.cache  # creating them on a GPU waits for it
def _matrices(device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the matrices from RGB to YIQ and back, [3, 3] each."""
    to_yiq = torch.tensor(_YIQ)
    return to_yiq.to(device), to_yiq.inverse().to(device)


def add_texture(
    pictures: Tensor, share: float, deviation: float, generator: torch.Generator
) -> Tensor:
    """Add gray noise of two bandwidths to flat areas, in a random amount per picture.

    Of [B, 3, H, W] float32, RGB 0-255, `share` receive noise, of a standard deviation of at most
    `deviation` of 255; the result is clamped. The generator is on their device.
    """
    count, _, height, width = pictures.shape
    draw = torch.rand(3, count, 1, 1, 1, generator=generator, device=pictures.device)
    noise = torch.zeros(count, 1, height, width, device=pictures.device)
    for grain, weight in zip(GRAINS, (draw[1], 1 - draw[1]), strict=True):
        size = (height // grain + 2, width // grain + 2)
        grains = torch.randn(count, 1, *size, generator=generator, device=pictures.device)
        band = F.interpolate(grains, (height, width), mode="bicubic", align_corners=False)
        noise += weight * band / KEPT
    strength = deviation * draw[2] * (draw[0] < share)
    return (pictures + strength * flatness(pictures) * noise).clamp_(0, 255)


def flatness(pictures: Tensor) -> Tensor:
    """Measure how flat each pixel's surroundings are, [B, 3, H, W] on 0-255 to [B, 1, H, W].

    1 if the luma is constant, 0 from a local deviation of FLAT on.
    """
    luma = pictures.mean(1, keepdim=True)
    half = NEIGHBORS // 2

    def mean(x: Tensor) -> Tensor:
        padded = F.pad(x, (half,) * 4, mode="reflect")
        return F.avg_pool2d(padded, NEIGHBORS, stride=1)

    variance = mean(luma.square()) - mean(luma).square()
    return (1 - variance.clamp_min(0).sqrt() / FLAT).clamp_min(0)
