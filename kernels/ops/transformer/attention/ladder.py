"""Self-attention with its projections for each rung of the ladder, to read and compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.transformer.attention import ladder_on_cuda as on_cuda
from kernels.ops.transformer.ffn.reference import (
    attention_block,
    check_block,
    heads_of,
    merged,
)
from kernels.table.names import TRANSFORMER
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda

__all__ = ["fused_attention_v1", "fused_attention_v2_forward", "fused_attention_v3_forward"]


def _cpu(
    x: Tensor,
    w_qkv: Tensor,
    w_out: Tensor,
    bias_qkv: Tensor | None,
    bias_out: Tensor | None,
    scale: float,
    num_heads: int,
) -> Tensor:
    check_block(x, w_qkv, w_out, bias_qkv, bias_out, scale, num_heads)
    q, k, v = heads_of(F.linear(x, w_qkv, bias_qkv), num_heads)
    if not x.numel():
        return attention_block(x, w_qkv, w_out, bias_qkv, bias_out, scale, num_heads)
    out = F.scaled_dot_product_attention(q, k, v, scale=scale)
    return F.linear(merged(out), w_out, bias_out)


def _samples() -> Iterator[tuple[Any, ...]]:
    """Yield heads of 32 and 64, lengths that fill no tile, with and without biases."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for n, length, size, heads in ((1, 5, 32, 2), (2, 70, 64, 2), (1, 130, 128, 1)):
            width = size * heads
            x = normal(n, length, width)
            w_qkv, w_out = (normal(rows, width) / width**0.5 for rows in (3 * width, width))
            biases = normal(3 * width), normal(width)
            given = [each.to(dtype) for each in (x, w_qkv, w_out, *biases)]
            yield *given, size**-0.5, heads
            yield *given[:3], None, None, size**-0.5, heads


def _rung(attend: Callable[..., Tensor], refuses: Callable[..., str]) -> Operation:
    return Operation(
        reference=attention_block,
        samples=_samples,
        cpu=Cpu(path=_cpu, named="PyTorch's products and attention"),
        cuda=Cuda(TRANSFORMER, on_cuda.rung(attend)),
        refuses=refuses,
        tolerance_scale=4,
    )


@_rung(on_cuda.first, on_cuda.refuses_first)
def fused_attention_v1(
    x: Tensor,
    w_qkv: Tensor,
    w_out: Tensor,
    bias_qkv: Tensor | None,
    bias_out: Tensor | None,
    scale: float,
    num_heads: int,
) -> Tensor:
    """Compute self-attention on the first rung: score tiles in shared memory, two key passes.

    Returns [N, L, E] of x's dtype, contiguous.

    Args:
        x: [N, L, E] of any strides and floating dtype.
        w_qkv: [3E, E], like in_proj_weight of nn.MultiheadAttention.
        w_out: [E, E]; bias_qkv is [3E] or None, bias_out [E] or None.
        scale: Scale of the scores, positive; usually (E / num_heads)**-0.5.
        num_heads: A divisor of E.
    """
    ...


@_rung(on_cuda.second, on_cuda.refuses)
def fused_attention_v2_forward(
    x: Tensor,
    w_qkv: Tensor,
    w_out: Tensor,
    bias_qkv: Tensor | None,
    bias_out: Tensor | None,
    scale: float,
    num_heads: int,
) -> Tensor:
    """Compute self-attention on the second rung: vectorized loads, padded tiles of keys and values.

    The arguments match `fused_attention_v1`. Returns [N, L, E] of x's dtype, contiguous.
    """
    ...


@_rung(on_cuda.third, on_cuda.refuses)
def fused_attention_v3_forward(
    x: Tensor,
    w_qkv: Tensor,
    w_out: Tensor,
    bias_qkv: Tensor | None,
    bias_out: Tensor | None,
    scale: float,
    num_heads: int,
) -> Tensor:
    """Compute self-attention on the third rung: an online softmax, no score matrix, tensor cores.

    `fused_attention` is its attention alone, with masks, dropout and gradients of its own. The
    arguments match `fused_attention_v1`. Returns [N, L, E] of x's dtype, contiguous.
    """
    ...
