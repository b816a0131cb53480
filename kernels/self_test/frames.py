"""Compares the kernels around the network with PyTorch's arithmetic, before their first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from kernels.frames import smoothing
from kernels.frames.combing import MARGIN, Comb
from kernels.frames.cpu_texture import CpuTexture
from kernels.frames.launchers import FrameKernels
from kernels.frames.native_smoothing import Pixels
from kernels.frames.noise import BANDS, CELL, WINDOWS, taps, tile
from utils.stroke_directions import FOLLOW, HAND, Handle

FRAME, SMALL = (66, 100), (33, 50)  # height, width
NOISE, NOISE_FLOOR, MAX_SLOPE = 50.0, 4, 1.5  # as in frames/native/guided.h
STRENGTH, AMOUNT = 0.6, 0.5
DEVIATION, FLAT = 20.0, 18.0  # as in frames/native/texture.h
LEVEL = Comb(0.0, 0.0)  # short strokes along the rows
LINES = Comb(FOLLOW, 0.0)
BY_HAND = Comb(HAND, 0.0, (Handle(0.3, 0.6, 0.0),))  # lies like LEVEL
VIEW, MOVED = (160, 224), (6, 4)  # height, width; pixels to the right and down
# The new result's share at this amount; nearly the same where something moves.
STEADY = 1 - smoothing.MAX_HISTORY_WEIGHT * (1 - (1 - AMOUNT) ** smoothing.EASING)


def self_test(kernels: FrameKernels, device: torch.device) -> int:
    """Compare every kernel with PyTorch on small pictures.

    Return the largest difference, 0-255; rounding in another order explains 2.
    """
    frame, result = _picture(*FRAME, 0).to(device), _picture(*SMALL, 1).to(device)
    small = torch.zeros_like(result)
    kernels.resize(frame, small)
    screen = torch.zeros(*SMALL, 4, dtype=torch.uint8, device=device)
    kernels.screen(frame, screen)
    slopes = kernels.new_slopes(*SMALL, device)
    kernels.slopes(result, small, slopes)
    picture = torch.zeros_like(frame)
    kernels.finish(frame, result, slopes, picture, strength=STRENGTH, keep_colors=True)
    scene = _flat_picture().to(device)
    views = [_view(scene, *moved) for moved in ((0, 0), MOVED)]
    texture, textured = kernels.new_texture(*VIEW, device), torch.zeros_like(views[0])
    kernels.texture(texture, views[0], textured, AMOUNT, continues=True)
    texture.keep_field()
    moving = torch.zeros_like(textured)
    kernels.texture(texture, views[1], moving, AMOUNT, continues=True)
    enlarged = torch.zeros_like(textured)
    kernels.enlarge_texture(texture, views[1], enlarged)
    offset = texture.offset.clone()
    slope = _slope().to(device)
    level, lines, by_hand = (torch.zeros_like(slope) for _ in range(3))
    for comb, made in ((LEVEL, level), (LINES, lines), (BY_HAND, by_hand)):
        kernels.texture(texture, slope, made, AMOUNT, continues=False, comb=comb)
    expected = {
        "resize": (small, _planes(F.avg_pool2d(_planar(frame), 2))),
        "screen": (screen, F.pad(small, (0, 1), value=255)[..., [2, 1, 0, 3]]),
        "finish": (picture, _finished(frame, result, small)),
        "texture": (textured, _textured(views[0])),
        "motion": (offset, torch.tensor(MOVED, device=device)),
        "enlarge": (enlarged, moving),
        "level strokes": (level, _textured(slope, _combed_noise())),
        "strokes along lines": (lines, level),
        "strokes by hand": (by_hand, level),
    }
    expected |= _moved_paintings(kernels, device)
    expected["person"] = _cut_out(kernels, frame, device)
    return max(_most_apart(expected), self_test_smoothing(_stream_on(kernels, device)))


def _moved_paintings(
    kernels: FrameKernels, device: torch.device
) -> dict[str, tuple[Tensor, Tensor]]:
    """Return a painting of a still and of a moved scene, each with what it should be."""
    seen = _detailed_picture()
    before, now = (_view(seen, *moved).to(device) for moved in ((0, 0), MOVED))
    paintings = kernels.new_paintings(*VIEW, device)
    kernels.painted(paintings, 255 - before, before)
    kernels.move(paintings, before)
    still = paintings.shown.clone()
    kernels.move(paintings, now)
    apart = (paintings.shown.float() - (255 - now).float()).abs()
    return {
        "still painting": (still, 255 - before),
        "moved painting": (apart.median(), torch.zeros((), device=device)),
    }


def _cut_out(
    kernels: FrameKernels, painting: Tensor, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Return a painting where a red person is in front of a gray wall, and what it should be."""
    wall = torch.full_like(painting, 90)
    seen, middle = wall.clone(), FRAME[1] // 2
    seen[:, :middle] = torch.tensor([255, 0, 0], dtype=torch.uint8, device=device)
    history = kernels.new_matting(*FRAME, device)
    history.colors.copy_(wall)
    history.noise.fill_(4.0)
    kernels.rough_matte(history, seen, np.ones(3, np.float32), first=True)
    kernels.guide_matte(history, seen)
    mixed = torch.zeros_like(painting)
    kernels.mix(painting, seen, history.slopes, mixed, swapped=False)
    expected = torch.cat([painting[:, :middle], seen[:, middle:]], dim=1)
    mixed[:, middle - 8 : middle + 8] = expected[:, middle - 8 : middle + 8]  # a soft edge
    return mixed, expected


