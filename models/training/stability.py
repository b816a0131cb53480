"""The steadiness of a style: frames that hardly differ should come out hardly different."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

SHIFT = 8  # pixels: the disturbed frame is this much smaller, and lies anywhere inside
EDGE = 8  # pixels along the border left out of the comparison: there both see less
NOISE = 6.0  # largest standard deviation of the noise, of 255
GAIN = 0.05  # largest relative change of the light
OFFSET = 6.0  # largest change of the black level, of 255


@dataclass(frozen=True, slots=True, eq=False)
class Disturbance:
    """`frames` are [B, 3, H - 8, W - 8]; pixel (0, 0) is (`top`, `left`) of the originals."""

    frames: Tensor
    top: int
    left: int


def disturb(photographs: Tensor, seed: int, step: int) -> Disturbance:
    """`photographs` [B, 3, H, W], float RGB 0-255, as a camera might see them a moment later:
    shifted by whole pixels, noisy, and in another light. A function of seed and step alone."""
    words = np.random.SeedSequence((seed, 2, step)).generate_state(4)
    top, left = (int(word % (SHIFT + 1)) for word in words[:2])
    generator = torch.Generator(photographs.device)
    generator.manual_seed(int(words[2]) << 32 | int(words[3]))
    height, width = (side - SHIFT for side in photographs.shape[2:])
    frames = photographs[..., top : top + height, left : left + width]
    draw = torch.rand(3, len(frames), 1, 1, 1, generator=generator, device=frames.device)
    noise = torch.empty_like(frames).normal_(generator=generator)
    gain, offset = 1 + GAIN * (2 * draw[0] - 1), OFFSET * (2 * draw[1] - 1)
    disturbed = frames * gain + offset + noise * (draw[2] * NOISE)
    return Disturbance(disturbed.clamp_(0, 255), top, left)


def stability_loss(before: Tensor, after: Tensor, top: int, left: int) -> Tensor:
    """mean((y - y')^2) / var(y) where both see the same: 0 is perfect, 2 is unrelated pictures.

    `before` is [B, 3, H, W], `after` [B, 3, H - 8, W - 8], the result of the disturbed frames.
    """
    height, width = (side - 2 * EDGE for side in after.shape[2:])
    ours = before[..., top + EDGE : top + EDGE + height, left + EDGE : left + EDGE + width]
    theirs = after[..., EDGE : EDGE + height, EDGE : EDGE + width]
    ours, theirs = ours.float(), theirs.float()
    return (ours - theirs).square().mean() / ours.detach().var()
