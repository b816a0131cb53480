"""Sums of squares, magnitudes and channels: references, gradients, and kernel launches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from kernels.ops.general.fusion.arguments import TYPES, check_shape, common_dtype, takes_vectors
from kernels.table.launcher import CpuLauncher, CudaLauncher

TERMS = ("sum_squared", "mean_abs")  # numbered as in reductions.h
THREADS, LEAST_THREADS, WARP = 256, 128, 32  # most per block, least per block, and least per row
SUMMAND = len(TERMS)  # the term number of plain sums
_AT_ONCE = 1024  # threads that fit a multiprocessor's registers
AHEAD, AHEAD_BACKWARD = 8, 4  # loads in flight per thread, as in reduction.cu
PARTS_ON_CPU, LEAST_PART = 64, 4096  # per tensor, and elements per part
_MOST_SAMPLES = 64  # for which channel sums are not split again


class Layout(NamedTuple):
    """A dense tensor as kernels see it, [outer, reduced, inner].

    `is_apart` is whether other dimensions separate the reduced ones, which no kernel supports.
    """

    outer: int
    reduced: int
    inner: int
    is_apart: bool


def dims_of(name: str, x: Tensor, dim: Sequence[int] | None) -> list[int]:
    """Return the reduced dimensions, sorted.

    Raises:
        ValueError: If a dimension does not exist or is repeated.
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
    first, last = (dims[0], dims[-1]) if dims else (0, -1)
    outer, inner = math.prod(x.shape[:first]), math.prod(x.shape[last + 1 :])
    reduced = math.prod(x.shape[d] for d in dims)
    return Layout(outer, reduced, inner, last + 1 - first != len(dims))


def kept_shape(name: str, x: Tensor, dim: Sequence[int] | None) -> list[int]:
    dims = dims_of(name, x, dim)
    return [1 if d in dims else size for d, size in enumerate(x.shape)]


def refuses(x: Tensor, dim: Sequence[int] | None) -> str:
    """Return why no kernel reduces these dimensions, or "" if one does."""
    if layout_of(x, dims_of("reduction", x, dim)).is_apart:
        return "no native kernel sums over dimensions that are not adjacent"
    return ""


def reference(
    name: str, x: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False
) -> Tensor:
    """Compute the sum of squares or the mean of magnitudes; FP16 and BF16 are computed in FP32."""
    common_dtype(name, {"x": x})
    dims = dims_of(name, x, dim)
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    terms = wide.square() if name == TERMS[0] else wide.abs()
    found = terms.sum(dims, keepdim=keepdim) if dims else terms.clone()
    # torch.func.jvp makes the tangent FP64 for a product of a scalar tensor and a number.
    scale = found.new_tensor(_scale(name, layout_of(x, dims)))
    return (found * scale).to(x.dtype)


def reference_backward(grad: Tensor, x: Tensor, function: str, dim: list[int] | None) -> Tensor:
    """Compute the gradient of x; the gradient of a magnitude is 0 at 0."""
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
    sums = (partial if splits == 1 else partial.sum(1)).to(x.dtype)
    return _shaped(sums, name, x, dims, keepdim)


def forward_on_cuda(
    launch: CudaLauncher,
    name: str,
    x: Tensor,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
) -> Tensor:
    """Run `reference` in CUDA: one launch, or a second one over the parts of long sums."""
    dims = dims_of(name, x, dim)
    layout = layout_of(x, dims)
    if _runs_on_pytorch(x, layout):
        return reference(name, x, dim, keepdim)
    x, scale = x.contiguous(), _scale(name, layout)
    sums = _reduced(launch, x, layout, TERMS.index(name), x.dtype, scale)
    return _shaped(sums, name, x, dims, keepdim)


def _reduced(
    launch: CudaLauncher,
    x: Tensor,
    layout: Layout,
    term: int,
    made: torch.dtype,
    scale: float = 1.0,
    most: int | None = None,
) -> Tensor:
    """Return the scaled sums of a dense tensor, each of at most `most` parts."""
    splits, run = _split(launch, x, layout, most)
    if splits == 1:
        return run(term, made, scale)
    partial = run(term, torch.float32, scale)
    whole = Layout(layout.outer, splits, layout.inner, False)
    _, run = _split(launch, partial, whole, most=1)
    return run(SUMMAND, made, 1.0)


def channel_sums(x: Tensor) -> Tensor:
    """Sum x over all dimensions but the second; FP16 and BF16 are summed in FP32."""
    _check_channels(x)
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return wide.sum([d for d in range(x.dim()) if d != 1]).to(x.dtype)


