"""The weave loss responds to a mesh of fine stripes, and not to what paintings have as well."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from models.training.features import Vgg19Features
from models.training.losses import LEAST, WeaveLoss, stripe_energy
from models.training.run import Run
from models.training.trainer import train
from tests.models.training.conftest import TINY, photographs, style

CPU = torch.device("cpu")


def gray(values: Tensor) -> Tensor:
    """Repeat 64 values in every row, [1, 3, 64, 64]."""
    return values.float().expand(1, 3, 64, 64).clone()


def stripes(period: float) -> Tensor:
    """Return vertical stripes with an amplitude of 10 around 128."""
    return gray(128 + 10 * torch.cos(2 * torch.pi * torch.arange(64) / period))


def test_stripes_three_pixels_wide_are_seen_along_their_own_axis() -> None:
    upright, level = stripe_energy(stripes(3))
    assert 5 < upright < 50  # a cosine of amplitude 10 has a mean square of 50
    assert level < 1e-6 * upright
    assert torch.equal(
        stripe_energy(stripes(3).transpose(2, 3)).flip(0), torch.stack((upright, level))
    )


@pytest.mark.parametrize("period", [6.0, 12.0, 64.0])
def test_wider_strokes_are_not_taken_for_a_mesh(period: float) -> None:
    assert stripe_energy(stripes(period)).max() < 0.05 * stripe_energy(stripes(3)).max()


def test_grain_without_a_direction_is_hardly_a_mesh() -> None:
    noise = np.random.default_rng(0).normal(128, 7.07, (1, 1, 64, 64)).astype(np.float32)
    grain = torch.from_numpy(noise).expand(1, 3, 64, 64)  # with the mean square of the stripes
    assert stripe_energy(grain).max() < 0.1 * stripe_energy(stripes(3)).max()


def test_a_result_with_no_more_stripes_than_the_painting_has_no_loss() -> None:
    painting = stripes(3) + stripes(3).transpose(2, 3)
    loss = WeaveLoss(painting)
    assert loss(painting) == 0
    assert loss(0.5 * painting) == 0
    # four times the energy, in both directions
    assert loss(2 * painting) == pytest.approx(6, rel=1e-4)


def test_a_painting_without_grain_asks_for_a_little_and_not_for_nothing() -> None:
    flat = torch.full((1, 3, 64, 64), 128.0)
    upright = stripe_energy(stripes(3))[0]
    assert WeaveLoss(flat)(stripes(3)) == pytest.approx(float(upright) / LEAST - 1, rel=1e-4)
    assert WeaveLoss(flat)(flat) == 0


@pytest.mark.full
def test_the_weave_loss_is_learned(features: Vgg19Features, tmp_path: Path) -> None:
    alone = {"content_weight": 0.0, "style_weight": 0.0, "tv_weight": 0.0, "weave_weight": 0.01}
    config = replace(TINY, iterations=30, lr=3e-3, **alone)
    plain = np.full((64, 64, 3), 128, np.uint8)
    run = Run(config, features, photographs(), plain, CPU)
    run.network.get_parameter("deconv3.conv2d.weight").data.mul_(100)
    seen = list(train(run, tmp_path / "run.pt"))
    assert sum(p.weave for p in seen[-8:]) < 0.5 * sum(p.weave for p in seen[:8])


def test_without_a_weight_nothing_is_measured(features: Vgg19Features) -> None:
    run = Run(TINY, features, photographs(), style(), CPU)
    assert run.step().weave == 0
