"""First impressions of a style before training, painted by the any-style network."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from app.styles.any_style_networks import AnyStyleNetworks
from models.families.any_style import StylePainter


def first_impression(
    networks: AnyStyleNetworks, style: NDArray[np.uint8], picture: NDArray[np.uint8]
) -> NDArray[np.uint8] | None:
    """Paint one picture, [H, W, 3] uint8 RGB, in the style of another, on the CPU, uncompiled.

    Returns:
        [H, W, 3] uint8, RGB; None if there is no network.

    Raises:
        CheckpointError: If the network's file is damaged.
        ValueError: If the style picture is too narrow.
    """
    network = networks.default()
    if network is None:
        return None
    painter = StylePainter(network.module(fused=False), fused=False)
    painter.code.copy_(network.encode(style).values)
    pixels = torch.from_numpy(picture.copy()).permute(2, 0, 1)[None].float()
    with torch.no_grad():
        painted = painter(pixels)[0]
    return painted.clamp(0, 255).round().to(torch.uint8).permute(1, 2, 0).numpy()
