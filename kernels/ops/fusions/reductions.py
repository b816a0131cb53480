"""Sums of squares and of magnitudes: meaning, gradient, and how kernels are launched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from kernels.ops.fusions.arguments import TYPES, check_shape, common_dtype, takes_vectors
from kernels.ops.launcher import CpuLauncher, CudaLauncher

TERMS = ("sum_squared", "mean_abs")  # as include/fusion/reductions.h numbers them
THREADS, WARP = 256, 32
_BLOCKS = 8  # of a pass, for each multiprocessor
_PER_THREAD = 16  # elements, at least, before a row is split
PARTS_ON_CPU, LEAST_PART = 64, 4096  # of a tensor, and elements of a part


class Layout(NamedTuple):
    """A dense tensor as kernels see it, [outer, reduced, inner].

    Attributes:
        outer: Elements of the dimensions in front of those that are summed over.
        reduced: Elements of these.
        inner: Of those behind.
        is_apart: Whether others lie between those that are summed over: no kernel takes that.
    """

    outer: int
    reduced: int
    inner: int
    is_apart: bool


def dims_of(name: str, x: Tensor, dim: Sequence[int] | None) -> list[int]:
    """The dimensions that are summed over, sorted.

    Raises:
        ValueError: There is no such dimension, or one is given twice.
    """
    most = max(x.dim(), 1)
    if dim is None or not len(dim):
        return list(range(x.dim()))
    found = sorted(d % most for d in dim if -most <= d < most)
    if len(set(found)) != len(dim):
        raise ValueError(
            f"{name}: dim is {list(dim)}; expected different dimensions of x, which has the shape "
            f"{list(x.shape)}"
        )
    return [d for d in found if d < x.dim()]


def layout_of(x: Tensor, dims: Sequence[int]) -> Layout:
    """How x lies once it is dense."""
    first, last = (dims[0], dims[-1]) if dims else (0, -1)
    outer, inner = math.prod(x.shape[:first]), math.prod(x.shape[last + 1 :])
    reduced = math.prod(x.shape[d] for d in dims)
    return Layout(outer, reduced, inner, last + 1 - first != len(dims))


def kept_shape(name: str, x: Tensor, dim: Sequence[int] | None) -> list[int]:
    """The shape of a result that keeps the dimensions."""
    dims = dims_of(name, x, dim)
    return [1 if d in dims else size for d, size in enumerate(x.shape)]


def refuses(x: Tensor, dim: Sequence[int] | None) -> str:
    """Why no kernel sums over these dimensions; empty if one does."""
    if layout_of(x, dims_of("reduction", x, dim)).is_apart:
        return "no native kernel sums over dimensions that others lie between"
    return ""


def reference(
    name: str, x: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False
) -> Tensor:
    """The sum of squares or the mean of magnitudes; FP16 and BF16 are computed in FP32."""
    common_dtype(name, {"x": x})
    dims = dims_of(name, x, dim)
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    terms = wide.square() if name == TERMS[0] else wide.abs()
    found = terms.sum(dims, keepdim=keepdim) if dims else terms.clone()
    return (found * _scale(name, layout_of(x, dims))).to(x.dtype)


def reference_backward(grad: Tensor, x: Tensor, function: str, dim: list[int] | None) -> Tensor:
    """The gradient of x; that of a magnitude is 0 at 0."""
    layout = _checked_backward(grad, x, function, dim)
    wide = torch.promote_types(x.dtype, torch.float32)
    slope = 2 * x.to(wide) if function == TERMS[0] else torch.sgn(x.to(wide))
    return (grad.to(wide) * _scale(function, layout) * slope).to(x.dtype).contiguous()


def _scale(name: str, layout: Layout) -> float:
    if name == TERMS[0]:
        return 1.0
    return 1 / layout.reduced if layout.reduced else math.nan


def _checked_backward(grad: Tensor, x: Tensor, function: str, dim: Sequence[int] | None) -> Layout:
    name = "reduction_backward"
    if function not in TERMS:
        raise ValueError(f"{name}: function is '{function}'; expected {' or '.join(TERMS)}")
    common_dtype(name, {"x": x, "grad": grad})
    check_shape(name, "grad", grad, torch.Size(kept_shape(name, x, dim)))
    return layout_of(x, dims_of(name, x, dim))


def _runs_on_pytorch(x: Tensor, layout: Layout) -> bool:
    return x.dtype not in TYPES or not x.numel() or layout.is_apart


def forward_on_cpu(
    launch: CpuLauncher,
    name: str,
    x: Tensor,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
) -> Tensor:
    """As `reference`, by C++."""
    dims = dims_of(name, x, dim)
    layout = layout_of(x, dims)
    if _runs_on_pytorch(x, layout):
        return reference(name, x, dim, keepdim)
    x, (outer, reduced, inner, _) = x.contiguous(), layout
    splits = max(1, min(PARTS_ON_CPU // outer, reduced * inner // LEAST_PART, reduced))
    partial = torch.empty(outer, splits, inner)
    launch(
        "styleforge_reduce_cpu",
        *(x, partial, TYPES[x.dtype], TERMS.index(name)),
        *(outer, reduced, inner, splits, _scale(name, layout)),
    )
    return _joined(partial, name, x, dims, keepdim)


def forward_on_cuda(
    launch: CudaLauncher,
    name: str,
    x: Tensor,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
) -> Tensor:
    """As `reference`, by CUDA."""
    dims = dims_of(name, x, dim)
    layout = layout_of(x, dims)
    if _runs_on_pytorch(x, layout):
        return reference(name, x, dim, keepdim)
    x, (outer, reduced, inner, _) = x.contiguous(), layout
    vector = takes_vectors(reduced if inner == 1 else inner, x)
    width = 16 // x.element_size() if vector else 1
    wanted = _BLOCKS * launch.gpu.multiprocessors * THREADS  # threads
    described = x, TYPES[x.dtype], vector, TERMS.index(name)
    if inner == 1:
        team = WARP
        while team < THREADS and team * width * 2 < reduced:
            team *= 2
        splits = max(1, min(wanted // (outer * team), reduced // (team * width * _PER_THREAD)))
        partial = x.new_empty((outer, splits, 1), dtype=torch.float32)
        launch(
            "styleforge_reduce_rows",
            -(-outer * splits * team // THREADS),
            THREADS,
            *(x, partial, *described[1:], outer, reduced, splits, team, _scale(name, layout)),
        )
    else:
        columns = outer * inner // width
        splits = max(1, min(wanted // columns, reduced // _PER_THREAD))
        partial = x.new_empty((outer, splits, inner), dtype=torch.float32)
        launch(
            "styleforge_reduce_columns",
            -(-columns * splits // THREADS),
            THREADS,
            *(x, partial, *described[1:], outer, reduced, inner, splits, _scale(name, layout)),
        )
    return _joined(partial, name, x, dims, keepdim)


def _joined(partial: Tensor, name: str, x: Tensor, dims: Sequence[int], keepdim: bool) -> Tensor:
    """The sums over splits, in x's dtype and the shape of the result."""
    sums = (partial if partial.shape[1] == 1 else partial.sum(1)).to(x.dtype)
    if keepdim:
        return sums.reshape(kept_shape(name, x, dims or None))
    return sums.reshape([size for d, size in enumerate(x.shape) if d not in dims])


