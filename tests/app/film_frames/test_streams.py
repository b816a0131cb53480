"""Playback and export use the stream that FFmpeg selects."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.export.film.reader import film_info
from app.film_frames.streams import sound_stream
from app.sound.film_sound import FilmSound
from app.sources.video_decoder import VideoReader
from tests.app.export.film.conftest import copy
from tests.helpers.sound import write_talkie
from utils.pyav import av

DEFAULT, NONE = av.stream.Disposition.default, av.stream.Disposition(0)
SMALL, LARGE = (32, 32), (128, 96)


def two_pictures(
    path: Path, codecs: tuple[str, str], counts: tuple[int, int], marked: bool = True
) -> Path:
    """Write a film with a small stream and then a large one, optionally marked as the default."""
    with av.open(str(path), "w") as film:
        streams: list[Any] = []
        for codec, (width, height) in zip(codecs, (SMALL, LARGE), strict=True):
            stream: Any = film.add_stream(codec, 25)
            stream.width, stream.height = width, height
            stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
            stream.disposition = DEFAULT if marked and streams else NONE
            streams.append(stream)
        for stream, count in zip(streams, counts, strict=True):
            for number in range(count):
                pixels = np.full((stream.height, stream.width, 3), 9 * number, np.uint8)
                frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
                frame.pts, frame.time_base = number, Fraction(1, 25)
                film.mux(stream.encode(frame.reformat(format=stream.pix_fmt)))
            film.mux(stream.encode(None))
    return path


def sizes(path: Path) -> set[tuple[int, int]]:
    info, reader = film_info(path), VideoReader(path)
    _, pixels = next(iter(reader))
    reader.close()
    return {(info.width, info.height), (pixels.shape[1], pixels.shape[0])}


@pytest.mark.parametrize("ending", ["mp4", "mov", "mkv"])
def test_the_default_picture_is_taken(tmp_path, ending):
    film = two_pictures(tmp_path / f"film.{ending}", ("libx264", "libx264"), (5, 5))
    assert sizes(film) == {LARGE}


def test_a_still_beside_a_film_is_not_taken_for_it(tmp_path):
    film = two_pictures(tmp_path / "film.mp4", ("mjpeg", "libx264"), (1, 12))
    report = copy(film, tmp_path / "out.mp4")
    assert (report.frames, report.faults) == (12, ())
    (remark,) = report.remarks
    assert "other pictures" in remark


def test_the_first_of_two_pictures_of_a_broadcast_is_taken(tmp_path):
    film = two_pictures(tmp_path / "film.ts", ("mpeg2video", "mpeg2video"), (9, 9), marked=False)
    assert sizes(film) == {SMALL}


@pytest.mark.parametrize("default", [0, 1])
def test_the_default_sound_is_played(tmp_path, default):
    film = write_talkie(
        tmp_path / "film.mkv",
        [number / 25 for number in range(25)],
        [0.2],
        volumes=(0.2, 0.8),
        default=default,
    )
    sound = FilmSound(str(film), 44_100, 1)
    loudest = 0.0
    while (samples := sound.read()) is not None:
        loudest = max(loudest, float(np.abs(samples).max()))
    sound.close()
    assert loudest == pytest.approx((0.2, 0.8)[default], abs=0.1)


def test_sound_of_an_unknown_kind_is_not_chosen(tmp_path):
    times = [number / 25 for number in range(25)]
    film = write_talkie(tmp_path / "film.mkv", times, [0.2], volumes=(0.8, 0.8), default=1)
    data = film.read_bytes()
    at = data.rindex(b"A_AAC")
    film.write_bytes(data[:at] + b"A_XYZ" + data[at + 5 :])
    with av.open(str(film)) as opened:
        chosen = sound_stream(opened)
        assert chosen is not None
        assert chosen.index == 1
    film.write_bytes(film.read_bytes().replace(b"A_AAC", b"A_XYZ"))
    reader = VideoReader(film)
    assert not reader.has_sound
    reader.close()
