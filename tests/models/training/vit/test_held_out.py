"""A file names the pictures that are held out for evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.training.errors import TrainingError
from models.training.vit import held_out
from models.training.vit.held_out import HeldOut, read_held_out

SHIPPED = Path(held_out.__file__).with_suffix(".toml")


def test_twelve_photographs_and_every_tenth_painting_are_kept() -> None:
    kept = read_held_out(SHIPPED)
    assert len(set(kept.photographs)) == 12
    assert kept.paintings == tuple(f"{number:04d}.webp" for number in range(7, 1200, 10))


def test_a_list_that_is_not_there_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "held.toml"
    path.write_text('photographs = ["a.jpg"]', "utf-8")
    assert read_held_out(path) == HeldOut(("a.jpg",), ())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("photographs = [", "is not a TOML file with two lists"),
        ("paintings = 5", "is not a TOML file with the lists"),
        ("faces = []", "is not a TOML file with the lists"),
        ("paintings = [5]", "has an entry that is not the name of a file"),
    ],
)
def test_another_file_is_refused_in_a_sentence(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "held.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(TrainingError, match=f"'held.toml' {says}"):
        read_held_out(path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"'held\.toml' cannot be read"):
        read_held_out(tmp_path / "held.toml")
