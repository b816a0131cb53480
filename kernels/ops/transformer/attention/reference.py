"""PyTorch references of attention and its gradients, with a score matrix."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.table import philox


def check(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    scale: float,
    dropout: float,
    state: Tensor | None,
) -> None:
    if q.dim() != 4 or k.dim() != 4 or v.shape != k.shape:
        raise ValueError(
            "attention: q, k and v must be [N, H, L, D], k and v of one shape, got "
            f"{list(q.shape)}, {list(k.shape)}, {list(v.shape)}"
        )
    if (q.shape[0], q.shape[1], q.shape[3]) != (k.shape[0], k.shape[1], k.shape[3]):
        raise ValueError(f"attention: q {list(q.shape)} does not fit k {list(k.shape)}")
    if not q.dtype == k.dtype == v.dtype or not q.is_floating_point():
        raise ValueError(
            f"attention: q, k and v must have one floating dtype, got {q.dtype}, {k.dtype}"
        )
    if mask is not None and mask.dtype != q.dtype:
        raise ValueError(f"attention: the mask must be {q.dtype} like the scores, got {mask.dtype}")
    if mask is not None and mask.dim() != 4:
        raise ValueError(
            f"attention: the mask must be [N, H, Lq, Lk], with any size 1, got {mask.dim()}-d"
        )
    if not 0 <= dropout < 1:
        raise ValueError(f"attention: dropout must be at least 0 and below 1, got {dropout}")
    if dropout and state is None:
        raise ValueError("attention: dropout needs the state of its random numbers")
    if not scale > 0:
        raise ValueError(f"attention: the scale must be positive, got {scale}")


def attention_reference(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    scale: float = 1.0,
    causal: bool = False,
    dropout: float = 0.0,
    state: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    check(q, k, v, mask, scale, dropout, state)
    scores = _scores(q, k, mask, scale, causal)
    # A row without a visible key gets zeros. Its largest score is -inf and cannot be the origin.
    origin = scores.detach().amax(-1, keepdim=True) if k.shape[2] else scores.new_zeros(())
    origin = torch.where(origin == -torch.inf, 0.0, origin)
    weights = (scores - origin).exp()
    total = weights.sum(-1, keepdim=True)
    weights = _dropped(weights / torch.where(total == 0, 1.0, total), dropout, state)
    out = (weights @ v.to(weights.dtype)).to(q.dtype)
    lse = (origin + total.log()).squeeze(-1) if k.shape[2] else total.log().squeeze(-1)
    return out.transpose(1, 2).contiguous().transpose(1, 2), lse.detach()


def attention_backward_reference(
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
    """Compute `fused_attention_backward` from the inputs, so that its derivative is complete."""
    weights, change = _weights_and_change(grad, q, k, v, mask, scale, causal, dropout, state)
    wide = weights.dtype
    gradients = (
        change @ k.to(wide) * scale,
        change.transpose(-1, -2) @ q.to(wide) * scale,
        _dropped(weights, dropout, state).transpose(-1, -2) @ grad.to(wide),
    )
    grad_q, grad_k, grad_v = (_rows_first(x.to(q.dtype)) for x in gradients)
    return grad_q, grad_k, grad_v


def mask_gradient(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor,
    scale: float,
    causal: bool,
    dropout: float,
    state: Tensor | None,
) -> Tensor:
    """Return the gradient of the mask, of its shape."""
    change = _weights_and_change(grad, q, k, v, mask, scale, causal, dropout, state)[1]
    return change.sum_to_size(mask.shape).to(mask.dtype)


def backward_by_rows(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    lse: Tensor,
    scale: float,
    causal: bool,
    dropout: float,
    state: Tensor | None,
    most_scores: int = 1 << 24,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the same from the saved sums of exponentials, for some queries at a time.

    At most `most_scores` scores are in memory at once, so that memory grows linearly with the
    length.
    """
    samples, heads, queries, _ = q.shape
    keys = k.shape[2]
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    keys_wide, values = k.to(wide), v.to(wide)
    grad_q = torch.zeros_like(q, dtype=wide)
    grad_k, grad_v = torch.zeros_like(keys_wide), torch.zeros_like(values)
    rows = max(1, most_scores // max(1, samples * heads * keys))
    for first in range(0, queries, rows):
        at = slice(first, min(first + rows, queries))
        part, upper = q[:, :, at].to(wide), grad[:, :, at].to(wide)
        each = None if mask is None else mask.expand(samples, heads, queries, keys)[:, :, at]
        scores = _scores(part, k, each, scale, causal, first)
        sums = lse[:, :, at, None].to(wide)
        weights = torch.where(sums == -torch.inf, 0.0, (scores - sums).exp())
        change = upper @ values.transpose(-1, -2)
        kept_weights = weights
        if dropout and state is not None:
            keep = philox.kept(state, samples * heads, part.shape[2], keys, dropout, first)
            share = keep.view(weights.shape) * philox.kept_scale(dropout)
            change, kept_weights = change * share, weights * share
        change = weights * (change - (weights * change).sum(-1, keepdim=True))
        grad_q[:, :, at] = change @ keys_wide * scale
        grad_k += change.transpose(-1, -2) @ part * scale
        grad_v += kept_weights.transpose(-1, -2) @ upper
    found = (_rows_first(x.to(q.dtype)) for x in (grad_q, grad_k, grad_v))
    return next(found), next(found), next(found)


def _scores(
    q: Tensor, k: Tensor, mask: Tensor | None, scale: float, causal: bool, first: int = 0
) -> Tensor:
    """Return the scores of queries first, first + 1, ..."""
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    scores = q.to(wide) @ k.to(wide).transpose(-1, -2) * scale
    if mask is not None:
        scores = scores + mask.to(wide)
    if causal:
        query = torch.arange(first, first + q.shape[2], device=q.device)
        key = torch.arange(k.shape[2], device=q.device)
        scores = scores.masked_fill(key > query[:, None], -torch.inf)
    return scores


def _weights_and_change(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    scale: float,
    causal: bool,
    dropout: float,
    state: Tensor | None,
) -> tuple[Tensor, Tensor]:
    scores = _scores(q, k, mask, scale, causal)
    weights = torch.where((scores == -torch.inf).all(-1, True), 0.0, scores)
    weights = torch.where(scores == -torch.inf, 0.0, _softmax(weights, scores))
    change = _dropped(
        grad.to(weights.dtype) @ v.to(weights.dtype).transpose(-1, -2), dropout, state
    )
    return weights, weights * (change - (weights * change).sum(-1, keepdim=True))


def _softmax(safe: Tensor, scores: Tensor) -> Tensor:
    return safe.softmax(-1) if scores.shape[-1] else scores


def _dropped(weights: Tensor, dropout: float, state: Tensor | None) -> Tensor:
    if not dropout or state is None:
        return weights
    samples, heads, queries, keys = weights.shape
    keep = philox.kept(state, samples * heads, queries, keys, dropout).view(weights.shape)
    return weights * keep * philox.kept_scale(dropout)


def _rows_first(x: Tensor) -> Tensor:
    """Return [N, H, L, D] with the rows of one position adjacent, as kernels write them."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)
