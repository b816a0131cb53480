"""A film's hidden frames are not reported as missing; its lost frames are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from app.export.film.parts.split import split
from app.export.film.reader import film_info
from app.sources.video_decoder import VideoReader
from tests.app.export.film.conftest import copy
from tests.helpers.films import (
    Look,
    numbered,
    packets_of,
    remuxed,
    times_of,
    write_film,
    zeroed,
)

STEP = 1200  # in these films, which have 25 frames per second
TICK = Fraction(1, 25)
HIDDEN = 20
NO_B_FRAMES = Look(options=(("crf", "1"), ("g", "25"), ("bf", "0"), ("sc_threshold", "0")))
MJPEG = Look("mjpeg", "yuvj420p", matrix=None, options=())


def noise(number: int) -> np.ndarray:
    """Return a noise frame, so that no two packets have the same size."""
    return np.random.default_rng(number).integers(0, 255, (48, 64, 3), np.uint8)


def even(path, count=60, look=NO_B_FRAMES, picture=numbered):
    return write_film(path, range(0, count * STEP, STEP), picture, look)


def avi(path, dropped=(), base=TICK, picture=numbered, count=50):
    """Write a film of 25 frames per second that lacks the frames dropped during recording."""
    ticks = [tick for tick in range(count) if tick not in dropped]
    step = round(TICK / base)
    return write_film(path, [step * tick for tick in ticks], picture, MJPEG, base=base)


def length_of(path) -> Fraction:
    time, duration, _ = max(packets_of(path, "video"))
    return time + duration


@pytest.mark.parametrize("ending", ["mp4", "mov"])
def test_frames_that_an_edit_list_hides_are_not_missed(tmp_path, ending):
    whole = even(tmp_path / "whole.mp4")
    film = remuxed(whole, tmp_path / f"film.{ending}", HIDDEN * TICK)
    report = copy(film, tmp_path / "out.mp4")
    assert (report.frames, report.faults) == (60 - HIDDEN, ())
    assert film_info(film).count == 60 - HIDDEN
    assert times_of(tmp_path / "out.mp4") == [number * TICK for number in range(60 - HIDDEN)]
    reader = VideoReader(film)
    assert reader.duration == pytest.approx(1.6, abs=float(TICK))
    assert len(list(reader)) == 60 - HIDDEN
    reader.close()


def test_frames_that_an_edit_list_hides_are_in_no_part(tmp_path):
    film = remuxed(even(tmp_path / "whole.mp4"), tmp_path / "film.mp4", HIDDEN * TICK)
    parts = split(film_info(film), 10).parts
    assert [part.frames for part in parts] == [30, 10]
    assert parts[0].first == 0


def test_a_trimmed_film_that_lost_frames_says_so(tmp_path):
    """The AV1 decoder skips zeros without an error."""
    look = Look("libsvtav1", matrix=None, options=(("g", "10"), ("preset", "12")))
    whole = even(tmp_path / "whole.mp4", look=look, picture=noise)
    film = remuxed(whole, tmp_path / "film.mp4", HIDDEN * TICK)
    report = copy(zeroed(film), tmp_path / "out.mp4")
    assert report.frames < 36
    (fault,) = report.faults
    assert f"{report.frames} of 40" in fault


def test_frames_that_were_dropped_from_an_avi_are_not_missed(tmp_path):
    dropped = {7, 8, 20, 33}
    film = avi(tmp_path / "film.avi", dropped)
    report = copy(film, tmp_path / "out.mp4")
    assert (report.frames, report.faults) == (46, ())
    assert times_of(tmp_path / "out.mp4") == [n * TICK for n in range(50) if n not in dropped]
    assert length_of(tmp_path / "out.mp4") == 2


def test_an_avi_of_fine_ticks_has_the_rate_and_the_length_of_its_frames(tmp_path):
    film = avi(tmp_path / "film.avi", base=Fraction(1, 600), count=20)
    info = film_info(film)
    assert (info.count, float(info.rate)) == (20, pytest.approx(25, abs=0.5))
    assert info.seconds == pytest.approx(0.8, abs=float(TICK))
    report = copy(film, tmp_path / "out.mkv")
    assert (report.frames, report.faults) == (20, ())
    assert length_of(tmp_path / "out.mkv") == Fraction(4, 5)
    reader = VideoReader(film)
    assert reader.fps == pytest.approx(25, abs=0.5)
    reader.close()


def test_an_avi_with_dropped_frames_that_lost_others_says_so(tmp_path):
    film = zeroed(avi(tmp_path / "film.avi", {7, 8}, picture=noise))
    report = copy(film, tmp_path / "out.mp4")
    assert report.frames < 46
    assert f"{report.frames} of 48" in report.faults[-1]


def test_an_avi_that_was_cut_off_says_so(tmp_path):
    film = avi(tmp_path / "film.avi", {7, 8}, picture=noise)
    film.write_bytes(film.read_bytes()[: film.stat().st_size // 2])
    report = copy(film, tmp_path / "out.mp4")
    assert report.frames < 30
    assert "of 2.0 declared seconds" in report.faults[-1]


@pytest.mark.parametrize("ending", ["mp4", "avi"])
def test_packets_that_repeat_a_frame_are_no_frames(tmp_path, ending):
    """MPEG-4 encoders write a packet of a few bytes where nothing moves."""

    def repeating(number: int, data: bytes) -> bytes:
        if number % 5 != 4:
            return data
        bits = f"0101{number % 25:05b}10"  # type P, within the second, at a tick, not coded
        bits += "0" + "1" * (-(len(bits) + 1) % 8)
        return b"\0\0\1\xb6" + int(bits, 2).to_bytes(len(bits) // 8, "big")

    look = Look("mpeg4", matrix=None, options=(("g", "12"), ("bf", "0")))
    whole = write_film(tmp_path / "whole.avi", range(50), noise, look, base=TICK)
    film = remuxed(whole, tmp_path / f"film.{ending}", change=repeating)
    report = copy(film, tmp_path / "out.mp4")
    assert 40 <= report.frames <= 41  # the decoder itself repeats the last one
    assert report.faults == ()


@pytest.mark.parametrize(
    "look",
    [
        NO_B_FRAMES,
        Look("mpeg4", matrix=None, options=(("g", "12"), ("bf", "2"))),
        Look("libx265", options=(("x265-params", "log-level=none:keyint=25:open-gop=1"),)),
    ],
    ids=["h264", "mpeg4", "hevc"],
)
def test_frames_before_the_first_key_frame_are_not_missed(tmp_path, look):
    """No decoder can show them, nor frames decoded after the key frame but shown before it."""
    whole = even(tmp_path / "whole.mp4", look=look)
    film = remuxed(
        whole, tmp_path / "film.mp4", change=lambda number, data: data if number > 4 else None
    )
    report = copy(film, tmp_path / "out.mp4")
    assert 20 < report.frames < 55
    assert report.faults == ()


def test_a_matroska_film_that_begins_late_is_whole(tmp_path):
    film = write_film(
        tmp_path / "film.mkv", range(2000, 2480, 40), base=Fraction(1, 1000), look=NO_B_FRAMES
    )
    assert film_info(film).seconds == pytest.approx(0.48, abs=0.01)
    assert copy(film, tmp_path / "out.mkv").faults == ()
