"""A part of a film, a smaller size and no sound are chosen before the film is made."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from app.export.film.fault import FilmError
from app.export.film.job import FilmJob
from app.export.film.plan import film_request
from app.export.film.reader import film_info
from app.export.film.report import FilmReport
from app.export.film.selection import selected, smaller_size
from tests.app.export.film.conftest import Plain
from tests.helpers.animations import write_animation
from tests.helpers.films import packets_of, times_of, write_film
from tests.helpers.there import there
from utils.images.animation import read_animation
from utils.pyav import av

STEP = 1001  # ticks of a thirtieth of a millisecond: 29.97 frames a second
LINES = ((0, 400, "first"), (500, 900, "second"), (1900, 2000, "last"))


@pytest.fixture
def film(tmp_path):
    times = range(0, 60 * STEP, STEP)
    return write_film(tmp_path / "film.mp4", times, sound="aac", subtitles=LINES, chapters=LINES)


def make(film, out, codec: str = "h264", **chosen) -> FilmReport:
    info = selected(film_info(film), **chosen)
    made = film_request(info, out, codec, quality="best", where="cpu", identity={}, part=4)
    return FilmJob(made, Plain()).run()


def read_film(path) -> list[np.ndarray]:
    with av.open(str(path)) as film:
        return [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]


def kinds_of(path) -> list[str]:
    with av.open(str(path)) as film:
        return [stream.type for stream in film.streams]


def seconds(number: int) -> float:
    return number * STEP / 30000


@pytest.mark.parametrize("ending", [".mp4", ".mkv"])
def test_a_part_begins_and_ends_with_the_marked_frames(film, tmp_path, ending):
    out = tmp_path / f"out{ending}"
    report = make(film, out, part=(seconds(10), seconds(40)))
    assert not report.faults
    assert report.frames == 30
    kept, whole = read_film(out), read_film(film)
    for made, shown in zip(kept, whole[10:40], strict=True):
        assert np.abs(made.astype(int) - shown.astype(int)).max() < 12


def test_the_sound_of_a_part_is_that_of_its_moments(film, tmp_path):
    out = tmp_path / "out.mp4"
    make(film, out, part=(seconds(10), seconds(40)))
    kept, whole = packets_of(out, "audio"), packets_of(film, "audio")
    data, before = [each[2] for each in kept], [each[2] for each in whole]
    first = before.index(data[0])
    assert data == before[first : first + len(data)]
    with av.open(str(out)) as made:
        (sound,) = made.streams.audio
        assert abs(float(there(sound.duration) * there(sound.time_base)) - 30 * STEP / 30000) < 0.06


def test_subtitles_and_chapters_are_cut_to_a_part(film, tmp_path):
    out = tmp_path / "out.mp4"
    make(film, out, part=(0.2, 0.7))
    with av.open(str(out)) as made:
        titles = [each["metadata"]["title"] for each in made.chapters()]
        starts = [float(each["start"] * there(each["time_base"])) for each in made.chapters()]
    assert titles == ["first", "second"]
    assert starts == pytest.approx([0.0, 0.3], abs=0.01)
    texts = [data[2:] for _, _, data in packets_of(out, "subtitle") if len(data) > 2]
    assert texts == [b"first", b"second"]


def test_a_film_is_made_without_its_sound(film, tmp_path):
    out = tmp_path / "out.mp4"
    make(film, out, sound=False)
    assert "audio" not in kinds_of(out)
    assert "subtitle" in kinds_of(out)
    assert times_of(out) == times_of(film)


def test_sound_that_a_file_cannot_hold_is_no_fault_once_it_is_left_out(tmp_path):
    film = write_film(tmp_path / "film.avi", range(12), sound="adpcm_ms", base=Fraction(1, 30))
    make(film, tmp_path / "out.mp4", sound=False)
    with pytest.raises(FilmError):
        make(film, tmp_path / "loud.mp4")


def test_a_smaller_film_has_the_proportions_of_the_film(tmp_path):
    def picture(number: int) -> np.ndarray:
        pixels = np.zeros((360, 640, 3), np.uint8)
        pixels[:, 320:] = 200
        return pixels

    film = write_film(tmp_path / "film.mp4", range(0, 4 * STEP, STEP), picture=picture)
    info = selected(film_info(film), lines=120)
    assert (info.width, info.height) == (214, 120)
    report = make(film, tmp_path / "out.mp4", lines=120)
    assert not report.remarks  # no frame had another size than the first
    frame = read_film(tmp_path / "out.mp4")[0]
    assert frame.shape == (120, 214, 3)
    assert frame[60, 20].max() < 20
    assert abs(int(frame[60, 190].mean()) - 200) < 20


def test_no_film_becomes_larger():
    assert smaller_size(640, 360, 720) == (640, 360)
    assert smaller_size(1920, 1080, 0) == (1920, 1080)
    assert smaller_size(1080, 1920, 480) == (480, 854)


def test_a_part_of_an_animation_is_scaled(tmp_path):
    film = write_animation(tmp_path / "dance.webp")
    whole = film_info(film)
    delays = there(read_animation(film)).delays
    begin = float(delays[0] * whole.time_base)
    make(film, tmp_path / "out.webp", "webp", part=(begin, whole.seconds), lines=whole.height // 2)
    made = there(read_animation(tmp_path / "out.webp"))
    assert made.delays == delays[1:]
    assert film_info(tmp_path / "out.webp").height == whole.height // 2


def test_a_part_behind_the_end_is_refused(film):
    with pytest.raises(FilmError):
        selected(film_info(film), part=(9.0, 10.0))


def test_parts_of_another_choice_are_not_continued(film, tmp_path):
    def identity(**chosen) -> dict[str, str]:
        info = selected(film_info(film), **chosen)
        how = {"quality": "best", "where": "cpu", "identity": {}}
        return film_request(info, tmp_path / "out.mp4", "h264", **how).whole_identity

    chosen = ({}, {"part": (0.2, 0.7)}, {"part": (0.3, 0.7)}, {"sound": False})
    assert len({str(identity(**each)) for each in chosen}) == len(chosen)
