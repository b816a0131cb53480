"""The few lines of Python in the published design run unchanged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from app.styles.catalog import BUILTIN
from models import layers, transformer_net
from models.checkpoints import load_checkpoint
from models.transformer_net import TransformerNetBaseline
from tests.conftest import picture
from utils.image_utils import load_image, save_image
from utils.images.writing import write_pixels

ROOT = Path(__file__).resolve().parents[1]

EXAMPLE = """
import torch
from models.transformer_net import TransformerNet, TransformerNetFused, ConvLayer, ResidualBlock, UpsampleConvLayer
from utils.image_utils import load_image, save_image
model = TransformerNet(num_residual_blocks=5); model.load_checkpoint('candy.pth'); model.eval()
with torch.no_grad():
    y = model(load_image('input.jpg'))     # [1, 3, H, W] float32, RGB 0-255
save_image(y, 'output.jpg')                # clamps; uint8 arrays are taken too
"""  # noqa: E501


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with `candy.pth`, in the format torch used for such networks, and
    `input.jpg`.
    """
    state = load_checkpoint(BUILTIN / "candy" / "weights.safetensors")
    for number in (1, 2, 3, 4, 5):  # old PyTorch's meaningless statistics of a picture
        channels = state[f"in{number}.weight"].shape[0]
        state[f"in{number}.running_mean"] = torch.zeros(channels)
        state[f"in{number}.running_var"] = torch.ones(channels)
    torch.save(state, tmp_path / "candy.pth")
    write_pixels(tmp_path / "input.jpg", picture(93, 70))
    return tmp_path


@pytest.mark.full
@pytest.mark.usefixtures("native_kernels")
@pytest.mark.parametrize(
    "network",
    ["TransformerNet", pytest.param("TransformerNetFused", marks=pytest.mark.full)],
)
def test_the_example_runs_and_styles_the_picture(place: Path, network: str) -> None:
    code = EXAMPLE.replace("model = TransformerNet(", f"model = {network}(")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    plain = TransformerNetBaseline().load_checkpoint(place / "candy.pth").eval()
    source = load_image(place / "input.jpg")
    with torch.no_grad():
        expected = plain(source).clamp(0, 255)
    got = load_image(place / "output.jpg")
    assert got.shape == source.shape == (1, 3, 70, 93)
    assert float((got - expected).abs().mean()) < 4  # JPEG's loss
    assert float((got - source).abs().mean()) > 20


def test_the_layers_are_importable_from_both_places() -> None:
    for name in ("ConvLayer", "ResidualBlock", "UpsampleConvLayer"):
        assert getattr(transformer_net, name) is getattr(layers, name)


def test_the_picture_of_the_example_is_clamped_when_it_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save_image(torch.full((1, 3, 8, 8), 900.0), "output.jpg")
    assert np.all(load_image(tmp_path / "output.jpg").numpy() == 255)
