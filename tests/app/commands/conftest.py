"""A small style, a photograph, and the command that applies one to the other."""

from __future__ import annotations

import io
import shutil
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import torch

from app.cli import main
from app.styles.catalog import user_folder
from models.checkpoints import save_checkpoint
from models.transformer_net import TransformerNetBaseline
from tests.conftest import picture
from utils.images.writing import write_pixels

STYLE = "sketch"


@pytest.fixture(autouse=True)
def thrifty(one_thread: None) -> None:
    """Run all commands with one thread, which is enough for pictures this small."""


def write_sketch(folder: Path) -> Path:
    """Write the smallest possible network, with weights from a fixed seed."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        state = TransformerNetBaseline(num_residual_blocks=1).state_dict()
    path = folder / "sketch.safetensors"
    save_checkpoint(path, state, {})
    return path


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return write_sketch(tmp_path)


@pytest.fixture(scope="session")
def added_style(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Add the style once, in folders of its own, and return the user's folder of styles."""
    place = tmp_path_factory.mktemp("style")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as told:
        patch.setenv("XDG_DATA_HOME", str(place / "data"))
        assert main(["styles", "add", str(write_sketch(place))]) == 0
        assert f"'{STYLE}'" in told.getvalue()
        return user_folder()


@pytest.fixture
def style(added_style: Path) -> str:
    """Copy the added style into this test's folders and return its key."""
    shutil.copytree(added_style, user_folder(), dirs_exist_ok=True)
    return STYLE


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    write_pixels(path, picture(37, 26))
    return path


def stylized(*arguments: object, style: str = STYLE) -> int:
    return main(["stylize", *map(str, arguments), "--style", style, "--device", "cpu"])
