"""Inputs for quality tests: two tiny styles, their paintings, and photographs."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from models.checkpoints import save_checkpoint
from models.evaluation.image_metrics import to_tensor
from models.network_config import LITE
from models.training.config import TrainingConfig
from models.training.features import Vgg19Features
from models.training.objective import Objective
from models.training.style_pack import PackTexts, add_lite, write_pack
from models.transformer_net import TransformerNetBaseline
from tests.conftest import picture
from tests.models.evaluation.conftest import CPU
from tests.models.evaluation.conftest import photograph as photograph
from utils.images.writing import write_pixels

TINY = TrainingConfig(style_size=48, style_scales=(1.0, 0.5), num_residual_blocks=1)


RECIPE = {
    "content_weight": 1.0,
    "style_weight": 2.0,
    "tv_weight": 1e-6,
    "style_size": 48,
    "style_scales": [1.0, 0.5],
}


@pytest.fixture
def objective(vgg_state: dict[str, Tensor]) -> Objective:
    return Objective(TINY, Vgg19Features(vgg_state, "caffe"), to_tensor(painting(), CPU))


def painting() -> np.ndarray:
    """Return stripes, unlike any of the photographs, [48, 48, 3]."""
    pixels = np.zeros((48, 48, 3), np.uint8)
    pixels[:, ::6] = (230, 40, 20)
    pixels[::6] = (20, 60, 200)
    return pixels


def state(seed: int = 0, **shape: object) -> dict[str, Tensor]:
    """Return weights of a network with one residual block, scaled to use the full range 0-255."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        weights = TransformerNetBaseline(1, **shape).state_dict()  # type: ignore[arg-type]
    weights["deconv3.conv2d.weight"] *= 80
    weights["deconv3.conv2d.bias"] += 128
    return weights


@pytest.fixture
def place(tmp_path: Path, written_place: Path, vgg_file: Path) -> Path:
    """Return a folder with two styles, one with a lite network, and what measures them.

    The folder `before` has both without the stability term.
    """
    shutil.copytree(written_place, tmp_path, dirs_exist_ok=True)
    shutil.copy(vgg_file, tmp_path / "vgg.safetensors")
    return tmp_path


@pytest.fixture(scope="session")
def written_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the files of `place` once; tests change their own copies."""
    folder = tmp_path_factory.mktemp("place")
    for name in ("before", "paintings", "photos"):
        (folder / name).mkdir()
    for seed, key in enumerate(("candy", "mosaic")):
        write_pack(
            folder / "packs" / key,
            PackTexts(key.title()),
            state(seed),
            picture(64, 64),
            {**RECIPE, "stability_weight": 0.5},
        )
        write_pixels(folder / "paintings" / f"{key}.png", painting())
        save_checkpoint(folder / "before" / f"{key}.safetensors", state(seed + 2))
    lite = state(5, widths=LITE.widths, end_kernel=LITE.end_kernel)
    add_lite(folder / "packs" / "candy", lite, {})
    for n in range(3):
        write_pixels(folder / "photos" / f"{n}.webp", picture(60 + n, 50, seed=n))
    (folder / "held.txt").write_text("# kept out of training\n2.webp\n\n0.webp\n")
    return folder


def arguments(place: Path, *more: object) -> list[str]:
    named = {
        "--photos": place / "photos",
        "--packs": place / "packs",
        "--styles-images": place / "paintings",
        "--vgg": place / "vgg.safetensors",
        "--json": place / "quality.json",
        "--size": 80,
        "--device": "cpu",
    }
    for flag, value in zip(more[::2], more[1::2], strict=True):
        named[str(flag)] = value  # type: ignore[assignment]
    flat = [word for pair in named.items() if pair[1] is not None for word in pair]
    return ["quality", *map(str, flat)]
