"""The full network in float64 with integer products, in PyTorch's own operations."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.network.sm80_int8 import follows_sum, rounded
from kernels.weight_transforms import phase_weight


def paint(
    weights: Mapping[str, Tensor],
    ranges: Mapping[str, Tensor] | None,
    blocks: int,
    x: Tensor,
    exact: tuple[str, ...] = ("conv2",),
) -> Tensor:
    """Paint pictures with a network whose 3x3 layers multiply integers.

    Args:
        weights: A published state dict.
        ranges: The input ranges of each 3x3 layer, by its name; None disables integers.
        blocks: The number of residual blocks.
        x: [N, 3, H, W], 0-255, H and W multiples of 4.
        exact: The 3x3 layers that do not multiply integers.
    """

    def conv(x: Tensor, name: str, stride: int = 1, enlarge: bool = False) -> Tensor:
        weight, factor = weights[f"{name}.conv2d.weight"], None
        if enlarge:
            weight = phase_weight(weight)
        if ranges is not None and name in ranges and name not in exact:
            levels = 127 if follows_sum(name) else 255
            x = (x / ranges[name].to(x.dtype).view(1, -1, 1, 1) * levels).round()
            x = x.clamp(-levels if levels == 127 else 0, levels)
            weight, factor = rounded(weight, ranges[name], levels)
        pad = [1 if enlarge else weight.shape[-1] // 2] * 4
        x = F.pad(x, pad, mode="replicate" if enlarge else "reflect")
        y = F.conv2d(x, weight.to(x.dtype), None, stride)
        if factor is not None:
            y = y * factor.to(x.dtype).view(1, -1, 1, 1)
        return _interleaved(y) if enlarge else y

    def norm(x: Tensor, name: str) -> Tensor:
        scale, bias = (weights[f"{name}.{part}"].to(x.dtype) for part in ("weight", "bias"))
        return F.instance_norm(x, None, None, scale, bias)

    for number, stride in ((1, 1), (2, 2), (3, 2)):
        x = norm(conv(x, f"conv{number}", stride), f"in{number}").relu()
    for number in range(1, blocks + 1):
        y = norm(conv(x, f"res{number}.conv1"), f"res{number}.in1").relu()
        x = x + norm(conv(y, f"res{number}.conv2"), f"res{number}.in2")
    x = norm(conv(x, "deconv1", enlarge=True), "in4").relu()
    x = norm(conv(x, "deconv2", enlarge=True), "in5").relu()
    return conv(x, "deconv3") + weights["deconv3.conv2d.bias"].to(x.dtype).view(1, -1, 1, 1)


def _interleaved(y: Tensor) -> Tensor:
    """Rearrange phases [N, 4 C, H + 1, W + 1] to [N, C, 2 H, 2 W]."""
    count, channels, height, width = y.shape
    out = y.new_empty(count, channels // 4, 2 * (height - 1), 2 * (width - 1))
    for phase, part in enumerate(y.chunk(4, 1)):
        a, b = divmod(phase, 2)
        out[..., a::2, b::2] = part[..., a : a + height - 1, b : b + width - 1]
    return out


def psnr(actual: Tensor, expected: Tensor) -> float:
    """Return the PSNR in dB of pictures of 0-255."""
    error = (actual.double().clamp(0, 255) - expected.double().clamp(0, 255)).square().mean()
    return float(10 * torch.log10(255**2 / error))