def backward_on_cpu(
    launch: CpuLauncher, grad: Tensor, x: Tensor, function: str, dim: list[int] | None
) -> Tensor:
    """As `reference_backward`, by C++."""
    layout = _checked_backward(grad, x, function, dim)
    if _runs_on_pytorch(x, layout):
        return reference_backward(grad, x, function, dim)
    x, (outer, reduced, inner, _) = x.contiguous(), layout
    dx = torch.empty_like(x)
    launch(
        "styleforge_reduce_backward_cpu",
        *(x, grad.float().contiguous(), dx, TYPES[x.dtype], TERMS.index(function)),
        *(outer, reduced, inner, _scale(function, layout)),
    )
    return dx


def backward_on_cuda(
    launch: CudaLauncher, grad: Tensor, x: Tensor, function: str, dim: list[int] | None
) -> Tensor:
    """As `reference_backward`, by CUDA."""
    layout = _checked_backward(grad, x, function, dim)
    if _runs_on_pytorch(x, layout):
        return reference_backward(grad, x, function, dim)
    x, (_, reduced, inner, _) = x.contiguous(), layout
    dx, count = torch.empty_like(x), x.numel()
    vector = takes_vectors(reduced if inner == 1 else inner, x)
    groups = count // (16 // x.element_size() if vector else 1)
    launch(
        "styleforge_reduce_backward",
        max(1, min(-(-groups // THREADS), _BLOCKS * launch.gpu.multiprocessors)),
        THREADS,
        *(x, grad.float().contiguous(), dx, TYPES[x.dtype], vector, TERMS.index(function)),
        *(count, reduced, inner, _scale(function, layout)),
    )
    return dx
