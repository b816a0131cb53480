"""A picture is read as its job asks for it."""

from __future__ import annotations

import numpy as np

from app.batch.jobs.job import Job
from app.batch.pictures.files import read
from tests.conftest import picture
from utils.images.writing import write_pixels


def test_a_picture_is_reduced_to_the_long_side_of_its_job(tmp_path):
    source = tmp_path / "a.png"
    write_pixels(source, picture(60, 40))
    small = read(Job(source, tmp_path / "out.png", long_side=30), depth=16).frame
    assert small.pixels.shape == (20, 30, 3)
    assert small.deep is not None
    assert (small.deep.shape, small.deep.dtype) == ((20, 30, 3), np.uint16)
    assert read(Job(source, tmp_path / "out.png")).frame.pixels.shape == (40, 60, 3)
