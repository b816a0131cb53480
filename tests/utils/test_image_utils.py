"""The promised pair: a picture file becomes a network's input, and its output a picture file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.helpers.fakes import numbered
from utils.image_utils import ImageError, load_image, save_image
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

PIXELS = numbered(0b1011, 48, 24)


def test_a_picture_is_loaded_as_a_batch_of_one_in_rgb_from_0_to_255(tmp_path: Path) -> None:
    write_pixels(tmp_path / "in.png", PIXELS)
    x = load_image(str(tmp_path / "in.png"))
    assert (x.shape, x.dtype, x.device.type) == ((1, 3, 24, 48), torch.float32, "cpu")
    assert x.is_contiguous()
    assert np.array_equal(x[0].permute(1, 2, 0).numpy(), PIXELS)


def test_what_was_loaded_is_saved_unchanged(tmp_path: Path) -> None:
    write_pixels(tmp_path / "in.png", PIXELS)
    x = load_image(tmp_path / "in.png")
    for number, picture in enumerate((x, x[0], x.double(), x.requires_grad_(), PIXELS)):
        save_image(picture, tmp_path / f"{number}.png")
        assert np.array_equal(read_pixels(tmp_path / f"{number}.png"), PIXELS)


def test_values_are_clamped_and_rounded(tmp_path: Path) -> None:
    row = torch.tensor([-70.0, 0.4, 0.6, 254.6, 300.0, float("inf")])
    save_image(row.expand(1, 3, 1, 6), tmp_path / "out.png")
    assert read_pixels(tmp_path / "out.png")[0, :, 1].tolist() == [0, 0, 1, 255, 255, 255]


@pytest.mark.parametrize(
    ("picture", "message"),
    [
        (torch.zeros(2, 3, 4, 4), r"got \[2, 3, 4, 4\]"),
        (torch.zeros(4, 4, 3), r"got \[4, 4, 3\]"),
        (torch.zeros(1, 3, 4, 4, dtype=torch.uint8), "of torch.uint8"),
        (torch.full((1, 3, 4, 4), float("nan")), "NaN"),
        (np.zeros((4, 4, 3), np.float32), "must be .H, W, 3. uint8"),
    ],
    ids=["batch", "channels last", "bytes", "nan", "floats"],
)
def test_what_is_no_picture_is_refused_and_nothing_is_written(
    tmp_path: Path, picture, message: str
) -> None:
    with pytest.raises(ImageError, match=message):
        save_image(picture, tmp_path / "out.png")
    assert not list(tmp_path.iterdir())
