"""The elementwise operations for any model against PyTorch's calls one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from app.commands.bench.operation_case import Case
from kernels.ops import (
    add_relu,
    add_sigmoid,
    bias_gelu,
    gelu_dropout,
    mish_scale,
    mul_tanh,
    multiply_relu,
    prelu_bias,
    swish_multiply,
)

OPERATIONS = (
    "add_relu", "multiply_relu", "add_sigmoid", "mul_tanh", "bias_gelu", "gelu_dropout",
    "swish_multiply", "mish_scale", "prelu_bias", "elementwise_backward",
)  # fmt: skip
DTYPES = {"FP32": torch.float32, "FP16": torch.float16, "BF16": torch.bfloat16}
SIDE = 2048
SIDE_ON_GPU = 4096  # 64 MiB in FP32
DROPOUT = 0.1

Eager = Callable[..., Tensor]


def cases(device: torch.device) -> Iterator[Case]:
    """Each operation on a square in each precision, on a GPU on a large one as well."""
    for side in (SIDE, SIDE_ON_GPU) if device.type == "cuda" else (SIDE,):
        for precision, dtype in DTYPES.items():
            yield from _square(device, precision, dtype, side)


def _square(device: torch.device, precision: str, dtype: torch.dtype, side: int) -> Iterator[Case]:
    generator = torch.Generator().manual_seed(side)
    x, y = (torch.randn(side, side, generator=generator).to(device, dtype) for _ in range(2))
    row = torch.randn(side, generator=generator).to(device, dtype)
    alpha = torch.full((1,), 0.25).to(row)
    state = torch.tensor([side, 1], device=device)
    case = partial(_case, precision, side)
    yield case("add_relu", lambda x, y: torch.relu(x + y), add_relu, x, y)
    yield case("multiply_relu", lambda x, y: torch.relu(x * y), multiply_relu, x, y)
    yield case("add_sigmoid", lambda x, y: torch.sigmoid(x + y), add_sigmoid, x, y)
    yield case("mul_tanh", lambda x, y: torch.tanh(x * y), mul_tanh, x, y)
    yield case("bias_gelu", lambda x, bias: F.gelu(x + bias), bias_gelu, x, row)
    yield case("swish_multiply", lambda x, gate: F.silu(x) * gate, swish_multiply, x, y)
    yield case("mish_scale", lambda x, scale: F.mish(x) * scale, mish_scale, x, row)
    yield case("prelu_bias", lambda x, a, bias: F.prelu(x + bias, a), prelu_bias, x, alpha, row)
    yield _dropout(precision, side, x, state)


def _case(precision: str, side: int, name: str, eager: Eager, ours: Eager, *given: Tensor) -> Case:
    return Case(
        name, f"{side}x{side}", precision, "rows",
        partial(eager, *given),
        lambda _: ours(*given),
        lambda: eager(*(each.double() for each in given)),
    )  # fmt: skip


def _dropout(precision: str, side: int, x: Tensor, state: Tensor) -> Case:
    """PyTorch draws other numbers, so that errors are taken under the mask of ours."""
    ones = torch.full_like(x, 100.0)  # where GELU is the identity
    factors = gelu_dropout(ones, DROPOUT, True, state) / 100
    kept = (factors > 0) / (1 - DROPOUT)

    def masked(x: Tensor, kept: Any) -> Tensor:
        return F.gelu(x) * kept

    return Case(
        "gelu_dropout", f"{side}x{side}", precision, "rows",
        lambda: F.dropout(F.gelu(x), DROPOUT),
        lambda _: gelu_dropout(x, DROPOUT, True, state),
        partial(masked, x.double(), kept.double()),
        same_numbers=partial(masked, x, kept.to(x)),
    )  # fmt: skip
