"""Figures of a single picture: clipped pixels, its border, and its distance from another.

Pictures are [1, 3, H, W] float RGB in 0-255, and may overshoot that range as networks do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

RING = 4  # pixels: the network's last layer mirrors as many at the edge
WITHIN = 16  # pixels from the edge, where its own mirrored pixels no longer dominate
SMALLEST = 2 * (WITHIN + 2 * RING) + 2 * RING  # a side that has room for both
LUMA = (0.299, 0.587, 0.114)


@dataclass(frozen=True, slots=True)
class Border:
    """How the outermost ring differs from the ring inside it, each RING pixels wide.

    `edge` is the mean absolute difference of luma (0-255) across the two, position by position
    along the border; `within` is the same for two rings further inside, which tells what texture
    alone does; `step` is the mean signed difference: below 0, the picture has a dark frame.
    """

    edge: float
    within: float
    step: float


def to_tensor(pixels: NDArray[np.uint8], device: torch.device) -> Tensor:
    """[1, 3, H, W] float32 of an (H, W, 3) uint8 picture."""
    return torch.tensor(pixels).to(device).permute(2, 0, 1)[None].float()


def to_pixels(picture: Tensor) -> NDArray[np.uint8]:
    """(H, W, 3) uint8: the picture as it is seen."""
    return projected_clamp(picture)[0].to(torch.uint8).permute(1, 2, 0).cpu().numpy()


def projected_clamp(picture: Tensor) -> Tensor:
    """Clamped and rounded to 0-255, still floating: no flicker or clipping is hidden in it that
    a screen would not show."""
    return picture.clamp(0, 255).round()


def clipped(picture: Tensor) -> float:
    """The share of pixels with a channel at 0 or 255 as seen, where drawing is lost; 0 to 1."""
    seen = projected_clamp(picture)
    return float(((seen == 0) | (seen == 255)).any(1).float().mean())


def beyond(picture: Tensor) -> float:
    """The share of pixels with a channel outside 0-255 before clamping; 0 to 1."""
    return float(((picture < 0) | (picture > 255)).any(1).float().mean())


def psnr(picture: Tensor, reference: Tensor) -> float:
    """PSNR in dB of the two, clamped to 0-255 but not rounded; infinite if they are equal."""
    error = float((picture.clamp(0, 255) - reference.clamp(0, 255)).double().square().mean())
    return 10 * math.log10(255**2 / error) if error else math.inf


def border(picture: Tensor) -> Border:
    """The border of a picture whose sides are SMALLEST or more; ValueError if one is less."""
    height, width = picture.shape[2:]
    if min(height, width) < SMALLEST:
        raise ValueError(
            f"a border needs a picture of {SMALLEST}x{SMALLEST} or more, not {width}x{height}"
        )
    weights = torch.tensor(LUMA, device=picture.device)[:, None, None]
    luma = (projected_clamp(picture)[0] * weights).sum(0)  # [H, W]
    outermost, inner = _across(luma, 0), _across(luma, WITHIN)
    return Border(
        edge=float(outermost.abs().mean()),
        within=float(inner.abs().mean()),
        step=float(outermost.mean()),
    )


def _across(luma: Tensor, depth: int) -> Tensor:
    """The ring at `depth` minus the next one inside, at every position along the four sides but
    for the corners, which belong to two."""
    inside = depth + 2 * RING
    differences = []
    for side in (luma, luma.flip(0), luma.T, luma.T.flip(0)):
        strip = side[:, inside : side.shape[1] - inside]
        outer = strip[depth : depth + RING].mean(0)
        inner = strip[depth + RING : inside].mean(0)
        differences.append(outer - inner)
    return torch.cat(differences)
