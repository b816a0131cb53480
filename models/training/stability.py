"""The steadiness of a style: frames that hardly differ should come out hardly different."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

REACH = 4  # pixels a disturbed frame may lie up, down, left or right of the photograph
# More than a webcam's noise and flickering light would forbid the strokes that follow a
# photograph's own grain, and nothing else shows where strokes could be in a blurred background.
NOISE = 3.0  # largest standard deviation of the noise, of 255
GAIN = 0.02  # largest relative change of the light
OFFSET = 3.0  # largest change of the black level, of 255


@dataclass(frozen=True, slots=True, eq=False)
class Disturbance:
    """`frames` are [B, 3, H, W]; their pixel (0, 0) is pixel (`down`, `right`) of the
    photographs, both -4 to 4."""

    frames: Tensor
    down: int
    right: int


def disturb(windows: Tensor, seed: int, step: int, *, moved: bool) -> Disturbance:
    """What a camera might see a moment later: noisy, in another light, and if it has `moved`,
    shifted by whole pixels.

    `windows` [B, 3, H + 8, W + 8], float RGB 0-255, are the photographs with what lies around
    them. A function of seed, step and `moved` alone.
    """
    words = [int(w) for w in np.random.SeedSequence((seed, 2, step)).generate_state(4)]
    top, left = (word % (2 * REACH + 1) if moved else REACH for word in words[:2])
    generator = torch.Generator(windows.device)
    generator.manual_seed(words[2] << 31 | words[3])
    height, width = (side - 2 * REACH for side in windows.shape[2:])
    frames = windows[..., top : top + height, left : left + width]
    draw = torch.rand(3, len(frames), 1, 1, 1, generator=generator, device=frames.device)
    noise = torch.empty_like(frames).normal_(generator=generator)
    gain, offset = 1 + GAIN * (2 * draw[0] - 1), OFFSET * (2 * draw[1] - 1)
    disturbed = frames * gain + offset + noise * (draw[2] * NOISE)
    return Disturbance(disturbed.clamp_(0, 255), top - REACH, left - REACH)


def inside(windows: Tensor) -> Tensor:
    """The photographs themselves: [..., H + 8, W + 8] to [..., H, W]."""
    return windows[..., REACH:-REACH, REACH:-REACH]


def stability_loss(before: Tensor, after: Tensor, down: int, right: int) -> Tensor:
    """mean((y - y')^2) / var(y) where both see the same: 0 is perfect, 2 is unrelated pictures.

    Both are [B, 3, H, W]; `down` and `right` are those of the disturbance `after` comes from.
    Up to the border, although there both see less: the strokes that steadiness takes from the
    middle would else gather along the border, as dots.
    """
    height, width = after.shape[2:]
    top, left = max(0, -down), max(0, -right)  # of what `after` shares
    bottom, end = height - max(0, down), width - max(0, right)
    ours = before[..., top + down : bottom + down, left + right : end + right].float()
    theirs = after[..., top:bottom, left:end].float()
    return (ours - theirs).square().mean() / ours.detach().var()
