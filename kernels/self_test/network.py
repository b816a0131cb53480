"""Compares the native network with the published layers in float64, before it is first used."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.jit.errors import BuildError
from kernels.network.dispatch import available, plan_for
from kernels.network.launchers import Network

# The second shape is large enough for large tiles.
CONFIGS = (2, 37, 54), (1, 512, 544)


def self_test(library: Network, device: torch.device) -> float:
    """Compare every backend that runs on a GPU with PyTorch in float64.

    The network has two residual blocks and random weights; precisions are FP16 and FP32.

    Args:
        library: The network's library on that GPU.
        device: A CUDA device.

    Returns:
        The worst PSNR, in dB.

    Raises:
        BuildError: No backend runs here, or the library does not match this program.
    """
    found = [
        _psnr(shape, dtype, device, library, backend.name)
        for dtype in (torch.float16, torch.float32)
        for backend in available(device, dtype, library)
        for shape in CONFIGS
    ]
    if not found:
        raise BuildError("no backend of the network runs on this GPU")
    return min(found)


def _psnr(
    shape: tuple[int, int, int],
    dtype: torch.dtype,
    device: torch.device,
    library: Network,
    backend: str,
) -> float:
    generator = torch.Generator().manual_seed(0)
    weights = {
        name: torch.randn(shape, generator=generator) / math.sqrt(math.prod(shape[1:]) or 1)
        for name, shape in _shapes(2).items()
    }
    count, height, width = shape
    x = (torch.rand(count, 3, height, width, generator=generator) * 255).to(device)
    with torch.inference_mode():
        plan = plan_for(weights, 2, shape, dtype, device, library, backend=backend)
        actual = plan(x.to(dtype)).double()
        exact = {name: weight.double().to(device) for name, weight in weights.items()}
        expected = _reference(exact, 2, x)
    error = float((actual - expected).square().mean() / expected.square().mean())
    if math.isnan(error):
        return -math.inf
    return -10 * math.log10(error) if error > 0 else math.inf


def _reference(weights: Mapping[str, Tensor], blocks: int, x: Tensor) -> Tensor:
    """The network layer by layer, as published."""
    height, width = x.shape[-2:]

    def conv(x: Tensor, name: str, stride: int = 1, enlarge: bool = False) -> Tensor:
        weight = weights[f"{name}.conv2d.weight"]
        x = F.interpolate(x, scale_factor=2) if enlarge else x
        x = F.pad(x, [weight.shape[-1] // 2] * 4, mode="reflect")
        return F.conv2d(x, weight, weights.get(f"{name}.conv2d.bias"), stride)

    def norm(x: Tensor, name: str) -> Tensor:
        return F.instance_norm(x, None, None, weights[f"{name}.weight"], weights[f"{name}.bias"])

    x = F.pad(x.double(), (0, -width % 4, 0, -height % 4), mode="reflect")
    for number, stride in ((1, 1), (2, 2), (3, 2)):
        x = norm(conv(x, f"conv{number}", stride), f"in{number}").relu()
    for number in range(1, blocks + 1):
        y = norm(conv(x, f"res{number}.conv1"), f"res{number}.in1").relu()
        x = x + norm(conv(y, f"res{number}.conv2"), f"res{number}.in2")
    x = norm(conv(x, "deconv1", enlarge=True), "in4").relu()
    x = norm(conv(x, "deconv2", enlarge=True), "in5").relu()
    return conv(x, "deconv3")[..., :height, :width]


def _shapes(blocks: int) -> dict[str, tuple[int, ...]]:
    convolutions = {
        "conv1": (32, 3, 9), "conv2": (64, 32, 3), "conv3": (128, 64, 3),
        "deconv1": (64, 128, 3), "deconv2": (32, 64, 3), "deconv3": (3, 32, 9),
    }  # fmt: skip
    norms = {"in1": 32, "in2": 64, "in3": 128, "in4": 64, "in5": 32}
    for number in range(1, blocks + 1):
        for part in (1, 2):
            convolutions[f"res{number}.conv{part}"] = (128, 128, 3)
            norms[f"res{number}.in{part}"] = 128
    shapes: dict[str, tuple[int, ...]] = {}
    for name, (out, into, side) in convolutions.items():
        shapes[f"{name}.conv2d.weight"] = (out, into, side, side)
    shapes["deconv3.conv2d.bias"] = (3,)
    for name, channels in norms.items():
        shapes[f"{name}.weight"] = shapes[f"{name}.bias"] = (channels,)
    return shapes
