"""Compares the native network with the published layers in float64, before its first use."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.jit.errors import BuildError
from kernels.network.dispatch import available, plan_for
from kernels.network.launchers import Network
from kernels.network.shapes import WITH_KERNELS, Dimensions

# The second shape is large enough for large tiles.
CONFIGS = (2, 37, 54), (1, 512, 544)
BLOCKS = 2
# The dtype of activations, and whether FP32 may be multiplied as TF32.
PRECISIONS = (torch.float16, False), (torch.float32, True), (torch.float32, False)
# In dB, for INT8, which reaches 23 on pictures of white noise.
ENOUGH_OF_INT8 = 15.0


def self_test(library: Network, device: torch.device) -> float:
    """Compare every backend that runs on a GPU with PyTorch in float64.

    The networks, full and lite, have BLOCKS residual blocks and random weights. Precisions are
    FP16, TF32 and FP32. INT8, which rounds more coarsely, must reach ENOUGH_OF_INT8.

    Return the worst PSNR except INT8's, in dB.

    Raises:
        BuildError: If no backend runs a network here, the library does not match this program, or
            INT8 is wrong.
    """
    worst: list[float] = []
    for name, wide in WITH_KERNELS.items():
        network = replace(wide, num_residual_blocks=BLOCKS)
        found = [
            psnr(network, shape, dtype, device, library, backend.name, tf32=tf32)
            for dtype, tf32 in PRECISIONS
            for backend in available(network, device, dtype, library)
            for shape in CONFIGS
        ]
        if not found:
            raise BuildError(f"no backend of the {name} network runs on this GPU")
        worst.append(min(found))
        int8 = [
            psnr(network, shape, torch.float16, device, library, backend.name, int8=True)
            for backend in available(network, device, torch.float16, library, int8=True)
            for shape in CONFIGS
        ]
        if int8 and not min(int8) > ENOUGH_OF_INT8:
            raise BuildError(
                f"self-test failed: the {name} network in INT8 is right to {min(int8):.0f} dB only"
            )
    return min(worst)


def psnr(
    network: Dimensions,
    shape: tuple[int, int, int],
    dtype: torch.dtype,
    device: torch.device,
    library: Network,
    backend: str,
    *,
    tf32: bool = False,
    int8: bool = False,
) -> float:
    """Return the PSNR in dB, against float64, of a backend's network with random weights.

    `backend` is a row of BACKENDS, or of OF_INT8.

    Raises:
        ValueError: If the backend does not run on the GPU.
    """
    generator = torch.Generator().manual_seed(0)
    weights = random_weights(network, generator)
    count, height, width = shape
    x = (torch.rand(count, 3, height, width, generator=generator) * 255).to(device)
    with torch.inference_mode():
        plan = plan_for(
            weights, network, shape, dtype, device, library, tf32=tf32, int8=int8, backend=backend
        )
        actual = plan(x.to(dtype)).double()
        exact = {name: weight.double().to(device) for name, weight in weights.items()}
        expected = reference(exact, network.num_residual_blocks, x)
    return agreement(actual, expected)


def agreement(actual: Tensor, expected: Tensor) -> float:
    """Return the power of a result over the power of its error, in dB; -inf for NaN."""
    error = float((actual - expected).square().mean() / expected.square().mean())
    if math.isnan(error):
        return -math.inf
    return -10 * math.log10(error) if error > 0 else math.inf


def reference(weights: Mapping[str, Tensor], blocks: int, x: Tensor) -> Tensor:
    """Run the published layers in the dtype of the weights, FP64, on pictures [N, 3, H, W]."""
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


def random_weights(network: Dimensions, generator: torch.Generator) -> dict[str, Tensor]:
    """Return a state dict that preserves the size of values, without biases that a norm cancels."""
    return {
        name: torch.randn(shape, generator=generator) / math.sqrt(math.prod(shape[1:]) or 1)
        for name, shape in _shapes(network).items()
    }


def _shapes(network: Dimensions) -> dict[str, tuple[int, ...]]:
    outer, middle, inner = network.widths
    end = network.end_kernel
    convolutions = {
        "conv1": (outer, 3, end), "conv2": (middle, outer, 3), "conv3": (inner, middle, 3),
        "deconv1": (middle, inner, 3), "deconv2": (outer, middle, 3), "deconv3": (3, outer, end),
    }  # fmt: skip
    norms = {"in1": outer, "in2": middle, "in3": inner, "in4": middle, "in5": outer}
    for number in range(1, network.num_residual_blocks + 1):
        for part in (1, 2):
            convolutions[f"res{number}.conv{part}"] = (inner, inner, 3)
            norms[f"res{number}.in{part}"] = inner
    shapes: dict[str, tuple[int, ...]] = {}
    for name, (out, into, side) in convolutions.items():
        shapes[f"{name}.conv2d.weight"] = (out, into, side, side)
    shapes["deconv3.conv2d.bias"] = (3,)
    for name, channels in norms.items():
        shapes[f"{name}.weight"] = shapes[f"{name}.bias"] = (channels,)
    return shapes
