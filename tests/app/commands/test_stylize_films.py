"""`stylize` turns a film into a film and reports what limited it."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from app.batch.films import preparation
from app.cli import main
from app.engine.engine import Engine
from app.export.film.codecs import CODECS, choose_encoder
from app.export.film.fault import FilmError
from app.export.film.plan import film_request
from app.export.film.reader import FilmReading, film_info, read_frames
from app.export.film.store import store_folder
from tests.app.commands.conftest import STYLE, stylized
from tests.helpers.errors import mentions
from tests.helpers.films import BASE, UNEVEN, packets_of, times_of, write_film
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels


@pytest.fixture
def film(tmp_path):
    return write_film(tmp_path / "film.mp4", sound="aac")


def pictures(path):
    return [each.frame.pixels for each in read_frames(film_info(path), FilmReading())]


def test_a_film_becomes_a_film_with_every_frame_and_its_sound(style, film, tmp_path, capsys):
    out, said = tmp_path / "out.mp4", tmp_path / "report.json"
    assert stylized(film, "-o", out, "--report", said) == 0
    assert times_of(out) == [time * BASE for time in UNEVEN]
    assert packets_of(out, "audio") == packets_of(film, "audio")
    assert not np.array_equal(pictures(out)[0], pictures(film)[0])
    err = capsys.readouterr().err
    assert f"12 frames in {out}" in err
    assert "Fused, FP32, CPU" in err
    assert "Busy: reading" in err
    (report,) = json.loads(said.read_text())
    assert report["frames"] == 12
    assert set(report["busy"]) == {"decode", "network", "engine", "encode"}
    assert report["limit"] in ("network", "decode", "engine", "encode")
    assert report["encoder"].endswith("CPU")


def test_a_film_is_painted_as_its_frames_are(style, film, tmp_path):
    """FFV1 is lossless."""
    out = tmp_path / "out.mkv"
    looks = ("--smoothing", "0", "--texture", "0")
    assert stylized(film, "-o", out, "--codec", "ffv1", *looks) == 0
    frames = tmp_path / "frames"
    frames.mkdir()
    for number, pixels in enumerate(pictures(film)):
        write_pixels(frames / f"{number:02d}.png", pixels)
    assert stylized(frames, "-o", tmp_path / "painted", *looks) == 0
    painted = [read_pixels(path) for path in sorted((tmp_path / "painted").iterdir())]
    for one, other in zip(pictures(out), painted, strict=True):
        assert np.array_equal(one, other)


def test_a_batch_gives_the_same_film(style, film, tmp_path):
    looks = ("--smoothing", "0", "--texture", "0", "--codec", "ffv1")
    assert stylized(film, "-o", tmp_path / "one.mkv", *looks) == 0
    assert stylized(film, "-o", tmp_path / "five.mkv", *looks, "--batch", "5") == 0
    for one, five in zip(
        pictures(tmp_path / "one.mkv"), pictures(tmp_path / "five.mkv"), strict=True
    ):
        assert np.abs(one.astype(int) - five).max() <= 2


def test_films_in_a_folder_keep_their_names(style, film, tmp_path):
    other = write_film(tmp_path / "walk.avi", range(3), base=Fraction(1, 25), sound="")
    assert stylized(film, other, "-o", tmp_path / "out") == 0
    made = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert made == ["film.mp4", "walk.avi.mp4"]


def test_a_film_that_exists_is_replaced_or_skipped_only_if_asked(style, film, tmp_path, capsys):
    out = tmp_path / "out.mp4"
    out.write_bytes(b"kept")
    assert stylized(film, "-o", out) == 1
    assert "exists; pass --overwrite" in capsys.readouterr().err
    assert stylized(film, "-o", out, "--skip-existing") == 0
    assert out.read_bytes() == b"kept"
    assert stylized(film, "-o", out, "--overwrite") == 0
    assert len(times_of(out)) == 12


def test_a_film_is_not_written_over_itself(style, film, capsys):
    assert stylized(film, "-o", film, "--overwrite") == 1
    assert "would be overwritten" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("-o", "out.png"), "'out.png' is not a film's name: it must end in .mp4, .m4v, .mov, "),
        (
            ("-o", "out.mp4", "--codec", "prores"),
            "cannot hold ProRes; choose a name that ends in .mov or",
        ),
        (("-o", "out.mp4", "--depth", "16"), "--depth works only for pictures"),
        (
            ("-o", "out.mov", "--codec", "prores", "--encoder", "hardware"),
            "only the CPU can encode it",
        ),
    ],
)
def test_what_does_not_fit_is_said_before_anything_is_done(
    style, film, tmp_path, monkeypatch, capsys, flags, says
):
    monkeypatch.chdir(tmp_path)
    assert stylized(film, *flags) == 1
    assert says in capsys.readouterr().err
    assert not list(tmp_path.glob("out*"))


def test_a_broken_film_does_not_keep_the_others(style, film, tmp_path, capsys):
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(film.read_bytes()[:900])
    assert stylized(broken, film, "-o", tmp_path / "out") == 1
    assert mentions(capsys.readouterr().err, "broken.mp4", "as a film")
    assert len(times_of(tmp_path / "out" / "film.mp4")) == 12


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(
    style, film, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(preparation, "film_request", partial(film_request, part=4))
    out = tmp_path / "out.mp4"
    frames = 0
    process = Engine.process_batch

    def interrupted(self, batch, mode):
        nonlocal frames
        frames += 1
        if frames == 9:
            signal.raise_signal(signal.SIGINT)
        return process(self, batch, mode)

    monkeypatch.setattr(Engine, "process_batch", interrupted)
    assert stylized(film, "-o", out) == 130
    assert "8 frames are finished" in capsys.readouterr().err
    assert not out.exists()
    assert store_folder(out).exists()
    monkeypatch.setattr(Engine, "process_batch", process)
    assert stylized(film, "-o", out) == 0
    assert "12 frames in" in (said := capsys.readouterr().err)
    assert "8 of them" in said
    assert times_of(out) == times_of(film)


def test_an_encoder_that_is_missing_is_named_with_the_reason():
    row = CODECS["h264"]
    absent = replace(row.encoders[-1], name="h264_absent", device="Nobody")
    broken = replace(row.encoders[-1], device="Odd", options={"profile": "no profile"})
    with_both = replace(row, encoders=(absent, broken, row.encoders[-1]))
    found = choose_encoder(with_both, "auto", (640, 360))
    assert found.encoder is row.encoders[-1]
    assert mentions(found.refused[0], "Nobody (h264_absent)", "FFmpeg")
    assert found.refused[1].startswith("Odd (libx264): ")
    with pytest.raises(FilmError, match=r"H.264: Nobody \(h264_abs"):
        choose_encoder(with_both, "hardware", (640, 360))
    assert choose_encoder(with_both, "cpu", (640, 360)).refused == ()


def painted(film, out, *flags):
    given = ("stylize", film, "-o", out, "--style", STYLE, "--device", "cuda:0", "--codec", "ffv1")
    assert main([*map(str, given), *flags]) == 0
    return np.array(pictures(out), int)


@pytest.mark.gpu
def test_a_film_of_a_gpu_is_that_of_the_processor(style, film, tmp_path):
    looks = ("--smoothing", "0", "--texture", "0")
    assert stylized(film, "-o", tmp_path / "cpu.mkv", "--codec", "ffv1", *looks) == 0
    made = painted(film, tmp_path / "gpu.mkv", *looks)
    assert np.abs(made - pictures(tmp_path / "cpu.mkv")).max() <= 3


@pytest.mark.gpu
def test_smoothing_goes_on_through_the_last_batch_of_a_film_on_a_gpu(style, film, tmp_path):
    alone = painted(film, tmp_path / "one.mkv", "--smoothing", "0.5", "--batch", "1")
    together = painted(film, tmp_path / "five.mkv", "--smoothing", "0.5", "--batch", "5")
    assert np.abs(alone - together).max() <= 3
