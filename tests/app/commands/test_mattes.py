"""`stylize` paints only a person or only the background, with a picture of the empty scene."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from app.exit_status import DONE, FAILED
from tests.app.commands.conftest import stylized
from tests.helpers.errors import mentions
from utils.images.metadata import read_metadata
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

WIDTH, HEIGHT = 96, 64


@pytest.fixture
def plate(tmp_path):
    """Write a picture of an empty scene."""
    path = tmp_path / "plate.png"
    columns = np.linspace(60, 180, WIDTH)[None, :, None]
    write_pixels(path, np.broadcast_to(columns, (HEIGHT, WIDTH, 3)).astype(np.uint8))
    return path


@pytest.fixture
def visited(plate, tmp_path):
    """Write the scene with somebody in red in its middle."""
    path = tmp_path / "visited.png"
    pixels = read_pixels(plate).copy()
    pixels[16:, 32:64] = 220, 20, 30
    write_pixels(path, pixels)
    return path


def _made(photo, out, *flags: object):
    assert stylized(photo, "-o", out, "--size", "64", *flags) == DONE
    return read_pixels(out)


@pytest.mark.parametrize("flag", ["--background", "--matte"])
def test_only_the_person_is_painted(style, visited, plate, tmp_path, flag):
    made = _made(visited, tmp_path / "out.png", flag, plate)
    whole, frame = _made(visited, tmp_path / "whole.png"), read_pixels(visited)
    assert (made[24:, 40:56] == whole[24:, 40:56]).all()
    assert (made[:, :20] == frame[:, :20]).all()
    assert read_metadata(tmp_path / "out.png")["Painted"] == "Only me"


def test_only_the_background_is_painted(style, visited, plate, tmp_path):
    made = _made(visited, tmp_path / "out.png", "--background", plate, "--paint", "background")
    whole, frame = _made(visited, tmp_path / "whole.png"), read_pixels(visited)
    assert (made[24:, 40:56] == frame[24:, 40:56]).all()
    assert (made[:, :20] == whole[:, :20]).all()


def test_a_person_needs_a_way_to_be_found(style, visited, tmp_path, capsys):
    out = tmp_path / "out.png"
    assert stylized(visited, "-o", out, "--paint", "person") == FAILED
    assert mentions(capsys.readouterr().err, "--paint person", "--background", "--matte")
    assert not out.exists()


def test_a_plate_of_another_shape_is_named(style, visited, tmp_path, capsys):
    Image.new("RGB", (50, 50)).save(tmp_path / "square.png")
    out = tmp_path / "out.png"
    assert stylized(visited, "-o", out, "--background", tmp_path / "square.png") == FAILED
    assert mentions(capsys.readouterr().err, "square.png", f"{WIDTH}x{HEIGHT}")
    assert not out.exists()


def test_a_missing_plate_is_named_before_anything_is_done(style, visited, tmp_path, capsys):
    out = tmp_path / "out.png"
    assert stylized(visited, "-o", out, "--background", tmp_path / "gone.png") == FAILED
    assert mentions(capsys.readouterr().err, "gone.png")
    assert not out.exists()
