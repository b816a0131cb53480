"""The inputs of `stylize` and the names of its results: lists, name patterns, plans, JSON lines."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image

from app.commands.stylize.reporters import EVENTS
from tests.app.commands.conftest import stylized
from tests.conftest import picture
from tests.helpers.errors import mentions
from tests.helpers.terminal import has_colors, needs_posix, shown_on_a_terminal
from utils.images.writing import write_pixels

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def album(tmp_path: Path) -> Path:
    folder = tmp_path / "album"
    (folder / "day one").mkdir(parents=True)
    write_pixels(folder / "a.png", picture(20, 16))
    write_pixels(folder / "b.jpg", picture(16, 20))
    Image.fromarray(picture(18, 18)).save(folder / "day one" / "c.bmp")
    return folder


def names(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def give_stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\0"])
def test_a_list_on_stdin_names_pictures_and_folders(style, album, photo, monkeypatch, end):
    listed = [str(photo), str(album / "day one"), ""]
    give_stdin(monkeypatch, end.join(listed).encode("utf-8-sig"))
    out = album.with_name("out")
    assert stylized("-", "-o", out) == 0
    assert names(out) == ["c.bmp.png", "photo.png"]


def test_the_lines_of_a_list_are_no_patterns(style, tmp_path, monkeypatch, capsys):
    write_pixels(tmp_path / "[ab].png", picture(16, 16))
    write_pixels(tmp_path / "a.png", picture(16, 16))
    give_stdin(monkeypatch, f"{tmp_path / '[ab].png'}\n".encode())
    assert stylized("-", "-o", tmp_path / "out") == 0
    assert names(tmp_path / "out") == ["[ab].png"]


@pytest.mark.parametrize("data", [b"", b"\n  \n"])
def test_an_empty_list_is_told(style, tmp_path, monkeypatch, capsys, data):
    give_stdin(monkeypatch, data)
    assert stylized("-", "-o", tmp_path / "out") == 1
    assert mentions(capsys.readouterr().err, "stdin", "no files")


@pytest.mark.parametrize(
    ("pattern", "made"),
    [
        ("{stem}-{style}{suffix}", ["a-sketch.png", "b-sketch.jpg", "day one/c-sketch.png"]),
        ("{style}/{stem}.webp", ["day one/sketch/c.webp", "sketch/a.webp", "sketch/b.webp"]),
        ("{number:03}{suffix}", ["001.png", "002.jpg", "day one/003.png"]),
    ],
)
def test_results_are_called_by_a_pattern(style, album, tmp_path, pattern, made):
    out = tmp_path / "out"
    assert stylized(album, "-o", out, "--name", pattern) == 0
    assert names(out) == made
    for name in made:
        with Image.open(out / name) as image:
            assert (
                image.format == {"png": "PNG", "jpg": "JPEG", "webp": "WEBP"}[name[-4:].strip(".")]
            )


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("{name}{suffix}", "may contain only {stem}, {suffix}, {style}, {number}"),
        ("{stem.__class__}{suffix}", "may contain only {stem}"),
        ("{stem!r}{suffix}", "may contain only {stem}"),
        ("{stem:>999999999}{suffix}", "a width, as in {number:04}"),
        ("{number:{stem}}{suffix}", "a width, as in {number:04}"),
        ("{stem", "is not a valid pattern of names"),
        ("{stem}", "must end in {suffix} or in .png"),
        ("{stem}.bmp", "must end in {suffix} or in .png"),
        ("../{stem}{suffix}", "leads out of the folder"),
        ("/{stem}{suffix}", "leads out of the folder"),
        ("c:{stem}{suffix}", "leads out of the folder"),
        ("..\\{stem}{suffix}", "leads out of the folder"),
        ("{stem}/nul{suffix}", "'nul.jpg' is the name of a device"),
        ("", "must end in"),
    ],
)
def test_a_pattern_that_names_no_file_is_refused(style, photo, tmp_path, capsys, pattern, says):
    assert stylized(photo, "-o", tmp_path / "out", "--name", pattern) == 2
    assert says in capsys.readouterr().err.replace("\n", " ")
    assert not (tmp_path / "out").exists()


def test_a_folder_with_earlier_results_can_be_left_out(style, album, tmp_path):
    assert stylized(album, "--leave-out", album / "day one", "-o", tmp_path / "out") == 0
    assert names(tmp_path / "out") == ["a.png", "b.jpg"]
    assert stylized(album, "-o", tmp_path / "whole") == 0
    assert len(names(tmp_path / "whole")) == 3


def test_a_pattern_that_calls_two_results_alike_is_refused(style, album, tmp_path, capsys):
    assert stylized(album / "*.*", "-o", tmp_path / "out", "--name", "same{suffix}") == 0
    assert stylized(album / "*.*", "-o", tmp_path / "new", "--name", "same.png") == 1
    assert "would both become" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_dry_run_lists_what_would_be_done_and_writes_nothing(style, album, tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    (out / "a.png").write_bytes(b"mine")
    assert stylized(album, "-o", out, "--skip-existing", "--dry-run") == 0
    told = capsys.readouterr()
    assert told.out.splitlines() == [
        f"{album / 'b.jpg'} -> {out / 'b.jpg'}",
        f"{album / 'day one' / 'c.bmp'} -> {out / 'day one' / 'c.bmp.png'}",
    ]
    assert mentions(told.err, "2 pictures", "1 would be skipped")
    assert stylized(album, "-o", out, "--overwrite", "--dry-run", "--shard", "1/1") == 0
    assert mentions(capsys.readouterr().err, "3 pictures", "replacing 1")
    assert stylized(album, "-o", out, "--dry-run") == 1
    assert stylized(tmp_path / "gone.png", album, "-o", tmp_path / "new", "--dry-run") == 1
    assert names(out) == ["a.png"]
    assert (out / "a.png").read_bytes() == b"mine"
    assert not (tmp_path / "new").exists()


def test_quiet_says_errors_alone_and_verbose_a_line_for_each_picture(
    style, album, tmp_path, capsys
):
    (album / "d.png").write_text("<html>")
    assert stylized(album, "-o", tmp_path / "quiet", "--quiet") == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 2
    assert mentions(told.err, "d.png", "not a picture")
    assert stylized(album, "-o", tmp_path / "out", "-v") == 1
    err = capsys.readouterr().err
    assert f"{album / 'a.png'} -> {tmp_path / 'out' / 'a.png'} (" in err
    assert err.count(" -> ") == 3
    assert stylized(album, "-o", tmp_path / "out", "-v", "-q") == 2


def test_json_lines_say_what_becomes_of_each_picture(style, album, tmp_path, capsys):
    (album / "d.png").write_text("<html>")
    out = tmp_path / "out"
    out.mkdir()
    (out / "b.jpg").write_bytes(b"mine")
    given = (album, tmp_path / "gone.png", "-o", out, "--skip-existing", "--progress", "json")
    assert stylized(*given) == 1
    told = capsys.readouterr()
    assert told.err == ""
    events = [json.loads(line) for line in told.out.splitlines()]
    for event in events:
        assert list(event) == ["event", *EVENTS[event["event"]]]
    assert [event["event"] for event in events] == [
        "problem", "plan", "picture", "picture", "picture", "end",
    ]  # fmt: skip
    assert events[1] == {
        "event": "plan", "pictures": 3, "films": 0, "skipped": 1, "shard": None,
    }  # fmt: skip
    pictures = {Path(event["source"]).name: event for event in events[2:5]}
    assert {name: event["state"] for name, event in pictures.items()} == {
        "a.png": "done", "c.bmp": "done", "d.png": "failed",
    }  # fmt: skip
    assert "is not a picture" in pictures["d.png"]["error"]
    assert pictures["a.png"]["result"] == str(out / "a.png")
    assert "Fused, FP32, CPU" in pictures["a.png"]["running"]
    assert [event["number"] for event in events[2:5]] == [1, 2, 3]
    assert (events[5]["done"], events[5]["failed"], events[5]["skipped"]) == (2, 1, 1)


@pytest.mark.full
@needs_posix
@pytest.mark.parametrize("setting", [{}, {"NO_COLOR": "1"}])
def test_no_color_leaves_out_colors_and_nothing_else(style, photo, tmp_path, setting):
    given = ("stylize", photo, "-o", tmp_path / "out", "--style", style, "--device", "cpu")
    shown = shown_on_a_terminal(*given, settings=setting)
    assert b"1/1" in shown
    assert has_colors(shown) is not bool(setting)
