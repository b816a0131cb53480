"""Attention with an online softmax as one operation, and its gradients as another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from kernels.ops.transformer.attention import on_cuda
from kernels.ops.transformer.attention.reference import (
    attention_backward_reference,
    attention_reference,
    backward_by_rows,
    check,
    mask_gradient,
)
from kernels.table.autograd import Grad, Kept
from kernels.table.names import TRANSFORMER
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda, Gradient

__all__ = ["fused_attention", "fused_attention_backward"]

ON_CPU = "PyTorch's attention"


def _cpu(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    scale: float,
    causal: bool,
    dropout: float,
    state: Tensor | None,
) -> tuple[Tensor, Tensor]:
    check(q, k, v, mask, scale, dropout, state)
    if mask is not None or dropout or not q.numel() or not k.numel():
        # PyTorch's has no dropout, and its rows without a visible key differ between releases.
        return attention_reference(q, k, v, mask, scale, causal, dropout, state)
    flash: Any = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    out, lse = flash(q, k, v, 0.0, causal, scale=scale)
    return out.transpose(1, 2).contiguous().transpose(1, 2), lse.to(_wide(q.dtype)).contiguous()


def _cpu_backward(*args: Any) -> tuple[Tensor, Tensor, Tensor]:
    return backward_by_rows(*args[:5], *args[6:])  # without the result


def _wide(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def _save(arguments: Sequence[Any], results: Sequence[Tensor]) -> Sequence[Tensor | None]:
    q, k, v, mask, _scale, _causal, _dropout, state = arguments
    return q, k, v, mask, state, *results


def _backward(kept: Kept, grad: Tensor) -> Sequence[Grad]:
    q, k, v, mask, state, out, lse = kept.tensors
    scale, causal, dropout = kept.options[4:7]
    grad_q, grad_k, grad_v = fused_attention_backward(
        grad, q, k, v, mask, out, lse, scale, causal, dropout, state
    )
    grad_mask = None
    if kept.needs[3]:
        grad_mask = mask_gradient(grad, q, k, v, mask, scale, causal, dropout, state)
    return grad_q, grad_k, grad_v, grad_mask, None, None, None, None


def _samples() -> Iterator[tuple[Any, ...]]:
    """Yield cases for every kernel: head sizes, lengths that fill no tile, masks, dropout."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    state = torch.tensor([12345, 678])
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for size, queries, keys in ((64, 5, 7), (32, 130, 65), (64, 70, 300), (128, 65, 129)):
            q = normal(2, 3, queries, size).to(dtype)
            k, v = (normal(2, 3, keys, size).to(dtype) for _ in range(2))
            scale = size**-0.5
            mask = normal(2, 1, queries, keys).to(dtype)
            mask[:, :, :, 1::3] = -torch.inf
            yield q, k, v, None, scale, False, 0.0, None
            yield q, k, v, None, scale, True, 0.0, None
            yield q, k, v, mask, scale, False, 0.25, state


def _samples_backward() -> Iterator[tuple[Any, ...]]:
    for sample in _samples():
        q, k, v, mask, scale, causal, dropout, state = sample
        out, lse = attention_reference(*sample)
        grad = torch.randn(q.shape, generator=torch.Generator().manual_seed(1)).to(q.dtype)
        yield grad, q, k, v, mask, out, lse, scale, causal, dropout, state


@Operation(
    reference=attention_reference,
    samples=_samples,
    cpu=Cpu(path=_cpu, named=ON_CPU),
    cuda=Cuda(TRANSFORMER, on_cuda.attention),
    gradient=Gradient(_save, _backward, statistics=1),
    refuses=on_cuda.refuses,
    tolerance_scale=4,
)
def fused_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    scale: float = 1.0,
    causal: bool = False,
    dropout: float = 0.0,
    state: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute softmax(scale q k^T + mask) v for each sample and head, without a score matrix.

    On a GPU the softmax is online (Dao et al., "FlashAttention", 2022), so memory grows linearly
    with the length. FP16 and BF16 use tensor cores, with weights rounded to that dtype. Head sizes
    other than 32, 64 and 128 run in PyTorch. Two runs are bit-equal.

    A query that sees no key, because its whole mask is -inf, gets zeros and no gradient. Returns
    [N, H, Lq, D] of q's dtype, with the rows of one position adjacent, and the logarithms of the
    sums of exponentials for the backward pass, [N, H, Lq] in FP32 (FP64 for FP64).

    Args:
        q: [N, H, Lq, D] of any strides and floating dtype; k and v are [N, H, Lk, D] of that dtype.
        mask: [N, H, Lq, Lk] of q's dtype, with 1 allowed for any of these sizes, added to the
            scores; or None.
        scale: Scale of the scores, positive; usually D**-0.5.
        causal: Whether query i sees only keys 0 to i.
        dropout: The probability that a weight is dropped, below 1, in steps of 1 / 65536.
        state: int64 [2], seed and offset of the random numbers of dropout, see
            kernels.table.philox. The same state drops the same weights.
    """
    ...


@Operation(
    reference=attention_backward_reference,
    samples=_samples_backward,
    cpu=Cpu(path=_cpu_backward, named="PyTorch's products"),
    cuda=Cuda(TRANSFORMER, on_cuda.attention_backward),
    derived=("out", "lse"),
    refuses=on_cuda.refuses_backward,
    tolerance_scale=16,
)
def fused_attention_backward(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    out: Tensor,
    lse: Tensor,
    scale: float = 1.0,
    causal: bool = False,
    dropout: float = 0.0,
    state: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the gradients of `fused_attention` from its results.

    The kernel recomputes the weights from the logarithms of the sums of exponentials, tile by tile.
    Every sum has a fixed order, so two runs are bit-equal. In FP32, PyTorch's products compute the
    gradients for some queries at a time. All other arguments match the forward pass, whose results
    are `out` and `lse`; `grad` is the gradient of `out`. Returns the gradients of q, k and v.
    """
    ...
