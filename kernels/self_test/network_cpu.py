"""Compares the network on the CPU with the published layers in float64, before its first use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from kernels.network.cpu.launchers import CpuNetwork
from kernels.network.cpu.plan import CpuPlan
from kernels.network.shapes import WITH_KERNELS, NetworkShape
from kernels.self_test.network import BLOCKS, agreement, random_weights, reference

# The sides of the quarter-size activations have all remainders of a tile's side.
SIZES = (16, 16), (20, 40), (28, 36), (72, 100)


def self_test(library: CpuNetwork) -> float:
    """Return the worst PSNR in dB, against float64, of small networks with random weights."""
    networks = [replace(wide, num_residual_blocks=BLOCKS) for wide in WITH_KERNELS.values()]
    return min(psnr(library, network, size) for network in networks for size in SIZES)


def psnr(library: CpuNetwork, network: NetworkShape, size: tuple[int, int]) -> float:
    """Return the PSNR of a network with random weights on a random picture [H, W]."""
    generator = torch.Generator().manual_seed(0)
    weights = random_weights(network, generator)
    x = torch.rand(1, 3, *size, generator=generator) * 255

    def prepare(name: str, make: Callable[[Tensor], Tensor]) -> Tensor:
        return make(weights[name])

    with torch.inference_mode():
        actual = CpuPlan(library, network)(weights, prepare, x, lambda _: None).double()
        exact = {name: weight.double() for name, weight in weights.items()}
        expected = reference(exact, network.num_residual_blocks, x)
    return agreement(actual, expected)
