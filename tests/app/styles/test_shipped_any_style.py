"""The bundled any-style networks have their files and adopt the colors of a picture."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from app.sources.scene import render
from app.styles.any_style_networks import SHIPPED
from app.styles.catalog import BUILTIN
from models.families.any_style import AnyStyleNetwork
from models.vit_checkpoints import load_vit

pytestmark = pytest.mark.usefixtures("one_thread")

FOLDER = BUILTIN.parent / "any_style"


@pytest.fixture(params=SHIPPED)
def path(request):
    return FOLDER / request.param


def stripes(first: tuple[int, int, int], second: tuple[int, int, int]) -> np.ndarray:
    """Return a picture of 320x320 pixels with stripes of two colors."""
    rows = np.arange(320) // 20 % 2
    return np.asarray([first, second], np.uint8)[np.broadcast_to(rows[:, None], (320, 320))]


def test_a_network_that_ships_tells_how_it_was_trained(path):
    held = load_vit(path).metadata
    assert held["storage"] == "int8"
    runs = [*json.loads(held["earlier_runs"]), held]
    assert all(run["command"].startswith("styleforge train-vit ") for run in runs)
    assert sum(int(run["steps"]) for run in runs) > 10_000
    assert float(held["held_out_style"]) < 0.2


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("small.safetensors", marks=pytest.mark.full),
        "tiny.safetensors",
    ],
    indirect=True,
)
@torch.inference_mode()
def test_a_network_that_ships_takes_the_colors_of_a_picture_it_never_saw(path):
    network = AnyStyleNetwork.load(path)
    module, scene = network.module(), render(0.0, 256, 144)
    frames = torch.from_numpy(scene.copy()).permute(2, 0, 1)[None].float()
    means = []
    for picture in (stripes((190, 40, 30), (240, 170, 60)), stripes((20, 40, 120), (90, 170, 220))):
        painted = module.stylize(frames, network.encode(picture).values).clamp(0, 255)
        assert painted.std() > 15  # it is not a plain area
        means.append(painted.mean((0, 2, 3)))
    warm, cold = means
    assert warm[0] - warm[2] > 40  # more red than blue
    assert cold[2] - cold[0] > 40
