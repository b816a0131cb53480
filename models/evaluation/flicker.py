"""Measures flicker: a network's amplification of camera noise, in a still and a panned scene."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from models.evaluation.image_metrics import projected_clamp

FRAMES = 60
SIGMA = 2.0  # of 255: the noise of a webcam in a lit room
BATCH = 6  # frames per forward pass; divides FRAMES, so that all batches have one shape
WINDOW = 3 / 4  # of the photograph's sides: the view of the panning camera
STEPS = ((1, 2), (2, 1), (3, 1), (1, 3), (2, 3), (1, 1))  # pixels down and right, per frame
EDGE = 1 / 16  # of the window's sides, excluded from the comparison of a pan
MULTIPLE = 4  # the window's sides are multiples of it, so that networks do not pad
SMALLEST = 24  # pixels; the window of a smaller photograph is below the network's minimum

Styler = Callable[[Tensor], Tensor]  # [N, 3, H, W] float RGB, about 0-255, in and out


def still_flicker(
    network: Styler,
    photograph: Tensor,
    *,
    frames: int = FRAMES,
    sigma: float = SIGMA,
    seed: int = 0,
    batch: int = BATCH,
) -> float:
    """Measure the flicker of a still scene, a photograph [1, 3, H, W], RGB 0-255.

    Every frame is the photograph plus Gaussian noise, clamped and rounded like a camera's.

    Args:
        frames: Number of frames, 2 or more.
        sigma: Standard deviation of the noise, of 255.
        seed: Seed of the noise. The photograph's device draws it, so on one device every network
            sees the same noise.

    Returns:
        The mean absolute difference of consecutive results, clamped and rounded, divided by that
        difference for consecutive frames: 0 is perfectly steady, 1 passes the noise on unchanged.

    Raises:
        ValueError: If there are fewer than 2 frames, or the noise rounds to zero.
    """
    _, _, height, width = photograph.shape
    places = [(0, 0)] * frames
    return _flicker(network, photograph, places, (height, width), sigma, seed, batch)


def panned_flicker(
    network: Styler,
    photograph: Tensor,
    *,
    frames: int = FRAMES,
    sigma: float = SIGMA,
    seed: int = 0,
    batch: int = BATCH,
) -> float:
    """Measure the flicker of a panned scene, compensated for the motion.

    The frames are crops of WINDOW times the photograph's sides. They move by whole pixels (STEPS,
    cyclically) and turn back at the photograph's edges. Noise is added after cropping, so it does
    not move with the scene. Consecutive results, and consecutive frames, are aligned by the known
    motion and compared where they overlap: anything that does not move with the scene counts as
    flicker. A border of EDGE is excluded, since reflection padding moves against the scene.

    The rest is as for `still_flicker`; ValueError also if a side is less than SMALLEST.
    """
    _, _, height, width = photograph.shape
    if min(height, width) < SMALLEST:
        raise ValueError(
            f"panning needs a photograph of at least {SMALLEST}x{SMALLEST}, not {width}x{height}"
        )
    window = _part(height), _part(width)
    places = pan(frames, height - window[0], width - window[1])
    return _flicker(network, photograph, places, window, sigma, seed, batch, EDGE)


def pan(frames: int, room_down: int, room_right: int) -> list[tuple[int, int]]:
    """Return a window's (down, right) offset per frame; it turns back at the room, in pixels."""
    down = right = 0
    places: list[tuple[int, int]] = []
    for frame in range(frames):
        places.append((_fold(down, room_down), _fold(right, room_right)))
        step = STEPS[frame % len(STEPS)]
        down, right = down + step[0], right + step[1]
    return places


@torch.no_grad()
def _flicker(
    network: Styler,
    photograph: Tensor,
    places: Sequence[tuple[int, int]],
    window: tuple[int, int],
    sigma: float,
    seed: int,
    batch: int,
    edge: float = 0.0,
) -> float:
    if photograph.shape[0] != 1:
        raise ValueError(f"flicker needs one photograph, not {photograph.shape[0]}")
    if len(places) < 2:
        raise ValueError(f"flicker needs at least 2 frames, not {len(places)}")
    height, width = window
    device = photograph.device
    down, right = int(height * edge), int(width * edge)
    generator = torch.Generator(device).manual_seed(seed)
    came = went = torch.zeros((), dtype=torch.float64, device=device)
    frames: tuple[Tensor, ...] = ()  # of this batch, after the last frame of the batch before
    results: tuple[Tensor, ...] = ()
    for first in range(0, len(places), batch):
        part = places[first : first + batch]
        scene = torch.cat([photograph[..., y : y + height, x : x + width] for y, x in part])
        noise = torch.randn(scene.shape, generator=generator, device=device)
        noisy = projected_clamp(scene + sigma * noise)
        inside = ..., slice(down, height - down), slice(right, width - right)
        frames += torch.split(noisy[inside], 1)
        results += torch.split(projected_clamp(network(noisy).float())[inside], 1)
        for n in range(len(frames) - 1):
            here = first + n - (1 if first else 0)
            motion = (
                places[here + 1][0] - places[here][0],
                places[here + 1][1] - places[here][1],
            )
            came = came + _difference(frames[n], frames[n + 1], motion)
            went = went + _difference(results[n], results[n + 1], motion)
        frames, results = frames[-1:], results[-1:]
    if not float(came):
        raise ValueError(f"noise with a deviation of {sigma} rounds to zero: nothing can flicker")
    return float(went / came)


def _difference(earlier: Tensor, later: Tensor, motion: tuple[int, int]) -> Tensor:
    """Compute the mean absolute difference of two frames where they overlap, a float64 scalar.

    The camera has moved by `motion` pixels (down, right) in between.
    """
    for axis, moved in zip((2, 3), motion, strict=True):
        common = earlier.shape[axis] - abs(moved)
        earlier = earlier.narrow(axis, max(moved, 0), common)
        later = later.narrow(axis, max(-moved, 0), common)
    return (earlier - later).abs().mean(dtype=torch.float64)


def _part(side: int) -> int:
    return int(side * WINDOW) // MULTIPLE * MULTIPLE


def _fold(distance: int, room: int) -> int:
    """Return the position after moving by `distance` back and forth between 0 and `room`."""
    return room - abs(room - distance % (2 * room))