def _check_channels(x: Tensor) -> None:
    common_dtype("channel_bias_backward", {"x": x})
    if x.dim() < 2:
        raise ValueError(
            f"channel_bias_backward: x has the shape {list(x.shape)}; expected [N, C, ...]"
        )


def channel_sums_on_cuda(launch: CudaLauncher, x: Tensor) -> Tensor:
    """Run `channel_sums` in CUDA: sums of planes, then of these over all samples."""
    _check_channels(x)
    if x.dtype not in TYPES or not x.numel():
        return channel_sums(x)
    samples, channels = x.shape[:2]
    by_pixel = x.movedim(1, -1)
    if not x.is_contiguous() and by_pixel.is_contiguous():
        pixels = Layout(1, x.numel() // channels, channels, False)
        return _reduced(launch, by_pixel, pixels, SUMMAND, x.dtype).view(channels)
    planes = Layout(samples * channels, x.numel() // (samples * channels), 1, False)
    made = x.dtype if samples == 1 else torch.float32
    found = _reduced(launch, x.contiguous(), planes, SUMMAND, made)
    if samples > 1:
        most = 1 if samples <= _MOST_SAMPLES else None
        whole = Layout(1, samples, channels, False)
        found = _reduced(launch, found, whole, SUMMAND, x.dtype, most=most)
    return found.view(channels)


def _split(
    launch: CudaLauncher, x: Tensor, layout: Layout, most: int | None = None
) -> tuple[int, Callable[[int, torch.dtype, float], Tensor]]:
    """Return the number of parts per sum, at most `most`, and the launch of their kernel.

    A thread issues one batch of loads unless rows are longer. Parts are not smaller than that, and
    not more than run at once.
    """
    outer, reduced, inner, _ = layout
    vector = takes_vectors(reduced if inner == 1 else inner, x)
    width = 16 // x.element_size() if vector else 1
    at_once = _AT_ONCE * launch.gpu.multiprocessors
    if inner == 1:
        groups, team = reduced // width, WARP
        while team < THREADS and team * AHEAD < groups:
            team *= 2
        splits = max(1, min(at_once // (outer * team), groups // (team * AHEAD), most or groups))
        chunk = -(-groups // splits)
        if splits > 1:  # whole batches
            chunk = -(-chunk // (team * AHEAD)) * team * AHEAD
            splits = -(-groups // chunk)
        name, threads, sizes = "rows", max(team, LEAST_THREADS), (splits, chunk, team)
        blocks = -(-outer * splits // (threads // team))
    else:
        columns = outer * inner // width
        splits = max(1, min(at_once // columns, reduced // AHEAD, most or reduced))
        name, threads, sizes = "columns", LEAST_THREADS, (inner, splits)
        blocks = -(-columns * splits // threads)

    def run(term: int, made: torch.dtype, scale: float) -> Tensor:
        sums = x.new_empty((outer, splits, inner), dtype=made)
        launch(
            f"styleforge_reduce_{name}",
            blocks,
            threads,
            *(x, sums, TYPES[x.dtype], vector, TYPES[made], term),
            *(outer, reduced, *sizes, scale),
        )
        return sums

    return splits, run


def _shaped(sums: Tensor, name: str, x: Tensor, dims: Sequence[int], keepdim: bool) -> Tensor:
    if keepdim:
        return sums.reshape(kept_shape(name, x, dims or None))
    return sums.reshape([size for d, size in enumerate(x.shape) if d not in dims])


def backward_on_cpu(
    launch: CpuLauncher, grad: Tensor, x: Tensor, function: str, dim: list[int] | None
) -> Tensor:
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
    layout = _checked_backward(grad, x, function, dim)
    if _runs_on_pytorch(x, layout):
        return reference_backward(grad, x, function, dim)
    if grad.dtype != x.dtype:  # equal in autograd
        return backward_on_cuda(launch, grad.float(), x.float(), function, dim).to(x.dtype)
    (_, reduced, inner, _), count = layout, x.numel()
    x, grad = x.contiguous(), grad.contiguous()
    dx = torch.empty_like(x)
    vector = takes_vectors(reduced, x) if inner == 1 else takes_vectors(inner, x, grad)
    groups = count // (16 // x.element_size() if vector else 1)
    launch(
        "styleforge_reduce_backward",
        -(-groups // (THREADS * AHEAD_BACKWARD)),
        THREADS,
        *(x, grad, dx, TYPES[x.dtype], vector, TERMS.index(function)),
        *(count, reduced, inner, _scale(function, layout)),
    )
    return dx
