"""Multi-head attention as a module, on our kernels or PyTorch's, whichever is faster."""

from __future__ import annotations

from typing import Literal, cast, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kernels.ops.general.attention.attend import attend
from kernels.ops.transformer.attention.api import fused_attention
from kernels.ops.transformer.attention.choice import faster_reason
from kernels.ops.transformer.attention.ladder import fused_attention_v1, fused_attention_v2_forward
from kernels.ops.transformer.ffn.api import output_projection_forward
from kernels.ops.transformer.ffn.reference import heads_of, merged
from kernels.table.philox import draw_state

Version = Literal["auto", "v1", "v2", "v3", "sdpa"]


class FusedAttention(nn.MultiheadAttention):
    """A batch-first nn.MultiheadAttention on one of our attention versions or on PyTorch's.

    It has the state dict of nn.MultiheadAttention. In contrast to it, weights are only returned on
    request, keys and values default to the query, and a residual may be added.

    With v3, as in the operation, a query whose keys are all masked gets zeros.

    Args:
        embed_dim: E.
        num_heads: A divisor of E.
        version: "auto" picks the fastest for device, dtype, shape and options. "v3" is our third
            version, "sdpa" PyTorch's. "v1" and "v2" are our first two, for self-attention without
            masks and dropout.
        dropout: The dropout probability of the attention weights, in training.
        batch_first: Must be True.

    Raises:
        ValueError: If an argument is not as described above.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        version: Version = "auto",
        dropout: float = 0.0,
        bias: bool = True,
        batch_first: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if version not in get_args(Version):
            raise ValueError(f"version must be one of {get_args(Version)}, got {version!r}")
        if not batch_first:
            raise ValueError("FusedAttention needs [N, L, E], so batch_first must be True")
        if num_heads < 1 or embed_dim % num_heads:
            raise ValueError(f"{num_heads} heads do not divide {embed_dim} channels")
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            embed_dim, num_heads, dropout, bias, batch_first=True, device=device, dtype=dtype
        )
        self.version: Version = version
        self._count, self._size, self._probability = num_heads, embed_dim // num_heads, dropout

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = False,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
        residual: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Compute attention.

        Args:
            query: [N, L, E], or [L, E] for one sample.
            key: [N, S, E]; defaults to the query.
            value: Like key; defaults to the key.
            key_padding_mask: [N, S]: True to ignore a key, or numbers added to the scores.
            need_weights: Whether to return weights, for which PyTorch computes the score matrix.
            attn_mask: [L, S] or [N num_heads, L, S]: True hides a key; numbers are added to scores.
            average_attn_weights: Whether to average weights over the heads.
            is_causal: Whether query i sees only keys 0 to i. If `attn_mask` is given, it decides.
            residual: [N, L, E], added to the result.

        Returns:
            [N, L, E], and the weights or None.

        Raises:
            ValueError: If a shape does not fit, or the version does not support the arguments.
        """
        key = query if key is None else key
        value = key if value is None else value
        if need_weights:
            return self._with_weights(
                *(query, key, value, key_padding_mask, attn_mask, average_attn_weights, is_causal),
                residual,
            )
        if query.dim() == 2:
            padding = None if key_padding_mask is None else key_padding_mask[None]
            given = query[None], key[None], value[None]
            out = self._attend(given, padding, attn_mask, is_causal)
            return self._project(out, None if residual is None else residual[None])[0], None
        masks = key_padding_mask, attn_mask
        plain = all(mask is None for mask in masks) and not is_causal and not self._drops
        if self.version in ("v1", "v2"):
            if not plain or key is not query or value is not query:
                raise ValueError(
                    f"version {self.version} supports only self-attention without masks and dropout"
                )
            return self._rung(query, residual), None
        out = self._attend((query, key, value), *masks, is_causal)
        return self._project(out, residual), None

    def remark(self, device: torch.device, dtype: torch.dtype, length: int) -> str:
        """Return why "auto" runs PyTorch's attention for this length; "" if it runs ours."""
        return faster_reason(device, dtype, self._size, length)

    @property
    def _drops(self) -> bool:
        return self.training and self._probability > 0

    def _attend(
        self,
        given: tuple[Tensor, Tensor, Tensor],
        key_padding_mask: Tensor | None,
        attn_mask: Tensor | None,
        is_causal: bool,
    ) -> Tensor:
        """Project the inputs and return the attention, [N, H, L, D]."""
        q, k, v = self._heads(*given)
        causal = is_causal and attn_mask is None
        mask = _joined(key_padding_mask, attn_mask, q)
        dropout = self._probability if self._drops else 0.0
        scale = self._size**-0.5
        if self._runs_ours(q, k, v, mask, causal, dropout):
            state = draw_state(q.device) if dropout else None
            return fused_attention(q, k, v, mask, scale, causal, dropout, state)[0]
        if causal and mask is not None:
            hidden = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).triu(1)
            mask, causal = mask.masked_fill(hidden, -torch.inf), False
        if not dropout:
            return attend(q, k, v, mask, causal, scale)
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, dropout_p=dropout, is_causal=causal, scale=scale
        )

    def _runs_ours(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        causal: bool,
        dropout: float,
    ) -> bool:
        if self.version != "auto":
            return self.version == "v3"
        needs = torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v))
        return not faster_reason(
            *(q.device, q.dtype, q.shape[3], q.shape[2]),
            causal=causal,
            plain=mask is None and not dropout,
            gradients=needs,
        )

    def _heads(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        weight: Tensor = self.in_proj_weight  # pyright: ignore[reportAssignmentType]
        bias = cast("Tensor | None", self.in_proj_bias)
        if key is query and value is query:
            return heads_of(F.linear(query, weight, bias), self._count)
        biases = (None, None, None) if bias is None else bias.chunk(3)
        parts = zip((query, key, value), weight.chunk(3), biases, strict=True)
        q, k, v = (
            F.linear(x, w, b).view(*x.shape[:2], self._count, self._size).transpose(1, 2)
            for x, w, b in parts
        )
        return q, k, v

    def _project(self, out: Tensor, residual: Tensor | None) -> Tensor:
        projection = self.out_proj
        return output_projection_forward(merged(out), projection.weight, projection.bias, residual)

    def _rung(self, x: Tensor, residual: Tensor | None) -> Tensor:
        rung = fused_attention_v1 if self.version == "v1" else fused_attention_v2_forward
        projection = self.out_proj
        weight: Tensor = self.in_proj_weight  # pyright: ignore[reportAssignmentType]
        weights = weight, projection.weight, self.in_proj_bias, projection.bias
        y = rung(x, *weights, self._size**-0.5, self._count)
        return y if residual is None else y + residual

    def _with_weights(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None,
        attn_mask: Tensor | None,
        average: bool,
        is_causal: bool,
        residual: Tensor | None,
    ) -> tuple[Tensor, Tensor | None]:
        if is_causal and attn_mask is None:
            shape = query.shape[-2], key.shape[-2]
            attn_mask = torch.ones(shape, dtype=torch.bool, device=query.device).triu(1)
        y, weights = super().forward(
            *(query, key, value, key_padding_mask, True, attn_mask, average), is_causal=False
        )
        return (y if residual is None else y + residual), weights


def _joined(key_padding_mask: Tensor | None, attn_mask: Tensor | None, q: Tensor) -> Tensor | None:
    """Return one mask to add to the scores, or None without a mask.

    The result can be broadcast to [N, H, L, S].
    """
    found = None
    if key_padding_mask is not None:
        found = _added(key_padding_mask, q.dtype)[:, None, None]
    if attn_mask is not None:
        mask = _added(attn_mask, q.dtype)
        shape = (1, 1) if mask.dim() == 2 else q.shape[:2]
        mask = mask.view(*shape, *mask.shape[-2:])
        found = mask if found is None else found + mask
    return found


def _added(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Return a mask to add to the scores; True, which hides a key, becomes -inf."""
    if mask.dtype != torch.bool:
        return mask.to(dtype)
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(mask, -torch.inf)
