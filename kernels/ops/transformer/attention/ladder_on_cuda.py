"""Self-attention with its projections on a GPU, for each rung of the ladder."""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor

from kernels.ops.transformer.attention.on_cuda import (
    HEAD_SIZES,
    attention,
    name_of,
    new_result,
    readable,
    struct_of,
    unavailable_reason,
)
from kernels.ops.transformer.attention.reference import attention_reference
from kernels.ops.transformer.ffn.reference import check_block, heads_of, merged
from kernels.ops.transformer.launchers import Transformer
from kernels.table.calls import launched
from kernels.table.launcher import CudaLauncher

MOST_COLUMNS = 128  # of a head in the first rung, as in shapes.h

# The attention of a rung: (launch, q, k, v, scale).
_Attend = Callable[[CudaLauncher, Tensor, Tensor, Tensor, float], Tensor]


def rung(attend: _Attend) -> Callable[..., Tensor]:
    """Return the launch of a rung: its attention between the two projections."""

    def block(
        launch: CudaLauncher,
        x: Tensor,
        w_qkv: Tensor,
        w_out: Tensor,
        bias_qkv: Tensor | None,
        bias_out: Tensor | None,
        scale: float,
        num_heads: int,
    ) -> Tensor:
        check_block(x, w_qkv, w_out, bias_qkv, bias_out, scale, num_heads)
        q, k, v = heads_of(F.linear(x, w_qkv, bias_qkv).contiguous(), num_heads)
        return F.linear(merged(attend(launch, q, k, v, scale)), w_out, bias_out)

    return block


def refuses_first(x: Tensor, num_heads: int, **_: object) -> str:
    """Return why no kernel runs `fused_attention_v1` on any GPU, or "" if one may."""
    size = x.shape[-1] // max(1, num_heads)
    return "" if size <= MOST_COLUMNS else f"no native attention for heads of {size}"


def refuses(x: Tensor, num_heads: int, **_: object) -> str:
    """Return why no kernel runs the other rungs on any GPU, or "" if one may."""
    size = x.shape[-1] // max(1, num_heads)
    return "" if size in HEAD_SIZES else f"no native attention for heads of {size}"


def first(launch: CudaLauncher, q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    library: Transformer = launch.library
    if unavailable_reason(library, "v1", q, k):
        return attention_reference(q, k, v, scale=scale)[0]
    out = new_result(q)[0]
    p = struct_of(q, k, v, out, scale, causal=False)
    launched(library.first_rung(p, name_of(q), launch.stream), "attention, first rung")
    return out


def second(launch: CudaLauncher, q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    library: Transformer = launch.library
    if unavailable_reason(library, "v2", q, k):
        return attention_reference(q, k, v, scale=scale)[0]
    q, k, v = readable(q), readable(k), readable(v)
    out = new_result(q)[0]
    p = struct_of(q, k, v, out, scale, causal=False)
    launched(library.second_rung(p, name_of(q), launch.stream), "attention, second rung")
    return out


def third(launch: CudaLauncher, q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    return attention(launch, q, k, v, scale=scale)[0]
