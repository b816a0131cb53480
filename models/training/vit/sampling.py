"""Draws the content and style crops of each step, on the device that holds the pictures."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from models.training.vit.colors import add_texture, jitter_colors
from models.training.vit.config import VitTrainingConfig


class Batch(NamedTuple):
    """The pictures of a step, float32, RGB 0-255.

    Attributes:
        clean: [B, 3, W, W], windows of photographs: the crops and a margin of REACH.
        content: `clean` with texture in flat areas: the network's input.
        style: [B, 3, S, S], crops of style pictures.
    """

    clean: Tensor
    content: Tensor
    style: Tensor


class Sampler:
    """A source of batches, as a function of the seed, the step and the process alone.

    A resumed run therefore receives the batches of an uninterrupted run, without the state of a
    generator, and a step never waits for the host. The pictures, [N, S, S, 3] uint8, RGB, are moved
    to `device`.
    """

    def __init__(
        self,
        photographs: Tensor,
        paintings: Tensor,
        config: VitTrainingConfig,
        device: torch.device,
        rank: int = 0,
    ) -> None:
        self._photographs = photographs.to(device)
        self._paintings = paintings.to(device)
        self._config, self._device, self._rank = config, device, rank

    def __call__(self, step: int) -> Batch:
        config = self._config
        words = np.random.SeedSequence((config.seed, self._rank, step)).generate_state(1, np.uint64)
        generator = torch.Generator(self._device).manual_seed(int(words[0]) >> 1)
        stored = self._photographs.shape[1]
        least = config.window / stored
        chosen = self._pick(self._photographs, generator)
        clean = crop(chosen, config.window, (least, least * config.content_zoom), generator)
        content = add_texture(clean, config.texture_share, config.texture, generator)
        paintings = self._pick(self._paintings, generator)
        photographs = self._pick(self._photographs, generator)
        draw = torch.rand(config.batch_size, 1, 1, 1, generator=generator, device=self._device)
        styles = torch.where(draw < config.photo_share, photographs, paintings)
        style = crop(styles, config.image_size, config.style_zoom, generator)
        style = jitter_colors(style, config.jitter_share, generator)
        return Batch(*(each.contiguous(memory_format=_LAST) for each in (clean, content, style)))

    def _pick(self, pictures: Tensor, generator: torch.Generator) -> Tensor:
        count = (self._config.batch_size,)
        where = torch.randint(len(pictures), count, generator=generator, device=self._device)
        return pictures[where]


_LAST = torch.channels_last


def crop(
    pictures: Tensor, side: int, zoom: tuple[float, float], generator: torch.Generator
) -> Tensor:
    """Cut a square out of each picture, at a random place and scale, half of them mirrored.

    Maps [B, S, S, 3] uint8 to [B, 3, side, side] float32, RGB 0-255. `zoom` is the least and
    largest enlargement; a crop wider than the picture is extended by reflection.
    """
    count, stored = pictures.shape[:2]
    draw = torch.rand(4, count, generator=generator, device=pictures.device)
    low, high = math.log(zoom[0]), math.log(zoom[1])
    # The half side of the crop in the units of grid_sample, where the picture is 2 wide.
    half = side / (stored * torch.exp(low + (high - low) * draw[0]))
    room = 1 - half
    centers = (2 * draw[1:3] - 1) * room
    reach = (torch.arange(side, device=pictures.device) + 0.5) * (2 / side) - 1
    mirror = torch.where(draw[3] < 0.5, -1.0, 1.0)
    across = centers[0, :, None] + (mirror * half)[:, None] * reach
    down = centers[1, :, None] + half[:, None] * reach
    shape = (count, side, side)
    grid = torch.stack((across[:, None].expand(shape), down[:, :, None].expand(shape)), -1)
    planes = pictures.permute(0, 3, 1, 2).float()
    found = F.grid_sample(
        planes, grid, mode="bicubic", padding_mode="reflection", align_corners=False
    )
    return found.clamp_(0, 255)