class Stream(Protocol):
    """A smoothed stream of pictures of one size, as NumPy arrays."""

    def smooth(self, result: Pixels, source: Pixels, amount: float) -> Pixels:
        """Return the smoothed picture for the next frame.

        `amount` is 0 for no smoothing to 1 for the most.
        """
        ...

    def motion(self) -> NDArray[np.float32]:
        """Return the newest frame's motion, [h / CELL, w / CELL, 2], in cells."""
        ...


def self_test_smoothing(begin: Callable[[int, int], Stream]) -> int:
    """Compare a smoother of streams with results that follow from its definition.

    `begin` takes height and width. Return the largest difference, 0-255; rounding explains 2.
    """
    scene, result = (_picture(*SMALL, seed) for seed in (0, 1))
    still, other = begin(*SMALL), 255 - result
    smoothed = [still.smooth(each.numpy(), scene.numpy(), AMOUNT) for each in (result, other)]
    panned, seen = begin(*VIEW), _detailed_picture()
    moved = _view(seen, *MOVED)
    panned.smooth(_view(seen, 0, 0).numpy() // 2, _view(seen, 0, 0).numpy(), AMOUNT)
    shown = panned.smooth(moved.numpy() // 2 + 64, moved.numpy(), AMOUNT)
    flow = torch.as_tensor(panned.motion())
    return _most_apart(
        {
            "first": (torch.as_tensor(smoothed[0]), result),
            "smooth": (torch.as_tensor(smoothed[1]), result + STEADY * (other.float() - result)),
            "flow": (
                16 * smoothing.CELL * flow.flatten(0, 1).median(0)[0],
                -16.0 * torch.tensor(MOVED),
            ),
            "moved": (
                (torch.as_tensor(shown) - (moved // 2).float()).median(),
                torch.tensor(STEADY * 64),
            ),
        }
    )


def _stream_on(kernels: FrameKernels, device: torch.device) -> Callable[[int, int], Stream]:
    class GpuStream:
        def __init__(self, height: int, width: int) -> None:
            self._history = kernels.new_history(height, width, device)

        def smooth(self, result: Pixels, source: Pixels, amount: float) -> Pixels:
            there = [torch.as_tensor(each).to(device) for each in (source, result)]
            kernels.smooth(self._history, there[0], there[1], amount)
            return self._history.smoothed.cpu().numpy().copy()

        def motion(self) -> NDArray[np.float32]:
            return self._history.flow.cpu().numpy()

    return GpuStream


def _most_apart(pairs: Mapping[str, tuple[Tensor, Tensor]]) -> int:
    return max(
        int((got.float() - wanted.float()).abs().max().ceil()) for got, wanted in pairs.values()
    )


def self_test_texture(kernels: CpuTexture) -> int:
    """Compare texture on the CPU with PyTorch's on small pictures, like `self_test`."""
    scene = _flat_picture()
    views = [_view(scene, *moved).numpy() for moved in ((0, 0), MOVED)]
    history = kernels.new_texture(*VIEW)
    history.keep_field()
    textured, moving, enlarged = (np.zeros_like(views[0]) for _ in range(3))
    kernels.texture(history, views[0], textured, AMOUNT, continues=True)
    kernels.texture(history, views[1], moving, AMOUNT, continues=True)
    kernels.enlarge_texture(history, views[1], enlarged)
    offset = history.offset.clone()
    slope = _slope()
    level, lines, by_hand = (np.zeros_like(views[0]) for _ in range(3))
    for comb, made in ((LEVEL, level), (LINES, lines), (BY_HAND, by_hand)):
        kernels.texture(history, slope.numpy(), made, AMOUNT, continues=False, comb=comb)
    expected = (
        (torch.as_tensor(textured), _textured(torch.as_tensor(views[0]))),
        (offset, torch.tensor(MOVED)),
        (torch.as_tensor(enlarged), torch.as_tensor(moving)),
        (torch.as_tensor(level), _textured(slope, _combed_noise())),
        (torch.as_tensor(lines), torch.as_tensor(level)),
        (torch.as_tensor(by_hand), torch.as_tensor(level)),
    )
    return max(int((got.double() - wanted.double()).abs().max().ceil()) for got, wanted in expected)


def _finished(frame: Tensor, result: Tensor, small: Tensor) -> Tensor:
    known = _luma(small).float()
    luma = known[None, None]
    variance = _mean(luma * luma) - _mean(luma) ** 2
    target = _planar(result)
    together = _mean(target * luma) - _mean(target) * _mean(luma)
    slope = (_mean(together) / (_mean(variance) + NOISE)).clamp(-MAX_SLOPE, MAX_SLOPE)
    beyond = _luma(frame) - _enlarged(luma)[0, 0]
    rest = beyond - beyond.clamp(-NOISE_FLOOR, NOISE_FLOOR)
    slope = F.interpolate(slope, size=FRAME, mode="bilinear")
    styled = _planes((_enlarged(target) + slope * rest).clamp(0, 255).round())
    y, from_ = _luma(styled), _luma(frame)
    red = ((frame[..., 0] - from_) * 0.713).round() * 1.403
    blue = ((frame[..., 2] - from_) * 0.564).round() * 1.773
    green = -0.714 / 1.403 * red - 0.344 / 1.773 * blue
    colored = (y[..., None] + torch.stack([red, green, blue], dim=-1)).clamp(0, 255)
    return colored * STRENGTH + frame * (1 - STRENGTH)


def _textured(pixels: Tensor, noise: Tensor | None = None) -> Tensor:
    """Return a picture with the texture of its first frame, or with other noise."""
    red, green, blue = pixels.float().unbind(dim=-1)
    gray = (0.299 * red + 0.587 * green + 0.114 * blue).round()[None, None]
    cells = F.avg_pool2d(torch.cat([gray, gray * gray]), CELL)
    variance = torch.zeros((), device=pixels.device)
    for window, reach in zip(WINDOWS, (5, 14), strict=True):
        side = torch.as_tensor(taps(window, reach).copy())
        blur = torch.cat([side.flip(0), side[1:]]).to(pixels.device)
        padded = F.pad(cells, (reach,) * 4, mode="reflect")
        mean, square = F.conv2d(F.conv2d(padded, blur[None, None, None]), blur[None, None, :, None])
        variance = torch.maximum(variance, square - mean * mean)
    flat = (1 - variance.clamp(min=0).sqrt() / FLAT).clamp(0, 1)
    flat = F.interpolate(flat[None], size=VIEW, mode="bilinear")[0, 0]
    if noise is None:
        tiles = [tile(number)[: VIEW[0], : VIEW[1]] for number in range(len(BANDS))]
        noise = torch.as_tensor(sum(tiles) / len(BANDS) ** 0.5)
    added = (noise.to(pixels.device) * flat * (AMOUNT * DEVIATION)).round()
    return (pixels + added[..., None]).clamp(0, 255)


def _combed_noise() -> Tensor:
    """Return the noise of a first frame, combed as LEVEL demands."""
    rows, columns = (np.arange(-2 * MARGIN, side + 2 * MARGIN) for side in VIEW)
    summed = torch.as_tensor(
        sum(
            tile(number).take(rows, 0, mode="wrap").take(columns, 1, mode="wrap")
            for number in range(len(BANDS))
        )
    )
    half = F.avg_pool2d(summed[None, None], 2)[..., MARGIN:-MARGIN, :]
    weights = torch.tensor([0.75, 1.0, 0.75]) * LEVEL.gain
    combed = F.conv2d(half, weights[None, None, None])[..., MARGIN - 1 : 1 - MARGIN]
    return F.interpolate(combed, size=VIEW, mode="bilinear")[0, 0]


def _slope() -> Tensor:
    """Return a picture that becomes brighter downwards, so that its lines are level."""
    rows = 60 + torch.arange(VIEW[0]) // 2
    return rows[:, None, None].expand(*VIEW, 3).to(torch.uint8).contiguous()


def _flat_picture() -> Tensor:
    scene = _picture(VIEW[0] + 16, VIEW[1] + 16, 2)
    scene[VIEW[0] // 3 :] = 90
    scene[-12:-6] = 200
    return scene


def _view(scene: Tensor, right: int, down: int) -> Tensor:
    top, left = 8 - down, 8 - right
    return scene[top : top + VIEW[0], left : left + VIEW[1]].contiguous()


def _detailed_picture() -> Tensor:
    generator = torch.Generator().manual_seed(3)
    coarse = torch.rand(1, 3, VIEW[0] // 6, VIEW[1] // 6, generator=generator) * 255
    size = VIEW[0] + 16, VIEW[1] + 16
    return _planes(F.interpolate(coarse, size=size, mode="bilinear")).to(torch.uint8).contiguous()


def _picture(height: int, width: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    coarse = torch.rand(1, 3, 5, 7, generator=generator) * 255
    fine = F.interpolate(coarse, size=(height, width), mode="bilinear")
    fine[..., :, width // 2 :] = 255 - fine[..., :, width // 2 :]
    return _planes(fine).to(torch.uint8).contiguous()


def _planar(pixels: Tensor) -> Tensor:
    """Convert [H, W, 3] to [1, 3, H, W], float."""
    return pixels.permute(2, 0, 1)[None].float()


def _planes(x: Tensor) -> Tensor:
    """Convert [1, 3, H, W] to [H, W, 3]."""
    return x[0].permute(1, 2, 0)


def _luma(pixels: Tensor) -> Tensor:
    """Convert [H, W, 3] to [H, W], rounded."""
    red, green, blue = pixels.float().unbind(dim=-1)
    return (0.299 * red + 0.587 * green + 0.114 * blue).round()


def _mean(x: Tensor) -> Tensor:
    return F.avg_pool2d(F.pad(x, (1, 1, 1, 1), mode="replicate"), 3, stride=1)


def _enlarged(x: Tensor) -> Tensor:
    return F.interpolate(x, size=FRAME, mode="bicubic").clamp(0, 255).round()
