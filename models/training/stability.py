"""The stability loss: similar frames should receive similar paintings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

REACH = 4  # largest shift of a disturbed frame, in pixels, up, down, left or right
# About a webcam's noise and flickering light. More would suppress the strokes that follow the grain
# of a photograph; in a blurred background they have nothing else to follow.
NOISE = 3.0  # largest standard deviation of the noise, of 255
GAIN = 0.02  # largest relative change of the brightness
OFFSET = 3.0  # largest change of the black level, of 255


@dataclass(frozen=True, slots=True, eq=False)
class Disturbance:
    """Disturbed copies of photographs, [B, 3, H, W] float, RGB 0-255.

    Their pixel (0, 0) is pixel (`down`, `right`) of the photographs; each is -REACH to REACH.
    """

    frames: Tensor
    down: int
    right: int


def disturb(windows: Tensor, seed: int, step: int, *, moved: bool) -> Disturbance:
    """Simulate the next frame of a camera: with noise, in another light, and shifted if `moved`.

    `windows` are the photographs with a margin of REACH, [B, 3, H + 8, W + 8], RGB 0-255; shifts
    are by whole pixels.
    """
    bits = [int(word) for word in np.random.SeedSequence((seed, 2, step)).generate_state(4)]
    top, left = (word % (2 * REACH + 1) if moved else REACH for word in bits[:2])
    generator = torch.Generator(windows.device)
    generator.manual_seed(bits[2] << 31 | bits[3])
    height, width = (side - 2 * REACH for side in windows.shape[2:])
    frames = windows[..., top : top + height, left : left + width]
    draw = torch.rand(3, len(frames), 1, 1, 1, generator=generator, device=frames.device)
    noise = torch.empty_like(frames).normal_(generator=generator)
    gain, offset = 1 + GAIN * (2 * draw[0] - 1), OFFSET * (2 * draw[1] - 1)
    disturbed = frames * gain + offset + noise * (draw[2] * NOISE)
    return Disturbance(disturbed.clamp_(0, 255), top - REACH, left - REACH)


def inside(windows: Tensor) -> Tensor:
    """Cut the margin off: [..., H + 8, W + 8] to the photographs, [..., H, W]."""
    return windows[..., REACH:-REACH, REACH:-REACH]


def stability_loss(before: Tensor, after: Tensor, down: int, right: int) -> Tensor:
    """Compute the loss mean((y - y')^2) / var(y) over the region visible in both frames.

    The border is included, although padding affects it: otherwise the strokes that this loss
    suppresses elsewhere would gather there, as dots.

    Args:
        before: y, the outputs for the photographs, [B, 3, H, W].
        after: y', the outputs for the disturbed frames, likewise, offset by `down` and `right`.

    Returns:
        A float32 scalar: 0 for equal pictures, about 2 for unrelated ones.
    """
    height, width = after.shape[2:]
    top, left = max(0, -down), max(0, -right)  # of the overlap, in `after`
    bottom, end = height - max(0, down), width - max(0, right)
    ours = before[..., top + down : bottom + down, left + right : end + right].float()
    theirs = after[..., top:bottom, left:end].float()
    return (ours - theirs).square().mean() / ours.detach().var()
