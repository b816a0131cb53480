"""Finds the ranges of the values that a network multiplies, on pictures it makes itself.

Eight bits have no exponent, so the range of each input channel of a layer is found beforehand, once
for a set of weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.network.shapes import Dimensions

SIDE = 256  # of the pictures, in pixels
LEAST = 0.02  # share of a layer's largest range, for a channel that no picture reaches


def ranges(
    weights: Mapping[str, Tensor], network: Dimensions, device: torch.device
) -> dict[str, Tensor]:
    """Return the input ranges of every 3x3 convolution of a network, from a published state dict.

    By convolution name, such as "res1.conv1": [Cin] FP32 on `device`, the largest absolute value
    assumed for each channel. All are NaN if a value of the network is not finite.
    """
    found: dict[str, Tensor] = {}
    exact = {name: value.detach().to(device, torch.float32) for name, value in weights.items()}
    with torch.no_grad():
        _run(exact, network.num_residual_blocks, pictures().to(device), found)
    finite = torch.stack([value.isfinite().all() for value in found.values()]).all()
    return {name: value.where(finite, torch.nan) for name, value in found.items()}


@cache
def pictures() -> Tensor:
    """Return the calibration pictures, [N, 3, SIDE, SIDE] FP32, 0-255; cached: do not modify them.

    They show noise of several scales in color and in gray, like photographs, with edges and with
    black and white areas. The last two have one color with little in front of it: if almost nothing
    varies, a norm amplifies the rest, and some channels reach several times as far.
    """
    made = torch.Generator().manual_seed(8)

    def noise(channels: int, falloff: float) -> Tensor:
        total = torch.zeros(1, channels, SIDE, SIDE)
        for octave in range(2, 9):
            grid = torch.randn(1, channels, 2**octave, 2**octave, generator=made)
            wide = F.interpolate(grid, SIDE, mode="bicubic", align_corners=False)
            total += wide * 2.0 ** (-falloff * octave)
        return total / total.std()

    found: list[Tensor] = []
    for falloff in (0.5, 1.0, 1.5):
        gray, color = noise(1, falloff), noise(3, falloff)
        found.append(118 + 55 * (gray + 0.5 * color))
        # The same in front of another picture, so that the border is an edge.
        behind = 118 + 90 * noise(3, 1.8)
        found.append(torch.where(noise(1, 1.2) > 0.3, found[-1], behind))
    return torch.cat([*found, *_flat()]).clamp(0, 255)


def _flat() -> list[Tensor]:
    """Draw an evening sky with a moon over a dark skyline, and paper with a few lines."""
    y, x = torch.meshgrid(*[torch.arange(float(SIDE))] * 2, indexing="ij")

    def color(*channels: float) -> Tensor:
        return torch.tensor(channels).view(1, 3, 1, 1)

    moon = (y - 100).square() + (x - 90).square() < 100
    skyline = y > 225 + 10 * (x / 7).sin().clamp(max=0)
    sky = torch.where(moon, color(255, 250, 240), color(50, 60, 110))
    lines = ((y - x / 3 - 60).abs() < 2) | ((y - 140).abs() < 1) | ((x - 190).abs() < 3)
    paper = torch.where(lines, color(20, 30, 60), color(245, 243, 238))
    return [torch.where(skyline, color(5, 10, 15), sky), paper]


def _run(weights: Mapping[str, Tensor], blocks: int, x: Tensor, found: dict[str, Tensor]) -> None:
    def conv(x: Tensor, name: str, stride: int = 1, enlarge: bool = False) -> Tensor:
        weight = weights[f"{name}.conv2d.weight"]
        if weight.shape[-1] == 3:
            largest = x.abs().amax((0, 2, 3))
            found[name] = torch.maximum(largest, largest.max() * LEAST)
        x = F.interpolate(x, scale_factor=2) if enlarge else x
        return F.conv2d(F.pad(x, [weight.shape[-1] // 2] * 4, mode="reflect"), weight, None, stride)

    def norm(x: Tensor, name: str) -> Tensor:
        return F.instance_norm(x, None, None, weights[f"{name}.weight"], weights[f"{name}.bias"])

    for number, stride in ((1, 1), (2, 2), (3, 2)):
        x = norm(conv(x, f"conv{number}", stride), f"in{number}").relu()
    for number in range(1, blocks + 1):
        y = norm(conv(x, f"res{number}.conv1"), f"res{number}.in1").relu()
        x = x + norm(conv(y, f"res{number}.conv2"), f"res{number}.in2")
    x = norm(conv(x, "deconv1", enlarge=True), "in4").relu()
    conv(x, "deconv2", enlarge=True)
