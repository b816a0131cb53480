"""Attention on a GPU: the arguments of the native launchers' calls."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.ops.transformer.attention.reference import (
    attention_reference,
    backward_by_rows,
    check,
)
from kernels.ops.transformer.launchers import MOST_BLOCKS, Rows, Transformer
from kernels.ops.transformer.structs import (
    StyleforgeAttention,
    StyleforgeAttentionBackward,
)
from kernels.table import philox
from kernels.table.calls import TYPES, launched
from kernels.table.launcher import CudaLauncher

HEAD_SIZES = (32, 64, 128)  # of the last two rungs
_HALVES = (torch.float16, torch.bfloat16)
_NOTHING = "nothing to attend to; runs on PyTorch"


def attention(
    launch: CudaLauncher,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    scale: float = 1.0,
    causal: bool = False,
    dropout: float = 0.0,
    state: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Run `fused_attention`; unsupported calls run in PyTorch.

    Return the output, [N, H, Lq, D] in q's dtype, and FP32 [N, H, Lq]: the logarithm of each row's
    sum of exponential scores.
    """
    check(q, k, v, mask, scale, dropout, state)
    library: Transformer = launch.library
    part = "v3_fp32" if q.dtype == torch.float32 else "v3"
    if unavailable_reason(library, part, q, k):
        return attention_reference(q, k, v, mask, scale, causal, dropout, state)
    q, k, v, mask = readable(q), readable(k), readable(v), readable_mask(mask, q, k)
    out, lse = new_result(q)
    p = struct_of(q, k, v, out, scale, causal)
    p.lse = lse.data_ptr()
    _add_mask_and_dropout(p, mask, dropout, state)
    dtype, general = name_of(q), mask is not None or state is not None
    if part == "v3" and not general and library.has("v3_sm90"):
        rows = _rows(q), _rows(k), _rows(v)
        gpu = launch.gpu.multiprocessors
        launched(library.third_rung_sm90(p, dtype, rows, gpu, launch.stream), "attention")
    else:
        launched(library.third_rung(p, dtype, launch.stream, general=general), "attention")
    return out, lse


