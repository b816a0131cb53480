"""The time and the size of a film are estimated from a sample of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.export.film import sample as film_sample
from app.export.film.info import FilmInfo
from app.export.film.job import FilmJob
from app.export.film.reader import film_info
from app.export.film.sample import (
    FEWEST,
    MOST,
    EncodedSample,
    PaintedSample,
    copied_rate,
    encode_sample,
    estimate,
    frame_at,
    paint_sample,
)
from app.export.film.selection import selected
from tests.app.export.film.conftest import Plain, request
from tests.helpers.films import numbered, packets_of, write_film
from utils.stop_flag import Stopped

STEP = 1001
FRAMES = 60


def grain(number: int) -> np.ndarray:
    """Return a frame as costly as a painted one: a pattern that moves, with noise."""
    noise = np.random.default_rng(number).integers(-12, 12, (48, 64, 3))
    return np.clip(np.roll(numbered(3), number, 1).astype(int) + noise, 0, 255).astype(np.uint8)


@pytest.fixture
def film(tmp_path):
    times = range(0, FRAMES * STEP, STEP)
    return write_film(tmp_path / "film.mp4", times, picture=grain, sound="aac")


@pytest.fixture
def info(film) -> FilmInfo:
    return film_info(film)


@pytest.mark.parametrize("codec", ["h264", "ffv1", "gif"])
def test_the_size_is_about_that_of_the_film(film, info, tmp_path, codec):
    ending = {"h264": ".mp4", "ffv1": ".mkv", "gif": ".gif"}[codec]
    made = request(film, tmp_path / f"out{ending}", codec, part=240)
    painted = paint_sample(info, info.start, Plain())
    copied = 0.0 if codec == "gif" else copied_rate(info, info.start)
    found = estimate(info, painted, encode_sample(painted, made, tmp_path), copied)
    FilmJob(made, Plain()).run()
    assert found is not None
    assert found.size == pytest.approx(made.target.stat().st_size, rel=0.25)


def test_a_sample_has_frames_enough_and_not_too_many(info, monkeypatch):
    monkeypatch.setattr(film_sample, "TIMED_S", 0.0)
    assert FEWEST <= len(paint_sample(info, info.start, Plain()).frames) <= FEWEST + 2
    monkeypatch.setattr(film_sample, "TIMED_S", 1e9)
    assert MOST <= len(paint_sample(info, info.start, Plain()).frames) <= MOST + 2


def test_a_sample_near_the_end_begins_earlier(info):
    end = info.start + (FRAMES - 1) * STEP
    frames = paint_sample(info, end, Plain()).frames
    assert len(frames) >= FEWEST
    assert frames[-1].pts == end


def test_a_film_of_one_frame_is_a_sample_by_itself(tmp_path):
    short = film_info(write_film(tmp_path / "short.mp4", [0]))
    painted = paint_sample(short, short.start, Plain())
    assert len(painted.frames) == 1
    assert painted.paint_s > 0


class Discarding(Plain):
    discarded = False

    def discard_all(self) -> None:
        super().discard_all()
        self.discarded = True


def test_a_sample_stops_between_frames(info):
    styling, seen = Discarding(), list[int]()

    def told(film, painted, each) -> None:
        seen.append(film.pts)
        raise Stopped

    with pytest.raises(Stopped):
        paint_sample(info, info.start, styling, told)
    assert len(seen) == 1
    assert styling.discarded


def test_the_first_frames_have_no_time_since_kernels_load_with_them(info):
    known: list[float | None] = []
    paint_sample(info, info.start, Plain(), lambda film, painted, each: known.append(each))
    assert known[:2] == [None, None]
    assert None not in known[2:]


def test_the_frame_at_a_time_is_found(info):
    frame = frame_at(info, 30 * STEP / 30000)
    assert frame.pts == info.start + 30 * STEP


def test_left_out_sound_takes_no_space(film, info):
    data = sum(len(packet[2]) for packet in packets_of(film, "audio"))
    rate = copied_rate(info, info.start)
    assert rate * info.seconds == pytest.approx(data, rel=0.1)
    assert copied_rate(selected(info, sound=False), info.start) == 0.0


def test_a_processor_paints_and_encodes_in_turn_and_a_gpu_meanwhile(info):
    encoded = EncodedSample(0.2, 1000.0, 100.0)
    known = replace(info, count=100)
    on_cpu = estimate(known, PaintedSample((), 0.3, on_cpu=True), encoded, 0.0)
    on_gpu = estimate(known, PaintedSample((), 0.3, on_cpu=False), encoded, 0.0)
    assert on_cpu is not None
    assert on_gpu is not None
    assert on_cpu.seconds == pytest.approx(50)
    assert on_gpu.seconds == pytest.approx(30)
    assert on_cpu.size == pytest.approx(1000 + 99 * 100)


def test_a_film_of_unknown_length_has_no_estimate(info):
    painted = PaintedSample((), 0.3, on_cpu=True)
    unknown = replace(info, count=0)
    assert estimate(unknown, painted, EncodedSample(0.2, 1000.0, 100.0), 0.0) is None
