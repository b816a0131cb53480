"""Compares the network on the CPU with the published layers in float64, before its first use."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from kernels.network.cpu.launchers import CpuNetwork
from kernels.network.cpu.plan import CpuPlan, Prepare
from kernels.network.shapes import WITH_KERNELS, NetworkShape
from kernels.self_test.network import BLOCKS, agreement, random_weights, reference

# The sides of the quarter-size activations have all remainders of a tile's side.
SIZES = (16, 16), (20, 40), (28, 36), (72, 100)
ODD = 33, 46  # a picture that is padded and cropped


def self_test(library: CpuNetwork) -> float:
    """Return the worst PSNR in dB, against float64, of small networks with random weights.

    It is -inf if a picture in bytes is not exactly the rounded one.
    """
    networks = [replace(wide, num_residual_blocks=BLOCKS) for wide in WITH_KERNELS.values()]
    if not all(rounds(library, network) for network in networks):
        return -math.inf
    return min(psnr(library, network, size) for network in networks for size in (*SIZES, ODD))


def psnr(library: CpuNetwork, network: NetworkShape, size: tuple[int, int]) -> float:
    """Return the PSNR of a network with random weights on a random picture [H, W]."""
    generator = torch.Generator().manual_seed(0)
    weights = random_weights(network, generator)
    x = torch.rand(1, 3, *size, generator=generator) * 255
    with torch.inference_mode():
        plan = CpuPlan(library, network)
        actual = plan(weights, _prepare(weights), x, _unmarked).double()
        exact = {name: weight.double() for name, weight in weights.items()}
        expected = reference(exact, network.num_residual_blocks, x)
    return agreement(actual, expected)


def rounds(library: CpuNetwork, network: NetworkShape) -> bool:
    """Return whether the network on bytes gives the rounded floats and their limits."""
    generator = torch.Generator().manual_seed(0)
    weights = random_weights(network, generator)
    weights["deconv3.conv2d.weight"] *= 200  # some values below 0, and some above 255
    frames = torch.randint(0, 256, (1, *ODD, 3), generator=generator, dtype=torch.uint8)
    with torch.inference_mode():
        plan, prepare = CpuPlan(library, network), _prepare(weights)
        painted, limits = plan.paint_bytes(weights, prepare, frames, _unmarked)
        raw = plan(weights, prepare, frames.permute(0, 3, 1, 2).float(), _unmarked)
    rounded = (raw.permute(0, 2, 3, 1).clamp(0, 255) + 0.5).to(torch.uint8)
    return torch.equal(painted, rounded) and torch.equal(limits[0], torch.stack(raw.aminmax()))


def _prepare(weights: Mapping[str, Tensor]) -> Prepare:
    return lambda name, make: make(weights[name])


def _unmarked(_layer: str) -> None:
    """Ignore the name of a layer."""