def attention_backward(
    launch: CudaLauncher,
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    out: Tensor,
    lse: Tensor,
    scale: float,
    causal: bool,
    dropout: float,
    state: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run `fused_attention_backward`; FP32 and FP64 run in PyTorch's products."""
    library: Transformer = launch.library
    if q.dtype not in _HALVES or unavailable_reason(library, "v3_backward", q, k):
        return backward_by_rows(grad, q, k, v, mask, lse, scale, causal, dropout, state)
    q, k, v, mask = readable(q), readable(k), readable(v), readable_mask(mask, q, k)
    out, grad = rows_first(out), rows_first(grad.to(q.dtype))
    p = StyleforgeAttentionBackward(forward=struct_of(q, k, v, out, scale, causal))
    lse, delta = lse.contiguous(), torch.empty_like(lse)
    p.forward.lse, p.delta, p.grad_out = lse.data_ptr(), delta.data_ptr(), grad.data_ptr()
    _add_mask_and_dropout(p.forward, mask, dropout, state)
    grad_q, grad_k, grad_v = (new_result(x)[0] for x in (q, k, v))
    p.grad_q, p.grad_k, p.grad_v = (x.data_ptr() for x in (grad_q, grad_k, grad_v))
    launched(library.gradients(p, name_of(q), launch.stream), "the gradients of attention")
    return grad_q, grad_k, grad_v


def refuses(q: Tensor, k: Tensor, **_: object) -> str:
    """Return why no kernel runs `fused_attention` on any GPU, or "" if one may."""
    return _refuses_size(q.shape[3]) if q.numel() and k.numel() else _NOTHING


def refuses_backward(q: Tensor, k: Tensor, **_: object) -> str:
    """Return why no kernel runs `fused_attention_backward` on any GPU, or "" if one may."""
    if q.dtype not in _HALVES:
        return f"no native gradients of attention in {q.dtype}"
    return refuses(q, k)


def _refuses_size(size: int) -> str:
    return "" if size in HEAD_SIZES else f"no native attention for heads of {size}"


def unavailable_reason(library: Transformer, part: str, q: Tensor, k: Tensor) -> str:
    """Return why a rung has no kernel for a call, or "" if it has one."""
    if q.dtype not in TYPES:
        return f"no native attention in {q.dtype}; runs on PyTorch"
    if not library.has(part):
        return "no native attention for this GPU; runs on PyTorch"
    sizes = library.head_sizes(part, name_of(q))
    size = q.shape[3]
    if part == "v1":
        if size > library.most_columns():
            return f"no native attention for heads of {size}; runs on PyTorch"
    elif size not in sizes:
        return f"no native attention for heads of {size}, only {sorted(sizes)}; runs on PyTorch"
    if not q.numel() or not k.numel():
        return _NOTHING
    if max(q.shape[0], q.shape[1]) > MOST_BLOCKS:
        return f"more than {MOST_BLOCKS} samples or heads; runs on PyTorch"
    return ""


def name_of(x: Tensor) -> str:
    """Return x's dtype as "float32", "float16" or "bfloat16"."""
    return str(x.dtype).removeprefix("torch.")


def readable(x: Tensor) -> Tensor:
    """Return [N, H, L, D] with contiguous rows that begin at multiples of 16 bytes."""
    elements = 16 // x.element_size()
    aligned = all(
        stride % elements == 0
        for stride, size in zip(x.stride()[:3], x.shape[:3], strict=True)
        if size > 1
    )
    if x.stride(3) == 1 and aligned and x.data_ptr() % 16 == 0:
        return x
    # A contiguous tensor may still begin at any address.
    return x.clone(memory_format=torch.contiguous_format)


def readable_mask(mask: Tensor | None, q: Tensor, k: Tensor) -> Tensor | None:
    """Return [N, H, Lq, Lk] with contiguous rows; other dimensions may have a stride of 0."""
    if mask is None:
        return None
    if mask.shape[3] != k.shape[2] or (mask.stride(3) != 1 and mask.shape[3] > 1):
        mask = mask.expand(*mask.shape[:3], k.shape[2]).contiguous()
    return mask.expand(q.shape[0], q.shape[1], q.shape[2], k.shape[2])


def rows_first(x: Tensor) -> Tensor:
    """Return [N, H, L, D] in which the rows of one position are adjacent."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def new_result(q: Tensor) -> tuple[Tensor, Tensor]:
    """Return a tensor like q with the rows of one position adjacent, and FP32 [N, H, Lq]."""
    n, h, length, d = q.shape
    return q.new_empty(n, length, h, d).transpose(1, 2), q.new_empty(
        (n, h, length), dtype=torch.float32
    )


def struct_of(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor, scale: float, causal: bool
) -> StyleforgeAttention:
    p = StyleforgeAttention(
        q=q.data_ptr(),
        k=k.data_ptr(),
        v=v.data_ptr(),
        out=out.data_ptr(),
        samples=q.shape[0],
        heads=q.shape[1],
        queries=q.shape[2],
        keys=k.shape[2],
        columns=q.shape[3],
        causal=causal,
        scale=scale,
        kept_scale=1.0,
    )
    p.q_strides[:], p.k_strides[:] = q.stride()[:3], k.stride()[:3]
    p.v_strides[:], p.out_strides[:] = v.stride()[:3], out.stride()[:3]
    return p


def _add_mask_and_dropout(
    p: StyleforgeAttention, mask: Tensor | None, dropout: float, state: Tensor | None
) -> None:
    if mask is not None:
        p.mask = mask.data_ptr()
        p.mask_strides[:] = mask.stride()[:3]
    if dropout and state is not None:
        p.state = state.data_ptr()
        p.dropped = philox.dropped_numbers(dropout)
        p.kept_scale = philox.kept_scale(dropout)


def _rows(x: Tensor) -> Rows:
    samples, heads, rows, columns = x.shape
    strides = x.stride(2), x.stride(1), x.stride(0)
    return Rows(x.data_ptr(), (columns, rows, heads, samples), strides, min(columns, 64))
