"""Files appear complete, under any name that a file system accepts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from app.export.video_recorder import Recording
from app.settings import Settings
from models.checkpoints import load_checkpoint, save_checkpoint
from models.transformer_net import TransformerNetBaseline
from tests.conftest import picture
from utils.files.atomic import atomic_write, replacing, temporary_name
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

LONGEST = 255  # bytes per name on almost every file system


def weights(path: Path) -> None:
    save_checkpoint(path, TransformerNetBaseline(num_residual_blocks=1).state_dict())
    assert load_checkpoint(path)


def film(path: Path) -> None:
    recording = Recording(path)
    recording.add(picture(), 0.0)
    assert recording.finish() == path


WRITERS: dict[str, Callable[[Path], object]] = {
    ".json": lambda path: Settings().save(path),
    ".txt": lambda path: atomic_write(path, b"text"),
    ".png": lambda path: write_pixels(path, picture()),
    ".safetensors": weights,
    ".mp4": film,
}


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("letter", ["a", "浪"])
def test_a_name_as_long_as_there_are_can_be_written(
    tmp_path: Path, ending: str, letter: str
) -> None:
    torch.manual_seed(0)
    count = (LONGEST - len(ending)) // len(letter.encode())
    path = tmp_path / f"{letter * count}{ending}"
    WRITERS[ending](path)
    assert path.stat().st_size
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_temporary_name_is_short_hidden_and_nobody_elses(tmp_path: Path) -> None:
    for name in ("a.png", "浪" * 85, "😀" * 63):
        names = {temporary_name(tmp_path / name).name for _ in range(100)}
        assert len(names) == 100
        assert all(len(name.encode()) <= 143 and name.startswith(".") for name in names)


def write_half(path: Path) -> None:
    with replacing(path) as temporary:
        temporary.write_text("half")
        temporary.write_text("\udc00", "utf-8")


def test_what_fails_half_way_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "kept.txt"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_half(path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["kept.txt"]


def test_a_saved_picture_under_a_long_name_is_the_picture(tmp_path: Path) -> None:
    path = tmp_path / ("p" * 251 + ".png")
    write_pixels(path, picture())
    assert (read_pixels(path) == picture()).all()
