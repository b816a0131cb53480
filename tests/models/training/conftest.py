"""Fixtures for training: a tiny recipe, photographs, a style picture, the command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from models.training.config import TrainingConfig
from models.training.data import Photographs
from models.training.features import Vgg19Features
from models.training.run import Run
from tests.conftest import picture
from tests.helpers.resource_limits import resource_limit
from utils.images.writing import write_pixels

CPU = torch.device("cpu")
TINY = TrainingConfig(
    style_size=64, image_size=32, batch_size=2, iterations=6, num_residual_blocks=1
)
FLAGS = ("--style-size", "64", "--image-size", "32", "--batch-size", "2", "--device", "cpu")


@pytest.fixture(autouse=True)
def thrifty(one_thread: None) -> None:
    """Run all training tests with one thread, which is enough."""


@pytest.fixture
def features(vgg_state: dict[str, Tensor]) -> Vgg19Features:
    return Vgg19Features(vgg_state, "caffe")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "photos" / "more").mkdir(parents=True)
    for n in range(6):
        place = tmp_path / "photos" / ("more" if n == 5 else "")
        write_pixels(place / f"{n}.png", picture(60 + n, 50, seed=n))
    return tmp_path / "photos"


@pytest.fixture
def style_file(tmp_path: Path) -> Path:
    write_pixels(tmp_path / "Great Wave.png", style())
    return tmp_path / "Great Wave.png"


def style() -> np.ndarray:
    """Return stripes, unlike any of the photographs, [48, 64, 3]."""
    pixels = np.zeros((48, 64, 3), np.uint8)
    pixels[:, ::6] = (230, 40, 20)
    pixels[::6] = (20, 60, 200)
    return pixels


def photographs(count: int = 6, side: int = TINY.square) -> Photographs:
    pixels = np.stack([picture(side, side, seed=n) for n in range(count)])
    return Photographs(torch.from_numpy(pixels), tuple(f"{n}.png" for n in range(count)))


def tiny_run(features: Vgg19Features, config: TrainingConfig = TINY) -> Run:
    return Run(config, features, photographs(), style(), CPU)


def command(folder: Path, style_file: Path, vgg: Path, out: Path, *more: str) -> list[str]:
    named = ("--style-image", style_file, "--dataset", folder, "--vgg", vgg, "-o", out)
    return ["train", *map(str, named), *FLAGS, *more]


@contextmanager
def small_files(limit: int) -> Iterator[None]:
    """Limit every file to `limit` bytes, as on an almost full disk."""
    with resource_limit("RLIMIT_FSIZE", limit):
        yield
