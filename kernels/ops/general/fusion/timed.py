"""PyTorch equivalents of the norms and reductions, and arguments to time them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.table.parts import Timed, seeded

_GROUPS = 8
# 16 images of 64 channels, whose sides are 1/32 of a square's
_IMAGES, _CHANNELS, _DOWN = 16, 64, 32


def _layer_norm(activation: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    def eager(
        x: Tensor, shape: list[int], weight: Tensor | None, bias: Tensor | None, eps: float = 1e-5
    ) -> Tensor:
        return activation(F.layer_norm(x, shape, weight, bias, eps))

    return eager


def _rms_gelu(x: Tensor, shape: list[int], weight: Tensor | None, eps: float = 1e-6) -> Tensor:
    return F.gelu(F.rms_norm(x, shape, weight, eps))


def _add_norm(
    x: Tensor,
    residual: Tensor,
    shape: list[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float = 1e-5,
    kind: str = "layer",
) -> tuple[Tensor, Tensor]:
    total = x + residual
    if kind == "layer":
        return total, F.layer_norm(total, shape, weight, bias, eps)
    normed = F.rms_norm(total, shape, weight, eps)
    return total, normed if bias is None else normed + bias


def _batch_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor | None,
    var: Tensor | None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    return F.relu(F.batch_norm(x, mean, var, weight, bias, training, momentum, eps))


def _group_norm(
    x: Tensor,
    shift: Tensor | None,
    groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    total = x if shift is None else x + shift.view(-1, *(1,) * (x.dim() - 2))
    return F.relu(F.group_norm(total, groups, weight, bias, eps))


def _sum_squared(x: Tensor, dim: list[int] | None = None, keepdim: bool = False) -> Tensor:
    return x.square().sum(dim, keepdim=keepdim)


def _mean_abs(x: Tensor, dim: list[int] | None = None, keepdim: bool = False) -> Tensor:
    return x.abs().mean(dim, keepdim=keepdim)


def _normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=seeded(seed))


def _rows(rows: int, columns: int) -> list[Any]:
    weight, bias = (_normal(seed, columns) for seed in (1, 2))
    return [_normal(0, rows, columns), [columns], weight, bias]


def _rms_rows(rows: int, columns: int) -> list[Any]:
    return _rows(rows, columns)[:3]


def _sums(rows: int, columns: int) -> list[Any]:
    x, *rest = _rows(rows, columns)
    return [x, _normal(3, rows, columns), *rest]


def _channels(rows: int, columns: int) -> list[Any]:
    size = (max(1, rows // _DOWN), max(1, columns // _DOWN))
    of_channels = [_normal(seed, _CHANNELS) for seed in (1, 2)]
    return [_normal(0, _IMAGES, _CHANNELS, *size), *of_channels, None, None, True]


def _groups(rows: int, columns: int) -> list[Any]:
    x, weight, bias, *_ = _channels(rows, columns)
    return [x, _normal(3, _CHANNELS), _GROUPS, weight, bias]


def _reduced(rows: int, columns: int) -> list[Any]:
    return [_normal(0, rows, columns), [1]]


TIMED = {
    "layer_norm_relu": Timed(_layer_norm(F.relu), _rows),
    "layer_norm_gelu": Timed(_layer_norm(F.gelu), _rows),
    "rms_norm_gelu": Timed(_rms_gelu, _rms_rows),
    "add_norm": Timed(_add_norm, _sums),
    "batch_norm_relu": Timed(_batch_norm, _channels),
    "group_norm_relu": Timed(_group_norm, _groups),
    "sum_squared": Timed(_sum_squared, _reduced),
    "mean_abs": Timed(_mean_abs, _reduced),
}
