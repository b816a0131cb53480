"""The operations around a bilinearly enlarging convolution: its margin, and joining its phases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from kernels.ops.transformer.enlarging.reference import (
    check_interleave,
    check_pad,
    interleave_reference,
    pad_reference,
    padded_size,
)
from kernels.table.calls import TYPES
from kernels.table.launcher import CudaLauncher
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda

__all__ = ["fused_enlarging_interleave_out", "fused_enlarging_pad_out"]

LIBRARY, ON_CPU = "enlarging_cuda", "PyTorch's copies"
THREADS, VECTOR = 256, 16  # per block; bytes per load


def _launch_pad(launch: CudaLauncher, x: Tensor, out: Tensor) -> None:
    check_pad(x, out)
    if x.dtype not in TYPES:
        pad_reference(x, out)
        return
    x = x.contiguous(memory_format=torch.channels_last)
    vectors = _in_vectors(x, out)
    _, channels, height, width = x.shape
    numbers = TYPES[x.dtype], vectors, height, width, channels
    launch("styleforge_enlarging_pad", _grid(out, vectors), THREADS, x, out, *numbers)


def _launch_interleave(launch: CudaLauncher, z: Tensor, skip: Tensor | None, out: Tensor) -> None:
    check_interleave(z, skip, out)
    if z.dtype not in TYPES:
        interleave_reference(z, skip, out)
        return
    z = z.contiguous(memory_format=torch.channels_last)
    if skip is not None and skip.stride(1) != 1:
        skip = skip.contiguous(memory_format=torch.channels_last)
    vectors = _in_vectors(z, out, *(() if skip is None else (skip,)))
    _, channels, height, width = out.shape
    strides = (0, 0, 0) if skip is None else (skip.stride(0), skip.stride(2), skip.stride(3))
    numbers = TYPES[z.dtype], vectors, height // 2, width // 2, channels, *strides
    launch("styleforge_enlarging_interleave", _grid(out, vectors), THREADS, z, skip, out, *numbers)


def _in_vectors(*tensors: Tensor) -> bool:
    """Return whether every pixel of channels-last images begins at a multiple of 16 bytes."""
    count = VECTOR // tensors[0].element_size()
    return all(
        x.data_ptr() % VECTOR == 0
        and x.shape[1] % count == 0
        and all(x.stride(axis) % count == 0 for axis in (0, 2, 3))
        for x in tensors
    )


def _grid(out: Tensor, vectors: bool) -> tuple[int, int, int]:
    n, channels, height, width = out.shape
    each = VECTOR // out.element_size() if vectors else 1
    return -(-width * (channels // each) // THREADS), height, n


def _samples_pad() -> Iterator[tuple[Any, ...]]:
    """Yield 16-byte and single-element loads; sizes of 2, even and odd."""
    for dtype, (n, channels, height, width), generator in _cases():
        x = torch.randn(n, channels, height, width, generator=generator).to(dtype)
        yield x, _empty(dtype, n, channels, *padded_size(height, width))


def _samples_interleave() -> Iterator[tuple[Any, ...]]:
    """Yield the same, with and without an image to add, dense and inside of a margin."""
    for dtype, (n, channels, height, width), generator in _cases():
        z = torch.randn(n, 4 * channels, height + 6, width + 6, generator=generator).to(dtype)
        size = 2 * height, 2 * width
        skip = torch.randn(n, channels, size[0] + 2, size[1] + 2, generator=generator).to(dtype)
        last = torch.channels_last
        z, skip = z.contiguous(memory_format=last), skip.contiguous(memory_format=last)
        for added in (None, skip[..., 1:-1, 1:-1], skip[..., 1:-1, 1:-1].contiguous()):
            yield z, added, _empty(dtype, n, channels, *size)


def _cases() -> Iterator[tuple[torch.dtype, tuple[int, int, int, int], torch.Generator]]:
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for shape in ((1, 3, 2, 2), (2, 16, 5, 7), (1, 40, 12, 2), (1, 64, 9, 20)):
            yield dtype, shape, generator


def _empty(dtype: torch.dtype, *shape: int) -> Tensor:
    return torch.zeros(shape, dtype=dtype).contiguous(memory_format=torch.channels_last)


@Operation(
    reference=pad_reference,
    samples=_samples_pad,
    cpu=Cpu(named=ON_CPU),
    cuda=Cuda(LIBRARY, _launch_pad),
    mutates=("out",),
)
def fused_enlarging_pad_out(x: Tensor, out: Tensor) -> None:
    """Add the margin that a convolution by `bilinear_phase_weight` reads.

    With it, that convolution and `fused_enlarging_interleave_out` equal a bilinear enlargement by
    two and a 3x3 convolution of its reflection-padded result, up to the last row.

    Args:
        x: [N, C, H, W] of any strides and floating dtype, H and W at least 2.
        out: [N, C, H + 8, W + 8] of x's dtype, channels last; the output.

    Raises:
        RuntimeError: If a gradient would be needed.
    """
    ...


@Operation(
    reference=interleave_reference,
    samples=_samples_interleave,
    cpu=Cpu(named=ON_CPU),
    cuda=Cuda(LIBRARY, _launch_interleave),
    mutates=("out",),
)
def fused_enlarging_interleave_out(z: Tensor, skip: Tensor | None, out: Tensor) -> None:
    """Join the four phases of an enlarged image, and add another image.

    Args:
        z: [N, 4 C, H + 6, W + 6] of any strides and floating dtype: the result of a convolution by
            `bilinear_phase_weight` of a padded image, see `fused_enlarging_pad_out`.
        skip: [N, C, 2 H, 2 W] of z's dtype with any strides, or None.
        out: [N, C, 2 H, 2 W] of z's dtype, channels last; the output.

    Raises:
        RuntimeError: If a gradient would be needed.
    """
    ...
