"""`stylize --before-after` saves each picture together with its original."""

from __future__ import annotations

import numpy as np
import pytest

from app.export.before_after.composing import line_width
from tests.app.commands.conftest import stylized
from tests.conftest import picture
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels


def test_side_by_side_the_original_is_left_and_the_result_right(style, photo, tmp_path):
    assert stylized(photo, "-o", tmp_path / "alone.png") == 0
    assert stylized(photo, "-o", tmp_path / "both.png", "--before-after", "side") == 0
    before, after = read_pixels(photo), read_pixels(tmp_path / "alone.png")
    both = read_pixels(tmp_path / "both.png")
    height, width = before.shape[:2]
    assert both.shape == (height, 2 * width + line_width(width), 3)
    assert np.array_equal(both[:, :width], before)
    assert np.array_equal(both[:, -width:], after)


def test_split_one_picture_has_the_result_at_the_right(style, photo, tmp_path):
    assert stylized(photo, "-o", tmp_path / "alone.png") == 0
    assert stylized(photo, "-o", tmp_path / "both.png", "--before-after", "split") == 0
    before, after = read_pixels(photo), read_pixels(tmp_path / "alone.png")
    both = read_pixels(tmp_path / "both.png")
    middle = before.shape[1] // 2
    assert both.shape == before.shape
    assert np.array_equal(both[:, : middle - 1], before[:, : middle - 1])
    assert np.array_equal(both[:, middle + 2 :], after[:, middle + 2 :])


def test_a_folder_is_put_together_picture_by_picture(style, tmp_path):
    album = tmp_path / "album"
    album.mkdir()
    write_pixels(album / "a.png", picture(20, 16))
    write_pixels(album / "b.jpg", picture(16, 20))
    assert stylized(album, "-o", tmp_path / "out", "--before-after", "side") == 0
    widths = [read_pixels(path).shape[1] for path in sorted((tmp_path / "out").iterdir())]
    sides = [read_pixels(path).shape[1] for path in sorted(album.iterdir())]
    assert widths == [2 * side + line_width(side) for side in sides]


@pytest.mark.parametrize(
    ("more", "said", "status"),
    [
        (("--before-after", "beside"), "invalid choice", 2),
        (("--before-after", "side", "--depth", "16"), "8 bits per channel", 1),
    ],
)
def test_what_is_not_possible_is_refused(style, photo, tmp_path, capsys, more, said, status):
    assert stylized(photo, "-o", tmp_path / "out.png", *more) == status
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out.png").exists()


def test_films_are_refused(style, tmp_path, capsys):
    from tests.helpers.fakes import write_video

    film = write_video(tmp_path / "film.mp4", 3)
    assert stylized(film, "-o", tmp_path / "out.mp4", "--before-after", "side") == 1
    assert "only for pictures" in capsys.readouterr().err
