"""Films are read as shown: in their colors, upright, each frame at its time."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from app.export.film.fault import FilmError
from app.export.film.reader import FilmReading, film_info, read_frames
from app.sources.video_decoder import VideoReader
from tests.helpers.films import BT601, BT709, UNEVEN, Look, numbered, ramp, write_film

LOSSLESS = (("qp", "0"),)


def read(path, after=None):
    info, reading = film_info(path), FilmReading()
    return list(read_frames(info, reading, after)), reading


@pytest.mark.parametrize("pixels", ["yuv420p", "yuv444p", "yuv420p10le"])
@pytest.mark.parametrize("full", [False, True], ids=["limited", "full"])
@pytest.mark.parametrize("matrix", [BT601, BT709], ids=["601", "709"])
def test_a_gray_ramp_is_read_within_one_of_255(tmp_path, matrix, full, pixels):
    look = Look(pixels=pixels, matrix=matrix, full=full, options=LOSSLESS)
    path = write_film(tmp_path / "ramp.mp4", [0, 1001], lambda _: ramp(), look)
    frames, _ = read(path)
    difference = frames[0].frame.pixels.astype(int) - ramp()
    assert np.abs(difference).max() <= 1


@pytest.mark.parametrize("full", [False, True], ids=["limited", "full"])
@pytest.mark.parametrize("matrix", [BT601, BT709], ids=["601", "709"])
def test_colors_are_those_of_the_matrix(tmp_path, matrix, full):
    """Rounding of luma and chroma costs 2; the wrong matrix costs 20, the wrong range 12."""
    color = np.array([200, 40, 90])
    look = Look(matrix=matrix, full=full, options=LOSSLESS)
    film = write_film(
        tmp_path / "c.mp4", [0], lambda _: np.full((64, 64, 3), color, np.uint8), look
    )
    frames, _ = read(film)
    assert np.abs(frames[0].frame.pixels[8, 8].astype(int) - color).max() <= 2


def test_a_film_that_does_not_say_its_matrix_has_the_one_of_its_size(tmp_path):
    plain = Look(matrix=None)
    small = write_film(tmp_path / "small.mp4", [0], look=plain)
    large = write_film(tmp_path / "l.mp4", [0], lambda n: numbered(n, 1280, 720), plain)
    assert film_info(small).colors.matrix == BT601
    assert film_info(large).colors.matrix == BT709


def test_every_frame_has_its_time_and_duration(tmp_path):
    frames, _ = read(write_film(tmp_path / "film.mp4"))
    assert [frame.pts for frame in frames] == list(UNEVEN)
    levels = [int(frame.frame.pixels[-4, -4, 0]) for frame in frames]
    assert levels == pytest.approx([int(numbered(n)[-1, -1, 0]) for n in range(len(UNEVEN))], abs=2)


@pytest.mark.parametrize("mirrored", [False, True], ids=["", "mirrored"])
@pytest.mark.parametrize("turned", [0, 90, 180, 270])
def test_a_turned_film_is_read_upright(tmp_path, turned, mirrored):
    path = write_film(tmp_path / "film.mp4", look=Look(turned=turned, mirrored=mirrored))
    frames, _ = read(path)
    pixels = frames[0].frame.pixels
    info = film_info(path)
    assert (info.width, info.height) == ((48, 64) if turned % 180 else (64, 48))
    assert pixels.shape == (info.height, info.width, 3)
    bright = pixels[..., 0] > 200
    corner = (bool(bright[4, 4]), bool(bright[4, -4]), bool(bright[-4, 4]), bool(bright[-4, -4]))
    wanted = np.rot90(numbered(0), turned // 90)[..., 0] > 200  # FFmpeg counts counterclockwise
    wanted = wanted[:, ::-1] if mirrored else wanted
    assert corner == (wanted[4, 4], wanted[4, -4], wanted[-4, 4], wanted[-4, -4])
    if not mirrored:  # OpenCV supports rotations only
        shown = VideoReader(path)
        assert shown.grab() is not None
        seen = shown.decode()
        shown.close()
        assert seen is not None
        assert np.abs(seen.astype(int) - pixels).mean() < 3


def test_wide_pixels_of_a_turned_film_become_high_ones(tmp_path):
    look = Look(turned=90, aspect=Fraction(4, 3))
    assert film_info(write_film(tmp_path / "film.mp4", look=look)).aspect == Fraction(3, 4)


@pytest.mark.parametrize("ending", ["mp4", "mkv", "avi"])
def test_reading_goes_on_behind_any_frame(tmp_path, ending):
    times = UNEVEN if ending != "avi" else range(12)
    look = Look(options=(("crf", "10"), ("g", "4"), ("bf", "0")))
    base = Fraction(1, 30) if ending == "avi" else Fraction(1, 1000)
    path = write_film(tmp_path / f"film.{ending}", times, look=look, base=base)
    whole, _ = read(path)
    assert len(whole) == 12
    for number in (0, 3, 4, 9, 11):
        rest, _ = read(path, whole[number].pts)
        assert [each.pts for each in rest] == [each.pts for each in whole[number + 1 :]]
        for one, other in zip(rest, whole[number + 1 :], strict=True):
            assert np.array_equal(one.frame.pixels, other.frame.pixels)


def test_a_film_in_ten_bits_without_a_clock_of_its_own_is_read(tmp_path):
    """A raw stream has no timestamps, so its frames follow one another at its rate."""
    path = write_film(tmp_path / "film.264", look=Look(pixels="yuv420p10le"))
    frames, _ = read(path)
    steps = np.diff([frame.pts for frame in frames])
    assert len(frames) == 12
    assert (steps > 0).all()
    rest, _ = read(path, frames[7].pts)
    assert [each.pts for each in rest] == [each.pts for each in frames[8:]]


def test_what_is_no_film_is_named(tmp_path):
    path = tmp_path / "film.mp4"
    path.write_bytes(b"no film" * 100)
    with pytest.raises(FilmError, match=r"'film.mp4' .*invalid data"):
        film_info(path)


def test_a_film_that_ends_early_is_read_up_to_there(tmp_path):
    look = Look(options=(("crf", "1"), ("g", "1")))
    path = write_film(tmp_path / "film.mkv", range(0, 60_000, 1001), look=look)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    frames, _ = read(path)
    assert 10 < len(frames) < 60
