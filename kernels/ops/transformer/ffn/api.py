"""A transformer's feed-forward network and output projection, each as one operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from kernels.ops.transformer.ffn import on_cuda
from kernels.ops.transformer.ffn.reference import ffn_reference, projection_reference
from kernels.table.names import TRANSFORMER
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda

__all__ = ["fused_ffn_forward", "output_projection_forward"]

ON_CPU = "PyTorch's products"


def _samples() -> Iterator[tuple[Any, ...]]:
    """Yield rows for 16-byte loads and others, transposed weights, both kinds of GELU."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for width, hidden in ((16, 64), (24, 40), (5, 9)):
            x = normal(2, 7, width).to(dtype)
            first, second = normal(hidden, width), normal(width, hidden)
            first, second = first / width**0.5, second / hidden**0.5
            biases = normal(hidden).to(dtype), normal(width).to(dtype)
            weights = first.to(dtype), second.to(dtype)
            yield x, weights[0], biases[0], weights[1], biases[1], True, "none", None
            yield x, weights[0].t(), None, weights[1].t(), None, False, "none", x
            yield x, weights[0], biases[0], weights[1], biases[1], True, "tanh", x


def _samples_projection() -> Iterator[tuple[Any, ...]]:
    for x, _first, _bias, second, bias, *_, residual in _samples():
        if second.shape[0] == x.shape[-1]:
            hidden = torch.randn(
                *x.shape[:-1], second.shape[1], generator=torch.Generator().manual_seed(1)
            )
            yield hidden.to(x.dtype), second, bias, residual


@Operation(
    reference=ffn_reference,
    samples=_samples,
    cpu=Cpu(named=ON_CPU),
    cuda=Cuda(TRANSFORMER, on_cuda.ffn),
    tolerance_scale=4,
)
def fused_ffn_forward(
    x: Tensor,
    fc1_weight: Tensor,
    fc1_bias: Tensor | None,
    fc2_weight: Tensor,
    fc2_bias: Tensor | None,
    use_vectorized: bool = True,
    approximate: str = "none",
    residual: Tensor | None = None,
) -> Tensor:
    """Compute linear(gelu(linear(x))) + residual.

    The library runs the products. Bias and GELU are one pass over the hidden rows, and so are the
    second bias and the residual. Returns a contiguous tensor of x's shape and dtype.

    Args:
        x: [..., E] of any strides and floating dtype.
        fc1_weight: [hidden, E], as in nn.Linear. If both weights are transposed, [E, hidden] is
            accepted too; if E equals hidden, weights are as in nn.Linear.
        fc1_bias: [hidden] or None; `fc2_bias` is [E] or None.
        fc2_weight: [E, hidden], or transposed like the first.
        use_vectorized: If False, the CUDA kernel loads element by element, which changes no value.
        approximate: "none" for the exact GELU, or "tanh" (Hendrycks and Gimpel, 2016).
        residual: A tensor of x's shape, or None.
    """
    ...


@Operation(
    reference=projection_reference,
    samples=_samples_projection,
    cpu=Cpu(named=ON_CPU),
    cuda=Cuda(TRANSFORMER, on_cuda.projection),
    tolerance_scale=4,
)
def output_projection_forward(
    attn_output: Tensor,
    w_out: Tensor,
    bias_out: Tensor | None = None,
    residual: Tensor | None = None,
) -> Tensor:
    """Compute linear(attn_output) + residual.

    Returns [..., E] of attn_output's dtype, contiguous.

    Args:
        attn_output: [..., K] of any strides and floating dtype.
        w_out: [E, K], as in nn.Linear.
        bias_out: [E] or None.
        residual: [..., E] or None.
    """
    ...
