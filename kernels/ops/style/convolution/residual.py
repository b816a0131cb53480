"""The residual block as one operation: x + norm(conv(relu(norm(conv(x)))))."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from kernels.ops.style.convolution.api import convolve_normalize_cpu
from kernels.ops.style.convolution.on_cuda import residual_block_forward
from kernels.ops.style.convolution.reference import apply_block, residual_block
from kernels.table.names import OPERATIONS
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda

__all__ = ["fused_residual_block_forward"]


def _cpu(*args: Any) -> Tensor:
    return apply_block(convolve_normalize_cpu, *args)


def _samples() -> Iterator[tuple[Any, ...]]:
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for channels in (128, 24):
            for layout in (torch.contiguous_format, torch.channels_last):
                x = normal(2, channels, 13, 22).to(dtype).contiguous(memory_format=layout)
                unit: list[Tensor] = []
                for _ in range(2):
                    weight = normal(channels, channels, 3, 3) / (3 * channels**0.5)
                    bias, gamma, beta = (normal(channels) for _ in range(3))
                    unit += [weight.to(dtype), bias.to(dtype), gamma, beta]
                yield (x, *unit, 1e-5, True)


@Operation(
    reference=residual_block,
    samples=_samples,
    cpu=Cpu("instance_norm", path=_cpu, named="PyTorch's oneDNN convolutions + {norm}"),
    cuda=Cuda(OPERATIONS, residual_block_forward),
    tolerance_scale=8,
)
def fused_residual_block_forward(
    input: Tensor,
    conv1_weight: Tensor,
    conv1_bias: Tensor | None,
    conv1_gamma: Tensor | None,
    conv1_beta: Tensor | None,
    conv2_weight: Tensor,
    conv2_bias: Tensor | None,
    conv2_gamma: Tensor | None,
    conv2_beta: Tensor | None,
    eps: float = 1e-5,
    own_kernel: bool = False,
) -> Tensor:
    """Compute input + norm(conv(relu(norm(conv(input))))) with reflection-padded 3x3 convolutions.

    No ReLU follows the sum (Gross and Wilber, 2016). The convolutions' biases change nothing,
    because the norms cancel them. Returns a tensor of the input's shape and dtype, channels last if
    the input is.

    Args:
        input: [N, C, H, W] of any floating dtype, H and W at least 2.
        conv1_weight: [M, C, 3, 3]; `conv1_bias` is [M] or None.
        conv1_gamma: [M], or None for ones; likewise `conv1_beta`, for zeros.
        conv2_weight: [C, M, 3, 3]; `conv2_bias` is [C] or None.
        conv2_gamma: [C], or None for ones; likewise `conv2_beta`, for zeros.
        own_kernel: Whether to run our CUDA kernel even if cuDNN is faster.
    """
    ...
