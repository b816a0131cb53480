"""The mean and variance of each channel of images, without a copy in FP32."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kernels.table.calls import MOMENTS_BYTES, TYPES
from kernels.table.launcher import CudaLauncher
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda

__all__ = ["fused_channel_moments_out", "fused_channel_statistics"]

LIBRARY, ON_CPU = "channel_statistics_cuda", "PyTorch's variance"
THREADS, VECTOR = 256, 16  # per block; bytes per load
MERGED = 2  # channels merged per block
BLOCKS = 4  # that a multiprocessor runs at once
LEAST = 4  # pixels per thread


def _moments(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and variance [N, C], in FP32 or wider."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    variance, mean = torch.var_mean(wide, (2, 3), correction=0)
    return mean, variance


def _reference(x: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    _check(x)
    mean, variance = _moments(x)
    return mean, torch.rsqrt(variance + eps)


def _moments_reference(x: Tensor, mean: Tensor, variance: Tensor) -> None:
    _check(x, mean, variance)
    for to, values in zip((mean, variance), _moments(x), strict=True):
        to.copy_(values)


def _check(x: Tensor, *results: Tensor) -> None:
    if x.dim() != 4 or not x.is_floating_point() or x.shape[2] * x.shape[3] == 0:
        raise ValueError(
            f"channel statistics: x must be [N, C, H, W] with pixels, got {list(x.shape)}"
        )
    wanted = x.shape[:2], torch.promote_types(x.dtype, torch.float32)
    for result in results:
        if (result.shape, result.dtype) != wanted:
            raise ValueError(
                f"channel statistics: results must be {wanted[1]} {list(wanted[0])}, got "
                f"{result.dtype} {list(result.shape)}"
            )
    if results and results[0].stride() != results[-1].stride():
        raise ValueError("channel statistics: mean and variance must have the same strides")


def _launch(launch: CudaLauncher, x: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    _check(x)
    if x.dtype not in TYPES or not x.numel():
        return _reference(x, eps)
    mean, inverse = (x.new_empty(x.shape[:2], dtype=torch.float32) for _ in range(2))
    _submit(launch, x, mean, inverse, eps)
    return mean, inverse


def _launch_moments(launch: CudaLauncher, x: Tensor, mean: Tensor, variance: Tensor) -> None:
    _check(x, mean, variance)
    if x.dtype not in TYPES or not x.numel():
        _moments_reference(x, mean, variance)
    else:
        _submit(launch, x, mean, variance, None)


def _submit(
    launch: CudaLauncher, x: Tensor, mean: Tensor, spread: Tensor, eps: float | None
) -> None:
    """Write means, and variances or, with `eps`, reciprocal standard deviations."""
    x = x.contiguous(memory_format=torch.channels_last)
    samples, channels, height, width = x.shape
    cut = cut_of(launch, x.shape, height * width, vector_of(x))
    chunks = cut.grid[0]
    parts = x.new_empty(samples * chunks * channels * MOMENTS_BYTES, dtype=torch.uint8)
    numbers = TYPES[x.dtype], cut.vector > 1, height * width, channels, cut.columns, cut.chunk
    launch("styleforge_channel_parts", cut.grid, THREADS, x, parts, *numbers)
    blocks = -(-samples * channels // MERGED)
    shape = samples, channels, chunks, *mean.stride()
    ending = eps is not None, 0.0 if eps is None else float(eps)
    launch("styleforge_channel_merge", blocks, THREADS, parts, mean, spread, *shape, *ending)


class Cut(NamedTuple):
    """The split of a channels-last image into blocks.

    Attributes:
        vector: Channels per load of a thread.
        columns: Threads side by side.
        chunk: Pixels per block.
        grid: Blocks along pixels, channels and samples.
    """

    vector: int
    columns: int
    chunk: int
    grid: tuple[int, int, int]


def vector_of(*tensors: Tensor) -> int:
    """Return how many channels fit a 16-byte load, 1 if channels or addresses do not divide."""
    each = VECTOR // tensors[0].element_size()
    fits = all(x.shape[1] % each == 0 and x.data_ptr() % VECTOR == 0 for x in tensors)
    return each if fits else 1


def cut_of(launch: CudaLauncher, shape: torch.Size, pixels: int, vector: int) -> Cut:
    """Split images of some shape, of which `pixels` are read or written."""
    groups = shape[1] // vector
    # Rows of threads are then parts of a warp without idle threads.
    columns = next((c for c in (32, 16, 8, 4) if groups % c == 0), min(groups, 32))
    across, rows = -(-groups // columns), THREADS // columns
    wanted = -(-BLOCKS * launch.gpu.multiprocessors // (across * shape[0]))
    chunk = max(-(-pixels // wanted), LEAST * rows)
    return Cut(vector, columns, chunk, (-(-pixels // chunk), across, shape[0]))


def _samples() -> Iterator[tuple[Any, ...]]:
    """Yield 16-byte and single loads, columns that divide a warp or not, few and many pixels."""
    for x in _pictures():
        yield x, 1e-5


def _samples_moments() -> Iterator[tuple[Any, ...]]:
    """Yield the same, written to every second element of the outputs."""
    for x in _pictures():
        n, channels = x.shape[:2]
        made = torch.zeros(n, channels, 4)
        yield x, made[..., 1], made[..., 2]


def _pictures() -> Iterator[Tensor]:
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for shape in ((1, 32, 40, 30), (2, 384, 5, 7), (1, 24, 9, 9), (2, 3, 6, 1), (1, 8, 1, 1)):
            x = torch.randn(shape, generator=generator) * 3 + 5
            yield x.to(dtype).contiguous(memory_format=torch.channels_last)


@Operation(
    reference=_reference,
    samples=_samples,
    cpu=Cpu(named=ON_CPU),
    cuda=Cuda(LIBRARY, _launch),
)
def fused_channel_statistics(x: Tensor, eps: float = 1e-5) -> tuple[Tensor, Tensor]:
    """Compute the mean and reciprocal standard deviation of each channel of each image.

    `fused_token_norm` accepts them. torch.batch_norm_stats computes them over all images together.
    Deviations are relative to one pixel's value in FP32, and are merged in FP64 in a fixed order
    (Chan, Golub and LeVeque 1983). A mean a thousand times the deviation therefore costs no digits
    of it, and two runs on a machine are bit-equal. Returns both [N, C], in FP32 (FP64 for FP64).

    Args:
        x: [N, C, H, W] of any strides and floating dtype, with at least one pixel.
        eps: Added to the biased variance.
    """
    ...


@Operation(
    reference=_moments_reference,
    samples=_samples_moments,
    cpu=Cpu(named=ON_CPU),
    cuda=Cuda(LIBRARY, _launch_moments),
    mutates=("mean", "variance"),
)
def fused_channel_moments_out(x: Tensor, mean: Tensor, variance: Tensor) -> None:
    """Write the mean and biased variance of each channel, see `fused_channel_statistics`.

    Args:
        x: [N, C, H, W] of any strides and floating dtype, with at least one pixel.
        mean: [N, C] in FP32 (FP64 for FP64); an output.
        variance: An output like `mean`, with its strides.

    Raises:
        RuntimeError: If a gradient would be needed.
    """
    ...
