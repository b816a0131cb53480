"""Metrics of a picture [1, 3, H, W], RGB 0-255: clipped pixels, border, PSNR against another."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

RING = 4  # pixels: the reflection padding of the network's last layer
WITHIN = 16  # pixels from the edge, where reflection padding no longer dominates
SMALLEST = 2 * (WITHIN + 2 * RING) + 2 * RING  # the shortest side with room for both rings
LUMA = (0.299, 0.587, 0.114)


@dataclass(frozen=True, slots=True)
class Border:
    """The difference in luma (0-255) between rings of RING pixels along the border.

    Attributes:
        edge: Mean absolute difference between the ring at the edge and the next one.
        within: The same for two rings WITHIN pixels from the edge: the effect of texture alone.
        step: Mean signed difference between the rings of `edge`; negative for a dark frame.
    """

    edge: float
    within: float
    step: float


def to_tensor(pixels: NDArray[np.uint8], device: torch.device) -> Tensor:
    """Convert an [H, W, 3] uint8 picture to [1, 3, H, W] float32 on `device`."""
    return torch.tensor(pixels).to(device).permute(2, 0, 1)[None].float()


def to_pixels(picture: Tensor) -> NDArray[np.uint8]:
    """Clamp [1, 3, H, W] to 0-255, drop the fractions, and return [H, W, 3] uint8 on the CPU."""
    return projected_clamp(picture)[0].to(torch.uint8).permute(1, 2, 0).cpu().numpy()


def projected_clamp(picture: Tensor) -> Tensor:
    """Clamp and round to 0-255, as a screen shows the picture; the dtype stays floating."""
    return picture.clamp(0, 255).round()


def clipped(picture: Tensor) -> float:
    """Compute the fraction of pixels with a channel at 0 or 255 after clamping and rounding."""
    displayed = projected_clamp(picture)
    return float(((displayed == 0) | (displayed == 255)).any(1).float().mean())


def beyond(picture: Tensor) -> float:
    """Compute the fraction of pixels with a channel outside 0-255 before clamping."""
    return float(((picture < 0) | (picture > 255)).any(1).float().mean())


def psnr(picture: Tensor, reference: Tensor) -> float:
    """Compute the PSNR in dB of two pictures, clamped to 0-255 but not rounded; inf if equal."""
    error = float((picture.clamp(0, 255) - reference.clamp(0, 255)).double().square().mean())
    return 10 * math.log10(255**2 / error) if error else math.inf


def border(picture: Tensor) -> Border:
    """Measure the border of [1, 3, H, W].

    Raises:
        ValueError: If H or W is less than SMALLEST.
    """
    height, width = picture.shape[2:]
    if min(height, width) < SMALLEST:
        raise ValueError(
            f"a border needs a picture of at least {SMALLEST}x{SMALLEST}, not {width}x{height}"
        )
    weights = torch.tensor(LUMA, device=picture.device)[:, None, None]
    luma = (projected_clamp(picture)[0] * weights).sum(0)  # [H, W]
    at_edge, inside = _ring_difference(luma, 0), _ring_difference(luma, WITHIN)
    return Border(
        edge=float(at_edge.abs().mean()),
        within=float(inside.abs().mean()),
        step=float(at_edge.mean()),
    )


def _ring_difference(luma: Tensor, depth: int) -> Tensor:
    """Subtract the next ring inside from that at `depth`, averaged, without the shared corners."""
    inside = depth + 2 * RING
    differences: list[Tensor] = []
    for side in (luma, luma.flip(0), luma.T, luma.T.flip(0)):
        strip = side[:, inside : side.shape[1] - inside]
        outer = strip[depth : depth + RING].mean(0)
        inner = strip[depth + RING : inside].mean(0)
        differences.append(outer - inner)
    return torch.cat(differences)
