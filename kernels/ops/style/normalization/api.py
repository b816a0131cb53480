"""Instance norm fused with the residual, the ReLU and the padding around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from kernels.ops.style.normalization import on_cpu as cpu_norm
from kernels.ops.style.normalization import on_cuda as cuda_norm
from kernels.ops.style.normalization.reference import instance_norm_reference
from kernels.table.names import OPERATIONS
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda

__all__ = ["fused_instance_norm", "fused_instance_norm_forward", "fused_instance_norm_out"]


def _reference_out(*args: Any) -> None:
    *given, out = args
    out.copy_(instance_norm_reference(*given))


def _reference_forward(
    input: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    eps: float,
    use_vectorized: bool,
    residual: Tensor | None,
    relu: bool,
) -> Tensor:
    return instance_norm_reference(input, gamma, beta, residual, eps, relu)


def _samples() -> Iterator[tuple[Any, ...]]:
    """Yield every branch of the native kernel, small enough to run in a moment."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for layout in (torch.contiguous_format, torch.channels_last):
            for c in (8, 40):
                x = (normal(2, c, 13, 22) * 3 + 5).to(dtype).contiguous(memory_format=layout)
                weight, bias = normal(c), normal(c)
                yield x, None, None, None, 1e-5, False, 0, "reflect", False
                yield x, weight, bias, None, 1e-5, True, 4, "reflect", False
                yield x, weight, bias, x, 1e-5, False, 1, "replicate", False
                yield x, weight[: c // 4], bias[: c // 4], None, 1e-5, True, 1, "reflect", True


def _samples_out() -> Iterator[tuple[Any, ...]]:
    for sample in _samples():
        yield (*sample, torch.zeros_like(instance_norm_reference(*sample)))


def _samples_forward() -> Iterator[tuple[Any, ...]]:
    """Yield samples for each path of the kernel.

    A plane is handled by one block, by a cluster, or in parts. Some samples have channels last or
    odd sides.
    """
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for shape in ((2, 8, 13, 22), (1, 3, 96, 128), (1, 2, 240, 256), (1, 1, 520, 521)):
            for layout in (torch.contiguous_format, torch.channels_last):
                x = (normal(*shape) * 3 + 5).to(dtype).contiguous(memory_format=layout)
                gamma, beta = normal(shape[1]), normal(shape[1])
                yield x, None, None, 1e-5, True, None, False
                yield x, gamma, beta, 1e-5, False, x, True


@Operation(
    reference=instance_norm_reference,
    samples=_samples,
    cpu=Cpu("instance_norm", cpu_norm.norm),
    cuda=Cuda(OPERATIONS, cuda_norm.norm),
)
def fused_instance_norm(
    x: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    eps: float = 1e-5,
    relu: bool = False,
    pad: int = 0,
    pad_mode: str = "reflect",
    interleave: bool = False,
) -> Tensor:
    """Compute pad(relu(norm(x) * weight + bias + residual)), padded on every side.

    Each plane is normalized by its own mean and biased variance, in FP32 (FP64 for FP64). Two runs
    on the same machine are bit-equal for any number of threads. Returns [N, C, H + 2 pad, W + 2
    pad] of x's dtype, dense, and channels last if x is or with `interleave`.

    Args:
        x: [N, C, H, W] of any strides and floating dtype; with `interleave`, [N, 4C, h + 1, w + 1].
        weight: [C], or None for ones; likewise `bias`, for zeros.
        residual: [N, C, H, W] of x's dtype with any strides, or None.
        pad: Pixels on each side; for "reflect", less than H and W.
        pad_mode: "reflect" or "replicate".
        interleave: Whether x is the four-phase form of an upsampling convolution, with H = 2h and W
            = 2w: channel (2a + b) C + c at (i + a, j + b) is pixel (2i + a, 2j + b) of channel c.
            All other positions are ignored, also by the statistics.

    Raises:
        ValueError: If a shape, dtype or the padding is invalid, or a plane is a single pixel.
    """
    ...


@Operation(
    reference=_reference_out,
    samples=_samples_out,
    cpu=Cpu("instance_norm", cpu_norm.norm_out),
    cuda=Cuda(OPERATIONS, cuda_norm.norm_out),
    mutates=("out",),
)
def fused_instance_norm_out(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    residual: Tensor | None,
    eps: float,
    relu: bool,
    pad: int,
    pad_mode: str,
    interleave: bool,
    out: Tensor,
) -> None:
    """Compute `fused_instance_norm` into a buffer that the caller owns; inference only.

    All other arguments match `fused_instance_norm`.

    Args:
        out: The output, of the result's shape, dtype and layout. It must not overlap any argument:
            the kernel may write an output row before it reads the residual behind the row's mirror
            image.

    Raises:
        RuntimeError: If a gradient would be needed.
    """
    ...


@Operation(
    reference=_reference_forward,
    samples=_samples_forward,
    cpu=Cpu("instance_norm", cpu_norm.norm_forward),
    cuda=Cuda(OPERATIONS, cuda_norm.norm_forward),
)
def fused_instance_norm_forward(
    input: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    eps: float = 1e-5,
    use_vectorized: bool = True,
    residual: Tensor | None = None,
    relu: bool = False,
) -> Tensor:
    """Compute relu(norm(input) * gamma + beta + residual) on the CPU and on CUDA.

    Each plane is normalized by its own mean and biased variance, computed about the mean in FP32
    (FP64 for FP64). Two runs on the same machine are bit-equal. Returns a dense tensor of the
    input's shape and dtype, channels last if the input is.

    Args:
        input: [N, C, H, W] of any strides and floating dtype.
        gamma: [C] of any floating dtype, or None for ones; likewise `beta`, for zeros.
        use_vectorized: If False, the CUDA kernel reads element by element, which changes at most
            the order of sums.
        residual: A tensor of the input's shape and dtype, or None.

    Raises:
        ValueError: If a shape or dtype is invalid, or a plane is a single pixel.
    """
    ...
