"""Fixtures for the any-style training: a tiny network, pictures, a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from models.training.features import Vgg19Features
from models.training.vit.config import VitTrainingConfig
from models.training.vit.distributed import Team
from models.training.vit.run import VitRun
from models.training.vit.sampling import Sampler
from models.vit_config import VitConfig
from tests.conftest import picture
from utils.images.writing import write_pixels

CPU = torch.device("cpu")
ALONE = Team(0, 1, CPU)
NETWORK = VitConfig(32, 2, 48, 1, 1, 16, (8, 12, 16))
TINY = VitTrainingConfig(NETWORK, image_size=32, batch_size=2, steps=6, pooled_every=2)


@pytest.fixture(autouse=True)
def thrifty(one_thread: None) -> None:
    """Run all training tests with one thread, which is enough."""


@pytest.fixture
def features(vgg_state: dict[str, Tensor]) -> Vgg19Features:
    return Vgg19Features(vgg_state, "caffe")


def pictures(seed: int, count: int = 4, side: int = 72) -> Tensor:
    """Return pictures, [count, side, side, 3] uint8."""
    return torch.from_numpy(np.stack([picture(side, side, seed + n) for n in range(count)]))


def tiny_run(
    features: Vgg19Features, config: VitTrainingConfig = TINY, team: Team = ALONE
) -> VitRun:
    sampler = Sampler(pictures(0), pictures(50), config, CPU, team.rank)
    return VitRun(config, features, sampler, team, "pictures of the tests")


def longer(steps: int, **changes: object) -> VitTrainingConfig:
    return replace(TINY, steps=steps, **changes)


def write_folder(folder: Path, seed: int, count: int = 4) -> Path:
    folder.mkdir(parents=True)
    for n in range(count):
        write_pixels(folder / f"{n:04d}.png", picture(80, 72, seed + n))
    return folder
