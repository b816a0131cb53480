"""The pictures that networks accept: their shape, their least size, and the padding of others."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

# pixels; below, reflection padding is wider than the smallest activations
MIN_SIDE = 16


def check_pictures(x: Tensor) -> None:
    """Raise ValueError unless pictures are [N, 3, H, W], floating, of at least MIN_SIDE."""
    shape = list(x.shape)
    if x.dim() != 4 or shape[1] != 3:
        raise ValueError(f"expected pictures [N, 3, H, W], got {shape}")
    if min(shape[2:]) < MIN_SIDE:
        raise ValueError(
            f"expected pictures of at least {MIN_SIDE}x{MIN_SIDE} pixels, got {shape[3]}x{shape[2]}"
        )
    if not x.is_floating_point():
        raise ValueError(f"expected floating-point pictures 0-255, got {x.dtype}")


def padded(x: Tensor, multiple: int) -> Tensor:
    """Pad [N, C, H, W] by reflection at the right and the bottom to multiples of `multiple`."""
    height, width = x.shape[-2:]
    if height % multiple == 0 and width % multiple == 0:
        return x
    return F.pad(x, (0, -width % multiple, 0, -height % multiple), mode="reflect")
