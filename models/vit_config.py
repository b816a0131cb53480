"""The dimensions of the any-style transformer network, and the variants that we train."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, cast

from models.safe_load import is_dict

PATCH = 8  # pixels per token side: the stem halves the picture three times
MAX_WIDTH = 4096  # features of a token
MAX_BLOCKS = 24  # in each of the two stacks


@dataclass(frozen=True, slots=True)
class VitConfig:
    """The dimensions of models.vit_style_transfer.StyleForgeTransformer; out of range, ValueError.

    Args:
        embed_dim: Features of a token, a multiple of `num_heads`.
        hidden_dim: Width of the hidden layer of the feed-forward networks.
        style_blocks: Transformer blocks for the tokens of the style; `content_blocks` likewise.
        code_dim: Numbers in a style code.
        widths: Channels of the stem and the decoder at full, half and quarter resolution.
        max_keys: Most keys that a token attends to; beyond, they are means of square groups.
    """

    embed_dim: int = 384
    num_heads: int = 6
    hidden_dim: int = 1152
    style_blocks: int = 6
    content_blocks: int = 6
    code_dim: int = 256
    widths: tuple[int, int, int] = (32, 64, 128)
    max_keys: int = 1024

    def __post_init__(self) -> None:
        sizes = (self.embed_dim, self.num_heads, self.hidden_dim, self.code_dim, *self.widths)
        if len(self.widths) != 3 or not all(1 <= size <= MAX_WIDTH for size in sizes):
            raise ValueError(f"expected widths of 1 to {MAX_WIDTH}, got {self}")
        if self.embed_dim % self.num_heads:
            raise ValueError(
                f"{self.embed_dim} features cannot be split among {self.num_heads} heads"
            )
        if not (1 <= self.style_blocks <= MAX_BLOCKS and 1 <= self.content_blocks <= MAX_BLOCKS):
            raise ValueError(
                f"expected 1 to {MAX_BLOCKS} blocks, "
                f"got {self.style_blocks} and {self.content_blocks}"
            )
        if self.max_keys < 16:
            raise ValueError(f"expected at least 16 keys, got {self.max_keys}")

    @property
    def taps(self) -> tuple[int, ...]:
        """The style blocks, counted from 1, whose tokens form the style code: (2, 4, 6) of 6."""
        return tuple(sorted({math.ceil(self.style_blocks * part / 3) for part in (1, 2, 3)}))

    def key_stride(self, rows: int, columns: int) -> int:
        """Return the side of the groups of tokens that share one of at most `max_keys` keys."""
        stride = max(1, math.isqrt(max(0, rows * columns - 1) // self.max_keys))
        while math.ceil(rows / stride) * math.ceil(columns / stride) > self.max_keys:
            stride += 1
        return stride

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "widths": list(self.widths)}


# For CPUs: a quarter of the arithmetic of "small".
TINY = VitConfig(embed_dim=192, num_heads=3, hidden_dim=576, widths=(16, 32, 64))
SMALL = VitConfig()
BASE = VitConfig(embed_dim=512, num_heads=8, hidden_dim=2048)

# Keyed by the names that users choose.
VIT_VARIANTS: dict[str, VitConfig] = {"tiny": TINY, "small": SMALL, "base": BASE}


def vit_config(values: object) -> VitConfig:
    """Build a configuration from VitConfig.as_dict's values.

    Raises:
        ValueError: If a field is missing, unknown or not a whole number.
    """
    if not is_dict(values) or set(values) != {field.name for field in fields(VitConfig)}:
        raise ValueError("invalid dimensions of an any-style network")
    numbers: dict[str, Any] = dict(values)
    widths: object = numbers.pop("widths")
    listed = cast(list[object], widths) if isinstance(widths, list) else [None]
    if not all(type(number) is int for number in (*numbers.values(), *listed)):
        raise ValueError("the dimensions of an any-style network must be whole numbers")
    return VitConfig(**numbers, widths=cast(tuple[int, int, int], tuple(listed)))


def variant_name(config: VitConfig) -> str:
    return next((name for name, known in VIT_VARIANTS.items() if known == config), "custom")
