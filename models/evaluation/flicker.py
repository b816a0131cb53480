"""Flicker: what a network makes of the noise of a camera, in a still and in a panned scene."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from models.evaluation.image_metrics import projected_clamp

FRAMES = 60
SIGMA = 2.0  # of 255: a webcam in a lit room
BATCH = 6  # frames styled at once; divides FRAMES, so that all batches have one shape
WINDOW = 3 / 4  # of the photograph's sides: what the panning camera sees
STEPS = ((1, 2), (2, 1), (3, 1), (1, 3), (2, 3), (1, 1))  # pixels down and right, frame by frame
EDGE = 1 / 16  # of the window's sides: left out of a pan's comparison
MULTIPLE = 4  # of the window's sides, so that networks need not pad it
SMALLEST = 24  # pixels: the window of a smaller photograph is less than a network takes

Styler = Callable[[Tensor], Tensor]  # [N, 3, H, W] float RGB, about 0-255, in and out


def still_flicker(
    network: Styler,
    photograph: Tensor,  # [1, 3, H, W], float RGB 0-255
    *,
    frames: int = FRAMES,
    sigma: float = SIGMA,
    seed: int = 0,
    batch: int = BATCH,
) -> float:
    """The flicker of a camera on a tripod, looking at `photograph`.

    Each of `frames` frames is the photograph plus Gaussian noise of deviation `sigma` (of 255),
    rounded and clamped, so that it could have come from a camera. The flicker is the mean
    absolute difference of consecutive results over that of consecutive frames, results clamped
    and rounded as a screen shows them: 1 passes noise on as it is, 0 is perfectly steady.

    The noise is drawn on the photograph's device from `seed`: one device gives every network
    the same frames. ValueError for fewer than 2 frames, and for noise that rounds to nothing.
    """
    _, _, height, width = photograph.shape
    places = [(0, 0)] * frames
    return _flicker(network, photograph, places, (height, width), sigma, seed, batch)


def panned_flicker(
    network: Styler,
    photograph: Tensor,  # [1, 3, H, W], float RGB 0-255, sides of SMALLEST or more
    *,
    frames: int = FRAMES,
    sigma: float = SIGMA,
    seed: int = 0,
    batch: int = BATCH,
) -> float:
    """The flicker of a camera that pans over `photograph`, with its motion compensated.

    The camera sees a window of WINDOW times the photograph's sides. From frame to frame it moves
    by whole pixels, one to three down and one to three right (STEPS, in turn), and turns back
    at the photograph's edges. Noise as in `still_flicker` is added after cropping: it stays with
    the sensor while the scene moves. Two consecutive results are laid over each other by the
    known motion, and compared where both see the scene; so are the frames. The flicker is the
    mean absolute difference of the former over that of the latter, which is noise alone. What
    stays with the sensor's grid instead of the scene counts as flicker. An EDGE of either frame
    is left out: beyond it the network sees mirrored pixels, which move against the scene.

    ValueError as for `still_flicker`, and for a photograph that is too small.
    """
    _, _, height, width = photograph.shape
    if min(height, width) < SMALLEST:
        raise ValueError(
            f"panning needs a photograph of {SMALLEST}x{SMALLEST} or more, not {width}x{height}"
        )
    window = _part(height), _part(width)
    places = pan(frames, height - window[0], width - window[1])
    return _flicker(network, photograph, places, window, sigma, seed, batch, EDGE)


def pan(frames: int, room_down: int, room_right: int) -> list[tuple[int, int]]:
    """Where the window's upper left corner is, (down, right), in each of `frames` frames, with
    that much room for it; turns back at the end of the room."""
    down = right = 0
    places = []
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
        raise ValueError(f"flicker is that of one photograph, not {photograph.shape[0]}")
    if len(places) < 2:
        raise ValueError(f"flicker needs 2 frames or more, not {len(places)}")
    height, width = window
    device = photograph.device
    down, right = int(height * edge), int(width * edge)
    generator = torch.Generator(device).manual_seed(seed)
    came = went = torch.zeros((), dtype=torch.float64, device=device)
    frames, results = [], []
    for first in range(0, len(places), batch):
        part = places[first : first + batch]
        scene = torch.cat([photograph[..., y : y + height, x : x + width] for y, x in part])
        noise = torch.randn(scene.shape, generator=generator, device=device)
        noisy = projected_clamp(scene + sigma * noise)
        inside = ..., slice(down, height - down), slice(right, width - right)
        frames += noisy[inside].split(1)
        results += projected_clamp(network(noisy).float())[inside].split(1)
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
        raise ValueError(f"noise of deviation {sigma} rounds to nothing: nothing can flicker")
    return float(went / came)


def _difference(earlier: Tensor, later: Tensor, motion: tuple[int, int]) -> Tensor:
    """The mean absolute difference of two pictures where both see the same scene, the camera
    having moved by `motion` pixels (down, right) in between."""
    for axis, moved in zip((2, 3), motion, strict=True):
        common = earlier.shape[axis] - abs(moved)
        earlier = earlier.narrow(axis, max(moved, 0), common)
        later = later.narrow(axis, max(-moved, 0), common)
    return (earlier - later).abs().mean(dtype=torch.float64)


def _part(side: int) -> int:
    return int(side * WINDOW) // MULTIPLE * MULTIPLE


def _fold(distance: int, room: int) -> int:
    """Where one is after walking `distance` to and fro between 0 and `room`."""
    return room - abs(room - distance % (2 * room))
