"""`stylize` reads and writes the right files, names bad ones, and never harms an input."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from app.cli import main
from tests.app.commands.conftest import stylized
from tests.conftest import picture
from tests.helpers.errors import mentions
from tests.helpers.terminal import needs_posix, shown_on_a_terminal
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

ROOT = Path(__file__).resolve().parents[3]


def test_a_folder_keeps_its_names_and_subfolders(style, tmp_path):
    album = tmp_path / "album"
    (album / "day one").mkdir(parents=True)
    write_pixels(album / "a.png", picture(20, 16))
    write_pixels(album / "day one" / "b.jpg", picture(16, 20))
    Image.fromarray(picture(18, 18)).save(album / "c.bmp")
    (album / "notes.txt").write_text("not a picture")
    write_pixels(album / ".hidden.png", picture(16, 16))
    out = album / "styled"  # inside the input: a second run must not style its own results
    for _ in range(2):
        assert stylized(album, "-o", out, "--overwrite") == 0
    made = sorted(str(p.relative_to(out)) for p in out.rglob("*") if p.is_file())
    assert made == ["a.png", "c.bmp.png", str(Path("day one") / "b.jpg")]


def test_what_exists_is_not_overwritten_unless_asked(style, photo, tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    (out / photo.name).write_bytes(b"mine")
    other = tmp_path / "other.png"
    write_pixels(other, picture(16, 16))
    assert stylized(photo, other, "-o", out) == 1
    err = capsys.readouterr().err
    assert mentions(err, str(out / photo.name), "--overwrite")
    assert err.count("\n") == 2
    assert [(p.name, p.read_bytes()) for p in out.iterdir()] == [(photo.name, b"mine")]
    assert stylized(photo, "-o", out / photo.name) == 1
    assert stylized(photo, other, "-o", out, "--overwrite") == 0
    assert read_pixels(out / photo.name).shape == (26, 37, 3)
    assert stylized(photo, other, "-o", out) == 1
    assert mentions(capsys.readouterr().err, "photo.png", "1 more")
    assert stylized(photo, "-o", out, "--overwrite", "--skip-existing") == 2


def test_an_interrupted_folder_is_continued(style, tmp_path, capsys):
    album, out = tmp_path / "album", tmp_path / "out"
    album.mkdir()
    out.mkdir()
    for name in ("a.png", "b.png", "c.png"):
        write_pixels(album / name, picture(16, 16))
    (out / "b.png").write_bytes(b"made before")
    assert stylized(album, "-o", out, "--skip-existing") == 0
    assert "Skipped 1 picture" in capsys.readouterr().err
    assert (out / "b.png").read_bytes() == b"made before"
    assert read_pixels(out / "a.png").shape == read_pixels(out / "c.png").shape == (16, 16, 3)
    assert stylized(album, "-o", out, "--skip-existing") == 0
    assert "Skipped 3 pictures" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="Windows allows no such names")
def test_names_cannot_write_to_the_terminal(style, tmp_path, capsys):
    bad = tmp_path / "a\x1b[2J\nb.png"
    bad.write_bytes(b"<html>")
    deep = tmp_path / "deep\x1b]0;title\x07.png"
    Image.fromarray(picture(16, 16).astype(np.uint16)[..., 0] * 257).save(deep)
    assert stylized(bad, deep, tmp_path / "no\x1b.png", "-o", tmp_path / "out\x1b") == 1
    assert stylized(deep, "-o", deep) == 1
    assert main(["styles", "add", str(bad)]) == 1
    assert main(["styles", "lust\x1b[2J"]) == 2
    captured = capsys.readouterr()
    assert mentions(captured.err, r"a\x1b[2J\nb.png", "not a picture")
    assert (captured.out + captured.err).replace("\n", "").isprintable()


@pytest.mark.full
@needs_posix
def test_a_name_in_brackets_is_no_markup_on_a_terminal(style, tmp_path):
    source = tmp_path / "[bold].png"
    write_pixels(source, picture(16, 16))
    given = ("stylize", source, "-o", tmp_path / "out", "--style", style, "--device", "cpu")
    assert b"[bold].png" in shown_on_a_terminal(*given)


def test_patterns_are_expanded_where_the_shell_did_not(style, tmp_path):
    for name in ("a.png", "b.png", "c.jpg"):
        write_pixels(tmp_path / name, picture(16, 16))
    assert stylized(tmp_path / "*.png", "-o", tmp_path / "out") == 0
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["a.png", "b.png"]


def test_bad_files_are_named_and_the_others_are_done(style, photo, tmp_path, capsys):
    page = tmp_path / "page.jpg"
    page.write_text("<!doctype html><html>")
    cut = tmp_path / "cut.png"
    cut.write_bytes(photo.read_bytes()[:200])
    out = tmp_path / "out"
    assert stylized(page, cut, tmp_path / "gone.png", photo, "-o", out) == 1
    err = capsys.readouterr().err
    assert mentions(err, str(page), "an HTML page")
    assert mentions(err, str(cut), "truncated or damaged")
    assert "gone.png' does not exist" in err
    assert "Traceback" not in err
    assert [p.name for p in out.iterdir()] == ["photo.png"]


def test_an_input_is_never_overwritten(style, photo, tmp_path, capsys):
    before = photo.read_bytes()
    assert stylized(photo, "-o", photo) == 1
    assert stylized(photo, "-o", tmp_path) == 1
    assert stylized(tmp_path, "-o", tmp_path) == 1
    assert "would be overwritten" in capsys.readouterr().err
    assert photo.read_bytes() == before


def test_two_inputs_never_share_a_result(style, tmp_path, capsys):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write_pixels(tmp_path / folder / "same.png", picture(16, 16))
    out = tmp_path / "out"
    assert stylized(tmp_path / "one" / "same.png", tmp_path / "two" / "same.png", "-o", out) == 1
    assert "would both become" in capsys.readouterr().err
    assert not out.exists()


def test_several_pictures_need_a_folder(style, photo, tmp_path, capsys):
    other = tmp_path / "other.png"
    write_pixels(other, picture(16, 16))
    file = tmp_path / "result.png"
    file.write_bytes(b"mine")
    assert stylized(photo, other, "-o", file) == 1
    assert "'" + str(file) + "' is a file" in capsys.readouterr().err
    assert file.read_bytes() == b"mine"


def test_a_result_that_cannot_be_saved_is_refused_before_any_work(style, photo, tmp_path, capsys):
    assert stylized(photo, "-o", tmp_path / "result.bmp") == 1
    assert mentions(capsys.readouterr().err, "result.bmp", ".png, .jpg")
    (tmp_path / "plain").write_bytes(b"mine")
    assert stylized(photo, "-o", tmp_path / "plain") == 1
    assert mentions(capsys.readouterr().err, str(tmp_path / "plain"), "need a folder")
    assert (tmp_path / "plain").read_bytes() == b"mine"


def test_an_empty_input_is_not_the_working_folder(style, photo, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert stylized("", "-o", tmp_path / "out") == 1
    assert "'' does not exist" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_named(style, photo, tmp_path, capsys):
    (tmp_path / "wall").write_text("a file where a folder should be")
    assert stylized(photo, "-o", tmp_path / "wall" / "out" / "x.png") == 1
    assert "wall" in capsys.readouterr().err


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="sends signals as a POSIX shell does")
@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.full)]
)
def test_ctrl_c_leaves_whole_files_and_status_130(style, tmp_path, number):
    album, out = tmp_path / "album", tmp_path / "out"
    album.mkdir()
    write_pixels(album / "000.png", picture(224, 160))
    for n in range(1, 400):
        shutil.copy(album / "000.png", album / f"{n:03}.png")
    command = [sys.executable, "-m", "app", "stylize", str(album), "-o", str(out)]
    command += ["--style", style, "--kernels", "baseline", "--device", "cpu"]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell sets this for foreground commands; these tests may run in the background.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        deadline = time.monotonic() + 60
        while not (out.is_dir() and len(list(out.glob("[0-9]*.png"))) >= 3):
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.count("Stopped") == 1
    assert "of 400 pictures" in err
    assert "Traceback" not in err
    made = list(out.iterdir())
    assert 3 <= len(made) < 400
    assert {read_pixels(path).shape for path in made} == {(160, 224, 3)}
