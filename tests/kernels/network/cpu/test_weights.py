"""The library transforms filters as float64 does, and lays them out in the processor's panels."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from kernels.network.cpu import weights
from kernels.network.cpu.launchers import CpuNetwork
from kernels.weight_transforms import phase_weight
from tests.helpers.daily import matrix
from tests.kernels.network.cpu.native import LEVELS, network, threads_of_torch

PANELS = {"x86-64-v2": 8, "x86-64-v3": 16, "x86-64-v4": 32}
WIDTHS = [(16, 3), (48, 16), (64, 19), (80, 33), (128, 128)]  # outputs, inputs
Make = Callable[[Tensor, CpuNetwork], Tensor]
_ROOT = 2**0.5
_F43, _F42 = (0, _ROOT / 2, -_ROOT / 2, _ROOT, -_ROOT), (0.5, -0.5, 1.25, -1.25)


def interpolation(points: tuple[float, ...], taps: int) -> Tensor:
    """Return the matrix that evaluates a filter at points, and its last tap, as Winograd scales."""
    matrix = torch.zeros(len(points) + 1, taps, dtype=torch.float64)
    for row, point in enumerate(points):
        scale = math.prod(point - other for other in points if other != point)
        for power in range(taps):
            matrix[row, power] = point**power / scale
    matrix[-1, -1] = 1
    return matrix


def expected_of(kind: str, weight: Tensor) -> Tensor:
    """Return [positions, C, columns] in float64."""
    if kind == "enlarging":
        return applied(interpolation(_F42, 2), phase_weight(weight.double()))
    if kind == "plain":
        return applied(interpolation(_F43, 3), weight.double())
    rows = torch.tensor(
        [[-1, 0, 0], [0.5, 0, 0.5], [0.5, 0, -0.5], [0, 0, 1], [0, 1, 0], [0, 1, 0], [0, 1, 0]]
    )
    return applied(rows.double(), weight.double())


def applied(rows: Tensor, weight: Tensor) -> Tensor:
    both = rows @ weight @ rows.T  # [K, C, side, side]
    return both.flatten(2).permute(2, 1, 0)


def unpacked(transformed: Tensor, positions: int, inputs: int, panel: int) -> Tensor:
    """Return [positions, C, columns] from panels."""
    of_positions = transformed.view(positions, -1)
    panels = of_positions.split(panel * inputs, 1)
    return torch.cat([each.view(positions, inputs, -1) for each in panels], 2)


MAKERS: dict[str, Make] = {
    "plain": weights.plain_weights,
    "halving": weights.halving_weights,
    "enlarging": weights.enlarging_weights,
}


@matrix({"level": LEVELS, "kind": MAKERS, "widths": WIDTHS})
def test_filters_are_transformed_in_float64_and_rounded_once(level, kind, widths):
    native = network(level)
    weight = torch.randn(*widths, 3, 3, generator=torch.Generator().manual_seed(widths[1]))
    expected = expected_of(kind, weight)
    made = unpacked(MAKERS[kind](weight, native), len(expected), widths[1], PANELS[level])
    # The order of sums in FP64 may decide which of two FP32 numbers is the nearer one.
    assert (made.double() - expected).abs().max() <= 2**-24 * expected.abs().max()
    assert (made == expected.float()).float().mean() > 0.999


@pytest.mark.parametrize("level", LEVELS)
def test_the_number_of_threads_changes_no_weight(level):
    native = network(level)
    weight = torch.randn(48, 33, 3, 3, generator=torch.Generator().manual_seed(0))
    results = []
    for threads in (1, 2, 3, 8):
        with threads_of_torch(threads):
            results.append(weights.plain_weights(weight, native))
    assert all(torch.equal(results[0], other) for other in results)


def test_filters_of_any_layout_are_read():
    native = network("x86-64-v2")
    weight = torch.randn(32, 16, 3, 3, generator=torch.Generator().manual_seed(0))
    beside = weight.contiguous(memory_format=torch.channels_last)
    made = weights.plain_weights(beside, native)
    assert torch.equal(made, weights.plain_weights(weight, native))
