"""The any-style network: a transformer that paints one picture in the style of another.

A style picture becomes a code of 256 numbers, for any number of pictures; codes interpolate.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.optimized_blocks import EPS, AdaIN, TransformerBlock
from models.pictures import check_pictures, padded
from models.vit_config import PATCH, VIT_VARIANTS, VitConfig
from models.vit_convolutions import Decoder, Stem, keep_variance


class StyleEncoder(nn.Module):
    """The encoder from style pictures to style codes."""

    def __init__(self, config: VitConfig, *, fused: bool) -> None:
        super().__init__()
        self.config = config
        self.stem = Stem(config, normed=False)
        self.blocks = _blocks(config, config.style_blocks, fused=fused)
        self.hidden = nn.Linear(2 * len(config.taps) * config.embed_dim, 2 * config.code_dim)
        self.code = nn.Linear(2 * config.code_dim, config.code_dim)
        for layer in (self.hidden, self.code):
            keep_variance(layer)

    def forward(self, picture: Tensor, key_stride: int | None = None) -> Tensor:
        """Encode [N, 3, H, W], H and W multiples of 8, as [N, code_dim]."""
        tokens, size = _flat(self.stem(picture).tokens)
        stride = key_stride or self.config.key_stride(*size)
        statistics: list[Tensor] = []
        for number, block in enumerate(self.blocks, 1):
            tokens = block(tokens, size, stride)
            if number in self.config.taps:
                variance, mean = torch.var_mean(tokens.float(), 1, correction=0)
                statistics += [mean, (variance + EPS).sqrt()]
        joined = torch.cat(statistics, 1).to(tokens.dtype)
        return self.code(F.gelu(self.hidden(joined)))


class StyleForgeTransformer(nn.Module):
    """The network that paints pictures of any size in the style of others.

    `variant` is "tiny", "small" or "base", else ValueError, or the dimensions. `fused` selects the
    wrappers of models.custom_attention_wrapper; otherwise plain PyTorch layers with the same keys.
    """

    def __init__(self, variant: str | VitConfig = "small", *, fused: bool = True) -> None:
        super().__init__()
        self.config = config = _config(variant)
        self.style = StyleEncoder(config, fused=fused)
        self.stem = Stem(config, normed=True)
        self.injections = nn.ModuleList(
            AdaIN(config.embed_dim, config.code_dim) for _ in range(config.content_blocks)
        )
        self.blocks = _blocks(config, config.content_blocks, fused=fused)
        self.decoder = Decoder(config)

    def forward(self, content: Tensor, style: Tensor, key_stride: int | None = None) -> Tensor:
        """Paint `content` in the style of `style`, whose size may differ, and whose batch may be 1.

        Shapes, `key_stride` (for both pictures) and errors are as for `stylize`.
        """
        return self.stylize(content, self.encode_style(style, key_stride), key_stride)

    def encode_style(self, picture: Tensor, key_stride: int | None = None) -> Tensor:
        """Compute the codes [N, code_dim] of [N, 3, H, W], RGB 0-255, H and W at least 16.

        The code of a mixture of styles is the weighted mean of their codes.

        Raises:
            ValueError: If the shape or the dtype differs.
        """
        check_pictures(picture)
        return self.style(padded(picture, PATCH), key_stride)

    def stylize(self, content: Tensor, code: Tensor, key_stride: int | None = None) -> Tensor:
        """Paint pictures in the style of a code, about 0-255, not clamped.

        Args:
            content: [N, 3, H, W] floating, RGB 0-255, H and W at least 16, else ValueError. Sides
                that are not multiples of 8 are padded by reflection, and the result is cropped.
            code: [N, code_dim] or [1, code_dim], from `encode_style`.
            key_stride: Side of the groups of tokens that share a key. None: the smallest with at
                most `config.max_keys` keys, so that memory stays proportional to the size.
        """
        check_pictures(content)
        if code.dim() != 2 or code.shape[1] != self.config.code_dim:
            raise ValueError(f"expected codes [N, {self.config.code_dim}], got {list(code.shape)}")
        if code.shape[0] not in (1, content.shape[0]):
            raise ValueError(f"{code.shape[0]} codes do not fit {content.shape[0]} pictures")
        height, width = content.shape[-2:]
        stem = self.stem(padded(content, PATCH))
        tokens, size = _flat(stem.tokens)
        stride = key_stride or self.config.key_stride(*size)
        for inject, block in zip(self.injections, self.blocks, strict=True):
            tokens = block(inject(tokens, code), size, stride)
        planes = tokens.transpose(1, 2).reshape(len(tokens), -1, *size)
        return self.decoder(planes, stem, code)[..., :height, :width]


def _config(variant: str | VitConfig) -> VitConfig:
    if isinstance(variant, VitConfig):
        return variant
    if variant not in VIT_VARIANTS:
        raise ValueError(f"expected one of {', '.join(VIT_VARIANTS)}, got '{variant}'")
    return VIT_VARIANTS[variant]


def _blocks(config: VitConfig, count: int, *, fused: bool) -> nn.ModuleList:
    return nn.ModuleList(
        TransformerBlock(config.embed_dim, config.num_heads, config.hidden_dim, fused=fused)
        for _ in range(count)
    )


def _flat(planes: Tensor) -> tuple[Tensor, tuple[int, int]]:
    """Return [N, C, h, w] as tokens [N, h w, C], and (h, w)."""
    return planes.flatten(2).transpose(1, 2), (planes.shape[2], planes.shape[3])
