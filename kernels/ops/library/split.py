"""Splits FP32 numbers into two of TF32: what makes products of FP32 of those of tensor cores.

A number of FP32 is, but for its last bit, the sum of two of TF32, high and low. Of a product of two
such sums, three of four terms count, and one product of three times the depth adds them up:
[high, low, high] times [low, high, high]. Tensor cores cut off what a sum does not hold, at every
step; so the small terms come first, while nothing large is there to be cut (Ootomo and Yokota,
2022, correct the same outside of them).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from kernels.ops.launcher import CudaLauncher
from kernels.ops.model_inputs import MOST
from kernels.ops.registry import LIBRARY, fused

CUDA = "split_products_cuda"
PARTS = 3
_HALF, _KEPT = 1 << 12, -(1 << 13)  # of the bits that TF32 lacks; those that it has
_THREADS, _VECTOR = 256, 4


def nearest_tf32(x: Tensor) -> Tensor:
    """The nearest numbers of TF32, in FP32."""
    return ((x.contiguous().view(torch.int32) + _HALF) & _KEPT).view(torch.float32)


def halves(x: Tensor) -> tuple[Tensor, Tensor]:
    """Two tensors of TF32 numbers whose sum is an FP32 tensor, but for its last bits."""
    high = nearest_tf32(x)
    return high, nearest_tf32(x - high)


def split_weight(weight: Tensor, dim: int = -1) -> Tensor:
    """[low, high, high] along a dimension: what is multiplied with `split_tf32_out`'s result."""
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
    """Loads of 16 bytes and of elements; numbers of every size, 0 and halves between two."""
    generator = torch.Generator().manual_seed(0)
    for shape in ((1, 1), (3, 7), (5, 64), (2, 1028), (300, 12)):
        x = torch.randn(shape, generator=generator) * 10.0 ** torch.randint(
            -6, 6, shape, generator=generator
        )
        x[0, 0] = 0 if shape[0] > 1 else 1 + 2.0**-11
        yield x, torch.zeros(shape[0], PARTS * shape[1])


@fused(
    "",
    reference=_reference,
    samples=_samples,
    mutates=("out",),
    on_cpu="PyTorch's operations",
    cuda=CUDA,
    launch_cuda=_launch,
    family=LIBRARY,
    cuda_dtypes=(torch.float32,),
)
def split_tf32_out(x: Tensor, out: Tensor) -> None:
    """Write the high, the low and again the high part of FP32 numbers, both in TF32.

    Args:
        x: FP32 [rows, columns].
        out: FP32 [rows, 3 columns], contiguous, which is written to. Its product with
            `split_weight` of a matrix, in TF32, is that of x, but for the last bit of factors.

    Raises:
        ValueError: A shape, a dtype or a device does not fit.
    """
    ...
