"""The transformer blocks of the any-style network, and the normalizations that carry a style."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.custom_attention_wrapper import CustomMultiheadAttention, FusedFFNWrapper

EPS = 1e-5  # added to variances, as in PyTorch's norms


def normalize(x: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Subtract the mean and divide by the standard deviation; return the shape and dtype of `x`.

    Unlike `nn.functional.instance_norm`, it preserves channels-last memory. The statistics over
    `dims` are computed in float32 or better.
    """
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    variance, mean = torch.var_mean(wide, dims, correction=0, keepdim=True)
    return ((wide - mean) * torch.rsqrt(variance + EPS)).to(x.dtype)


class AdaIN(nn.Module):
    """Adaptive instance norm (Huang and Belongie 2017, arXiv:1703.06868) for tokens or planes.

    Each feature is normalized over the picture, then scaled and shifted. A linear layer computes
    the scale and the shift from the style code.
    """

    def __init__(self, features: int, code_dim: int) -> None:
        super().__init__()
        self.affine = nn.Linear(code_dim, 2 * features)
        # same reason as in models.vit_convolutions.keep_variance
        if not self.affine.weight.is_meta:
            nn.init.normal_(self.affine.weight, std=0.5 * code_dim**-0.5)
        nn.init.zeros_(self.affine.bias)

    def forward(self, x: Tensor, code: Tensor) -> Tensor:
        """Give tokens [N, T, features] or planes [N, features, H, W] the statistics of a style.

        `code` is [N, code_dim] or [1, code_dim].
        """
        scale, shift = self.affine(code).chunk(2, -1)
        planes = x.dim() == 4
        dims = (2, 3) if planes else (1,)
        shape = (scale.shape[0], -1, 1, 1) if planes else (scale.shape[0], 1, -1)
        return torch.addcmul(
            shift.reshape(shape).to(x.dtype),
            normalize(x, dims),
            1 + scale.reshape(shape).to(x.dtype),
        )


class PlainAttention(nn.MultiheadAttention):
    """PyTorch's multi-head attention with the interface of CustomMultiheadAttention."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        # PyTorch: its parameters have no annotations.
        super().__init__(embed_dim, num_heads, batch_first=True)  # pyright: ignore[reportUnknownMemberType]

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        keys = x if context is None else context
        return super().forward(x, keys, keys, need_weights=False)[0]


class PlainFFN(nn.Module):
    """The feed-forward network in plain PyTorch layers, with FusedFFNWrapper's keys."""

    def __init__(self, embed_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(embed_dim, hidden_dim)
        self.activation = nn.GELU("tanh")
        self.fc2 = nn.Linear(hidden_dim, embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(self.activation(self.fc1(x)))


class TransformerBlock(nn.Module):
    """x + attention(norm(x)), then x + ffn(norm(x)): a pre-norm block (arXiv:2002.04745).

    `fused` selects models.custom_attention_wrapper; otherwise plain PyTorch layers with the same
    keys. `hidden_dim` is the width of the feed-forward network's hidden layer.
    """

    def __init__(
        self, embed_dim: int, num_heads: int, hidden_dim: int, *, fused: bool = True
    ) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim)
        self.attention = (CustomMultiheadAttention if fused else PlainAttention)(
            embed_dim, num_heads
        )
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ffn = (FusedFFNWrapper if fused else PlainFFN)(embed_dim, hidden_dim)

    def forward(self, x: Tensor, size: tuple[int, int], key_stride: int = 1) -> Tensor:
        """Apply the block to tokens [N, T, embed_dim], row by row; T is rows times columns.

        `key_stride` is the side of the square groups of tokens that share a key and a value. Both
        are linear in the token, so the mean token yields the mean key and value.
        """
        normed = self.norm1(x)
        context = mean_tokens(normed, size, key_stride) if key_stride > 1 else None
        x = x + self.attention(normed, context)
        return x + self.ffn(self.norm2(x))


def mean_tokens(tokens: Tensor, size: tuple[int, int], stride: int) -> Tensor:
    """Average square groups of tokens; groups at the right and the bottom may be smaller.

    Maps [N, T, C], row by row, to [N, ceil(rows / stride) * ceil(columns / stride), C].
    """
    planes = tokens.transpose(1, 2).reshape(len(tokens), -1, *size)
    pooled = F.avg_pool2d(planes, stride, ceil_mode=True, count_include_pad=False)
    return pooled.flatten(2).transpose(1, 2)
