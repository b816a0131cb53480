"""Photographs come in turn, in the same order for the same seed; unfit ones are named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from models.training.data import Crops, Photographs, find_photographs, load_photographs
from models.training.errors import TrainingError
from models.training.features import Vgg19Features
from models.training.run import Run
from tests.conftest import picture
from tests.helpers.errors import mentions
from tests.models.training.conftest import CPU, TINY, photographs, style
from utils.images.writing import write_pixels


def test_every_photograph_comes_once_before_any_comes_again() -> None:
    pixels = torch.arange(5, dtype=torch.uint8)[:, None, None, None].expand(5, 36, 36, 3)
    crops = Crops(Photographs(pixels, tuple("abcde")), 32, 2, seed=3, device=CPU)
    seen = [int(value) for step in range(10) for value in crops(step)[:, 0, 0, 0]]
    epochs = [seen[n : n + 5] for n in range(0, 20, 5)]
    assert all(sorted(epoch) == [0, 1, 2, 3, 4] for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) > 1


def test_a_crop_is_a_window_of_its_photograph_mirrored_or_not() -> None:
    source = photographs(1)
    crops = Crops(source, 32, 4, seed=0, device=CPU)
    whole = source.pixels[0].permute(2, 0, 1).float()
    windows = [
        window
        for top in range(TINY.square - 31)
        for left in range(TINY.square - 31)
        for window in [whole[:, top : top + 32, left : left + 32]]
    ]
    mirrored = [window.flip(2) for window in windows]
    batches = torch.cat([crops(step) for step in range(8)])
    assert batches.is_contiguous(memory_format=torch.channels_last)
    assert batches.dtype == torch.float32
    plain = sum(any(torch.equal(crop, w) for w in windows) for crop in batches)
    flipped = sum(any(torch.equal(crop, w) for w in mirrored) for crop in batches)
    assert plain + flipped == 32
    assert 6 < plain < 26


def test_the_crops_of_a_step_depend_on_seed_and_step_alone() -> None:
    def batch(seed: int, step: int) -> Tensor:
        return Crops(photographs(), 32, 2, seed, CPU)(step)

    assert torch.equal(batch(1, 7), batch(1, 7))
    assert not torch.equal(batch(1, 7), batch(2, 7))
    assert not torch.equal(batch(1, 7), batch(1, 8))


def test_what_is_said_of_photographs_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    write_pixels(tmp_path / "a" / "\x1b[2J.png", np.zeros((40, 40, 3), np.uint8))
    write_pixels(tmp_path / "a" / "b.png", picture(60, 50))
    with pytest.raises(TrainingError, match=r"not in .*\\x1b\[2Jy+") as caught:
        find_photographs(tmp_path / "a", [f"\x1b[2J{'y' * 9000}"])
    assert str(caught.value).isprintable()
    loaded = load_photographs(find_photographs(tmp_path / "a"), 48, 8)
    (fault,) = loaded.skipped
    assert mentions(fault, r"\x1b[2J.png", "one color")


def test_a_corrupt_photograph_is_skipped_and_named(folder: Path) -> None:
    (folder / "1.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    (folder / "notes.txt").write_text("not a picture, nor called one")
    loaded = load_photographs(find_photographs(folder), 36, limit=100)
    assert loaded.names == ("0.png", "2.png", "3.png", "4.png", "5.png")
    assert len(loaded.skipped) == 1
    assert "1.png" in loaded.skipped[0]
    assert loaded.pixels.shape == (5, 36, 36, 3)
    expected = load_photographs([folder / "2.png"], 36, limit=1).pixels[0]
    assert torch.equal(loaded.pixels[1], expected)


@pytest.mark.parametrize("margin", [0, 4])
def test_a_photograph_of_one_color_is_skipped_for_it_would_end_the_run(
    folder: Path, features: Vgg19Features, margin: int
) -> None:
    wall = np.full((TINY.square, TINY.square, 3), (250, 240, 200), np.uint8)
    noise = np.random.default_rng(0).integers(0, 256, wall.shape, np.uint8)
    noise[margin : TINY.square - margin, margin : TINY.square - margin] = (250, 240, 200)
    write_pixels(folder / "7.png", noise)  # some crops of it show only the wall
    paths = find_photographs(folder)
    loaded = load_photographs(paths, TINY.square, limit=100)
    (fault,) = loaded.skipped
    assert mentions(fault, "7.png", "one color")
    assert len(loaded) == 6

    pixels = torch.from_numpy(np.stack([wall, picture(TINY.square, TINY.square)]))
    deep = replace(TINY, num_residual_blocks=5)
    run = Run(deep, features, Photographs(pixels, ("a", "b")), style(), CPU)
    run.step()
    gradients = [p.grad for p in run.network.parameters() if p.grad is not None]
    harm = not bool(torch.nn.utils.get_total_norm(gradients).isfinite())
    assert harm, "such photographs do no harm; there is no need to skip them"


def test_a_folder_without_photographs_is_told_in_a_sentence(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="does not exist"):
        find_photographs(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TrainingError, match="holds no photographs"):
        find_photographs(tmp_path / "empty")
    (tmp_path / "empty" / "a.jpg").write_bytes(b"nothing")
    with pytest.raises(TrainingError, match=r"no photograph can be used: .*'a.jpg'"):
        load_photographs(find_photographs(tmp_path / "empty"), 36, limit=10)


def test_photographs_can_be_left_out_by_name_or_path(folder: Path) -> None:
    kept = find_photographs(folder, ["0.png", "more/5.png"])
    assert [path.name for path in kept] == ["1.png", "2.png", "3.png", "4.png"]
    with pytest.raises(TrainingError, match=r"not in .*: 9\.png"):
        find_photographs(folder, ["9.png"])
    with pytest.raises(TrainingError, match="every photograph"):
        find_photographs(folder, [f"{n}.png" for n in range(6)])


def test_of_a_large_folder_a_seeded_draw_is_kept(folder: Path) -> None:
    paths = find_photographs(folder)
    first, again = (load_photographs(paths, 36, limit=3, seed=1) for _ in range(2))
    assert len(first) == 3
    assert first.names == again.names
    draws = {load_photographs(paths, 36, limit=3, seed=s).names for s in range(5)}
    assert len(draws) > 1
