"""Smaller copies of pictures keep what their results preserve."""

from __future__ import annotations

import numpy as np
from PIL import Image

from tests.conftest import picture
from utils.images.reading import read_picture
from utils.images.reducing import reduced
from utils.images.writing import write_pixels

_EXIF, _WIDTH, _HEIGHT, _ARTIST = 0x8769, 0xA002, 0xA003, 0x013B


def test_only_larger_pictures_are_reduced_and_keep_their_shape(tmp_path):
    write_pixels(tmp_path / "a.png", picture(120, 80))
    read = read_picture(tmp_path / "a.png")
    assert reduced(read, 120) is read
    small = reduced(read, 60)
    assert small.pixels.shape == (40, 60, 3)
    halves = read.pixels.reshape(40, 2, 60, 2, 3).mean((1, 3))
    assert np.abs(small.pixels - halves).max() <= 1


def test_a_narrow_picture_keeps_a_pixel(tmp_path):
    write_pixels(tmp_path / "a.png", picture(400, 2))
    assert reduced(read_picture(tmp_path / "a.png"), 40).pixels.shape == (1, 40, 3)


def test_transparency_and_sixteen_bits_follow(tmp_path):
    clear = np.dstack([picture(64, 48), np.full((48, 64), 128, np.uint8)])
    Image.fromarray(clear).save(tmp_path / "clear.png")
    small = reduced(read_picture(tmp_path / "clear.png"), 32)
    assert small.alpha is not None
    assert (small.alpha.shape, small.alpha.dtype) == ((24, 32), np.uint8)
    deep = (picture(64, 48).astype(np.uint16) * 257)[..., 0]
    Image.fromarray(deep).save(tmp_path / "deep.png")
    small = reduced(read_picture(tmp_path / "deep.png"), 32)
    assert small.deep is not None
    assert (small.deep.shape, small.deep.dtype) == ((24, 32, 3), np.uint16)


def test_the_size_in_the_exif_data_follows_and_the_rest_stays(tmp_path):
    exif = Image.Exif()
    exif[_ARTIST] = "A. Painter"
    exif.get_ifd(_EXIF).update({_WIDTH: 64, _HEIGHT: 48})
    Image.fromarray(picture(64, 48)).save(tmp_path / "a.jpg", exif=exif)
    small = reduced(read_picture(tmp_path / "a.jpg"), 32)
    kept = Image.Exif()
    kept.load(small.origin.exif)
    camera = kept.get_ifd(_EXIF)
    assert (camera[_WIDTH], camera[_HEIGHT], kept[_ARTIST]) == (32, 24, "A. Painter")
