"""A small style, a photograph, and the command that applies one to the other."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from app.cli import main
from models.checkpoints import save_checkpoint
from models.transformer_net import TransformerNetBaseline
from tests.conftest import picture
from utils.images.writing import write_pixels

STYLE = "sketch"


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Write the smallest possible network, with weights from a fixed seed."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        state = TransformerNetBaseline(num_residual_blocks=1).state_dict()
    path = tmp_path / "sketch.safetensors"
    save_checkpoint(path, state, {})
    return path


@pytest.fixture
def style(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["styles", "add", str(checkpoint)]) == 0
    assert f"'{STYLE}'" in capsys.readouterr().out
    return STYLE


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    write_pixels(path, picture(37, 26))
    return path


def stylized(*arguments: object, style: str = STYLE) -> int:
    return main(["stylize", *map(str, arguments), "--style", style, "--device", "cpu"])
