"""Animations and films become animations, with their delays, loops and transparency."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from PIL import Image

from app.export.film.animation import webp
from app.export.film.animation.timing import frame_delays
from app.export.film.fault import FilmError
from app.export.film.info import FilmReading
from app.export.film.job import FilmJob
from app.export.film.reader import film_info, read_frames
from app.export.film.store import store_folder
from app.sources.video_decoder import AnimationReader
from tests.app.export.film.conftest import Plain, request
from tests.app.export.film.test_film_job import stopped
from tests.helpers.animations import DELAYS, flat, frames_of, write_animation
from tests.helpers.errors import mentions
from tests.helpers.films import times_of, write_film
from tests.helpers.there import there
from utils.images.animation import GIF_UNIT, read_animation

KINDS = (".gif", ".webp")


def made(source, target, **how):
    return FilmJob(
        request(source, target, target.suffix[1:].replace("mp4", "h264"), **how), Plain()
    ).run()


def milliseconds(path) -> list[int]:
    animation = there(read_animation(path))
    return [int(delay * animation.unit * 1000) for delay in animation.delays]


@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize(("loop", "plays"), [(0, 0), (1, 2), (4, 5), (None, 1)])
def test_an_animation_keeps_its_delays_and_how_often_it_is_played(
    tmp_path, source, target, loop, plays
):
    if source == ".webp":  # WebP counts all plays, GIF only the repetitions
        loop = plays
    film = write_animation(tmp_path / f"a{source}", loop=loop)
    report = made(film, out := tmp_path / f"out{target}")
    assert (report.frames, report.remarks, report.faults) == (6, (), ())
    assert milliseconds(out) == list(DELAYS)
    assert there(read_animation(out)).plays == plays
    assert [path.name for path in sorted(tmp_path.iterdir())] == [film.name, out.name]


@pytest.mark.parametrize("ending", [".png", ".avif"])
def test_an_animated_png_or_avif_becomes_an_animation(tmp_path, ending):
    film = write_animation(tmp_path / f"a{ending}", loop=0, clear=True)
    report = made(film, out := tmp_path / "out.webp")
    assert (report.frames, report.remarks, report.faults) == (6, (), ())
    assert milliseconds(out) == list(DELAYS)
    assert there(read_animation(out)).plays == 0
    for found, number in zip(frames_of(out), range(6), strict=True):
        wanted = flat(number, clear=True)
        assert np.abs(found[40, 32, :3].astype(int) - wanted[40, 32, :3]).max() <= 8
        assert found[24, 24 + 4 * number, 3] == 0


def test_the_picture_of_a_png_for_programs_without_animations_is_left_out(tmp_path):
    frames = [Image.fromarray(flat(number)[..., :3]) for number in range(4)]
    path, how = tmp_path / "a.png", {"duration": [40, 50, 60], "default_image": True}
    frames[0].save(path, save_all=True, append_images=frames[1:], **how)
    read = list(read_frames(film_info(path), FilmReading()))
    assert [frame.frame.pixels[40, 32].tolist() for frame in read] == [
        flat(number)[40, 32, :3].tolist() for number in (1, 2, 3)
    ]
    assert [frame.duration for frame in read] == [40, 50, 60]
    reader = AnimationReader(path)
    assert [reader.grab(), there(reader.decode())[40, 32].tolist()] == [
        0,
        list(flat(1)[40, 32, :3]),
    ]
    assert [reader.grab(), reader.grab(), reader.grab()] == [pytest.approx(0.04), 0.09, None]
    reader.close()


@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("target", KINDS)
def test_transparency_is_kept_and_nothing_of_the_frame_before_shows_through(
    tmp_path, source, target
):
    film = write_animation(tmp_path / f"a{source}", clear=True)
    report = made(film, out := tmp_path / f"out{target}")
    assert report.remarks == ()
    for number, pixels in enumerate(frames_of(out)):
        expected = flat(number, clear=True)
        assert np.array_equal(pixels[..., 3], expected[..., 3])
        inside = np.s_[2:10, 30:60]  # away from edges, which WebP blurs
        assert np.abs(pixels[inside].astype(int) - expected[inside]).max() <= 3


def test_soft_edges_become_hard_ones_in_a_gif_and_it_is_said(tmp_path):
    film = write_animation(tmp_path / "a.webp", soft=True)
    (remark,) = made(film, tmp_path / "out.gif").remarks
    said = "its half-transparent pixels became fully transparent or opaque, as in any GIF file"
    assert remark == said
    assert set(np.unique(frames_of(tmp_path / "out.gif")[0][..., 3])) == {0, 255}
    assert made(film, tmp_path / "out.webp").remarks == ()
    assert frames_of(tmp_path / "out.webp")[0][36, 30, 3] == 100


@pytest.mark.parametrize("source", KINDS)
def test_an_animation_becomes_a_film_over_white(tmp_path, source):
    film = write_animation(tmp_path / f"a{source}", clear=True)
    (remark,) = made(film, out := tmp_path / "out.mp4").remarks
    assert mentions(remark, "became white", "H.264")
    shown = [sum(DELAYS[:number]) for number in range(6)]
    assert times_of(out) == [Fraction(time, 1000) for time in shown]
    first = next(read_frames(film_info(out), FilmReading())).frame.pixels
    assert first[25, 25].min() > 245
    assert np.abs(first[25, 50].astype(int) - flat(0)[25, 50, :3]).max() < 8


def test_frames_that_say_no_delay_are_shown_as_browsers_show_them(tmp_path):
    film = write_animation(tmp_path / "a.gif", (40, 0, 60))
    made(film, tmp_path / "out.gif")
    assert milliseconds(tmp_path / "out.gif") == [40, 100, 60]


def test_short_delays_of_a_gif_stay_in_a_gif(tmp_path):
    film = write_animation(tmp_path / "a.gif", (10, 10, 20, 10))
    assert made(film, tmp_path / "out.gif").remarks == ()
    assert milliseconds(tmp_path / "out.gif") == [10, 10, 20, 10]


@pytest.mark.parametrize(("ending", "most", "kept"), [(".gif", 50, 10), (".webp", 90, 20)])
def test_a_film_that_is_too_fast_loses_frames_and_no_time(tmp_path, ending, most, kept):
    film = write_film(
        tmp_path / "film.mp4", range(0, 2000, 100), base=Fraction(1, 10000), sound="aac"
    )
    report = made(film, out := tmp_path / f"out{ending}")
    kind = {".gif": "GIF", ".webp": "WebP"}[ending]
    lost, sound = report.remarks
    assert mentions(lost, f"{20 - len(milliseconds(out))} of its 20 frames", kind)
    assert lost.endswith(f"show at most {most} a second")
    assert mentions(sound, "its sound", kind)
    assert len(milliseconds(out)) <= kept
    assert min(milliseconds(out)) >= 1000 // most
    assert sum(milliseconds(out)) == pytest.approx(200, abs=10)
    assert there(read_animation(out)).plays == 0


def test_times_are_rounded_without_adding_up():
    shown = [Fraction(number, 30) for number in range(30)]
    delays = frame_delays(shown, Fraction(1), GIF_UNIT, 2)
    assert set(delays) == {3, 4}
    assert sum(there(delay) for delay in delays) == 100


@pytest.mark.parametrize("ending", KINDS)
def test_an_animation_goes_on_behind_its_finished_parts_and_ends_in_the_same_bits(tmp_path, ending):
    film = write_film(tmp_path / "film.mp4")
    made(film, tmp_path / f"whole{ending}")
    out = tmp_path / f"out{ending}"
    assert stopped(film, out, 10, codec=ending[1:]) in (4, 8)
    report = made(film, out)
    assert report.resumed in (4, 8)
    assert out.read_bytes() == (tmp_path / f"whole{ending}").read_bytes()
    assert not store_folder(out).exists()


@pytest.mark.parametrize("ending", KINDS)
def test_a_damaged_animation_is_made_up_to_there_and_says_so(tmp_path, ending):
    film = write_animation(tmp_path / f"a{ending}")
    data = film.read_bytes()
    film.write_bytes(data[: len(data) * 2 // 3])
    if ending == ".webp":  # Pillow opens no truncated WebP
        with pytest.raises(FilmError, match=r"truncated or damaged"):
            made(film, tmp_path / "out.mp4")
        return
    report = made(film, out := tmp_path / "out.mp4")
    assert 0 < report.frames < 6
    assert report.faults
    assert len(times_of(out)) == report.frames


def test_quality_of_an_animation_is_its_size(tmp_path):
    noise = np.random.default_rng(3).integers(0, 255, (12, 48, 64, 3), np.uint8)
    film = write_film(tmp_path / "film.mp4", picture=lambda number: noise[number])
    for ending in KINDS:
        sizes = []
        for quality in ("small", "best"):
            made(film, out := tmp_path / f"{quality}{ending}", quality=quality)
            sizes.append(out.stat().st_size)
        assert sizes[0] < sizes[1]


def test_a_frame_of_a_single_color_is_one(tmp_path):
    film = write_film(
        tmp_path / "film.mkv", [0, 3000], lambda _: np.full((48, 64, 3), 90, np.uint8)
    )
    made(film, tmp_path / "out.gif")
    (level,) = np.unique(frames_of(tmp_path / "out.gif")[1][..., :3])
    assert abs(int(level) - 90) <= 2


def test_an_animation_that_is_too_long_for_its_format_says_so_and_keeps_what_is_finished(
    tmp_path, monkeypatch
):
    film = write_animation(tmp_path / "a.gif")
    monkeypatch.setattr(webp, "MOST_BYTES", 300)
    with pytest.raises(FilmError, match=r"4 GB .* 6 frames"):
        made(film, tmp_path / "out.webp")
    monkeypatch.undo()
    assert made(film, tmp_path / "out.webp").resumed == 6


def test_a_gif_of_few_colors_has_no_others(tmp_path):
    film = write_animation(tmp_path / "a.gif")
    made(film, tmp_path / "out.gif")
    for one, other in zip(frames_of(tmp_path / "out.gif"), frames_of(film), strict=True):
        assert np.array_equal(one, other)
