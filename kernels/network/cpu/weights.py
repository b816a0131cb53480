"""Transforms the weights of convolutions for network_cpu.cpp in FP64, and rounds them once.

Winograd's F(M, R) evaluates a filter of R taps at M + R - 1 points (Lavin and Gray, 2016,
arXiv:1509.09308). The points are the same as in transforms.h.
"""

from __future__ import annotations

import functools
import math

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.network.cpu.launchers import CpuNetwork
from kernels.weight_transforms import PHASE_TAPS

CELL = 3  # side of the nested filters of the first and the last layer
EIGHT = 8  # channels that the last layer sums in parallel

_ROOT = math.sqrt(2.0)
_F43, _F42 = (0.0, _ROOT / 2, -_ROOT / 2, _ROOT, -_ROOT), (0.5, -0.5, 1.25, -1.25)
_F32 = (0.0, 1.0, -1.0)


def plain_rows() -> Tensor:
    """Return the transform of three taps by F(4, 3), [6, 3], in FP64."""
    return _evaluation(_F43, 3)


def plain_weights(weight: Tensor, native: CpuNetwork) -> Tensor:
    """Transform [K, C, 3, 3] for F(4x4, 3x3): 36 matrices of [C, K]."""
    return native.transformed(weight, plain_rows()[None])


def tap_sums(weight: Tensor) -> Tensor:
    """Sum the taps of each filter [K, C, R, R]; return [C, K] in FP32."""
    return weight.double().sum((2, 3)).T.float().contiguous()


def enlarging_weights(weight: Tensor, native: CpuNetwork) -> Tensor:
    """Transform [K, C, 3, 3], as four phases of F(4x4, 2x2): 25 matrices of [C, 4 K]."""
    return native.transformed(weight, phase_rows())


def halving_weights(weight: Tensor, native: CpuNetwork) -> Tensor:
    """Transform [K, C, 3, 3] for stride 2: 49 matrices of [C, K]."""
    return native.transformed(weight, _halving()[None])


def first_weights(weight: Tensor, native: CpuNetwork) -> Tensor:
    """Transform [K, 3, R, R], cut into 3x3 filters: 36 matrices of [3 cells^2, K]."""
    return plain_weights(_cells(weight).flatten(1, 3), native)


def last_weights(weight: Tensor) -> Tensor:
    """Transform [3, C, R, R], cut into 3x3 filters, for F(3x3, 3x3).

    Returns [25, cells down, cells across, C / 8, 3, 8] in FP32, flat.
    """
    rows = _evaluation(_F42, CELL)
    transformed = (rows @ _cells(weight).double() @ rows.T).flatten(-2)  # [3, C, down, across, 25]
    colors, channels, *cells = transformed.shape
    by_eights = transformed.reshape(colors, channels // EIGHT, EIGHT, *cells)
    return by_eights.permute(5, 3, 4, 1, 0, 2).float().flatten()


@functools.cache
def phase_rows() -> Tensor:
    """Return the transform of three taps for both phases of an enlarged line, [2, 5, 3]."""
    return _evaluation(_F42, 2) @ torch.tensor(PHASE_TAPS, dtype=torch.float64)


@functools.cache
def _halving() -> Tensor:
    """Return the transform of three taps for every second pixel, [7, 3]."""
    outer = _evaluation(_F32, 2)  # of the first and the last tap; the middle one stays as it is
    rows = torch.zeros(7, 3, dtype=torch.float64)
    rows[:4, 0], rows[:4, 2], rows[4:, 1] = outer[:, 0], outer[:, 1], 1
    return rows


@functools.cache
def _evaluation(points: tuple[float, ...], taps: int) -> Tensor:
    rows = [
        [point**power / math.prod(point - other for other in points if other != point)
         for power in range(taps)]
        for point in points
    ]  # fmt: skip
    at_infinity = [float(power == taps - 1) for power in range(taps)]
    return torch.tensor([*rows, at_infinity], dtype=torch.float64)


def _cells(weight: Tensor) -> Tensor:
    """Cut filters [K, C, R, R] into [K, C, cells, cells, 3, 3], padded with zeros."""
    side = weight.shape[-1]
    missing = -side % CELL
    padded = F.pad(weight, (0, missing, 0, missing))
    return padded.unfold(2, CELL, CELL).unfold(3, CELL, CELL)
