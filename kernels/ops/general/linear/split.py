"""Splits of FP32 numbers into two TF32 numbers, for FP32 products on tensor cores.

Except for its last bit, an FP32 number is the sum of two TF32 numbers, high and low. In a product
of two such sums, three of the four terms count. One product of three times the depth adds them:
[high, low, high] times [low, high, high]. Tensor cores truncate the sum at every step, so the small
terms come first, while the sum holds nothing large to truncate. Ootomo and Yokota (2022) correct
the same error outside of the tensor cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from kernels.ops.general.inputs import MOST
from kernels.table.launcher import CudaLauncher
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda

__all__ = ["split_tf32_out"]

CUDA = "split_products_cuda"
PARTS = 3
# half of the bits that TF32 lacks; a mask of the bits that it has
_HALF, _KEPT = 1 << 12, -(1 << 13)
_THREADS, _VECTOR = 256, 4


def nearest_tf32(x: Tensor) -> Tensor:
    """Return the nearest TF32 numbers, in FP32."""
    return ((x.contiguous().view(torch.int32) + _HALF) & _KEPT).view(torch.float32)


def halves(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return two tensors of TF32 numbers whose sum is an FP32 tensor, except for its last bits."""
    high = nearest_tf32(x)
    return high, nearest_tf32(x - high)


def split_weight(weight: Tensor, dim: int = -1) -> Tensor:
    """Return [low, high, high] along a dimension, the factor for the result of `split_tf32_out`."""
    high, low = halves(weight)
    return torch.cat((low, high, high), dim)


def _check(x: Tensor, out: Tensor) -> None:
    if x.dim() != 2 or x.dtype != torch.float32:
        raise ValueError(
            f"split_tf32_out: x is {x.dtype} {list(x.shape)}; expected FP32 [rows, columns]"
        )
    wanted = x.shape[0], PARTS * x.shape[1]
    if out.shape != wanted or out.dtype != x.dtype or out.device != x.device:
        raise ValueError(
            f"split_tf32_out: out is {out.dtype} {list(out.shape)} on {out.device}; expected FP32 "
            f"{list(wanted)} on {x.device}"
        )
    if not out.is_contiguous():
        raise ValueError("split_tf32_out: out is not contiguous")


def _reference(x: Tensor, out: Tensor) -> None:
    _check(x, out)
    high, low = halves(x)
    out.copy_(torch.cat((high, low, high), -1))


def _launch(launch: CudaLauncher, x: Tensor, out: Tensor) -> None:
    if x.numel() > MOST or not x.numel():
        _reference(x, out)
        return
    _check(x, out)
    x = x.contiguous()
    rows, columns = x.shape
    vector = columns % _VECTOR == 0 and all(each.data_ptr() % 16 == 0 for each in (x, out))
    threads = rows * columns // (_VECTOR if vector else 1)
    launch(
        "styleforge_split_tf32", -(-threads // _THREADS), _THREADS, x, out, rows, columns, vector
    )


def _samples() -> Iterator[tuple[Any, ...]]:
    """Yield 16-byte and single-element loads, of numbers of every size, 0 and ties between two."""
    generator = torch.Generator().manual_seed(0)
    for shape in ((1, 1), (3, 7), (5, 64), (2, 1028), (300, 12)):
        x = torch.randn(shape, generator=generator) * 10.0 ** torch.randint(
            -6, 6, shape, generator=generator
        )
        x[0, 0] = 0 if shape[0] > 1 else 1 + 2.0**-11
        yield x, torch.zeros(shape[0], PARTS * shape[1])


@Operation(
    reference=_reference,
    samples=_samples,
    cpu=Cpu(named="PyTorch's operations"),
    cuda=Cuda(CUDA, _launch, dtypes=(torch.float32,)),
    mutates=("out",),
)
def split_tf32_out(x: Tensor, out: Tensor) -> None:
    """Write the high, low and again the high part of FP32 numbers, each in TF32.

    Args:
        x: FP32 [rows, columns].
        out: FP32 [rows, 3 columns], contiguous, the output. Its TF32 product with `split_weight` of
            a matrix equals x's product, except for the last bit of the factors.
    """
    ...
