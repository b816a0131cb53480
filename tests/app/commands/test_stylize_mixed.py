"""Films and animations are accepted wherever pictures are, and reported in the same way."""

from __future__ import annotations

import io
import json
import re
import sys
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.batch.jobs.job import Job
from app.cli import main
from app.commands.stylize.reporters import EVENTS, json_lines, terminal
from app.export.film.job import FilmProgress
from tests.app.commands.conftest import STYLE, stylized
from tests.conftest import picture
from tests.helpers.animations import DELAYS, write_animation
from tests.helpers.errors import mentions
from tests.helpers.films import times_of, write_film
from tests.helpers.terminal import has_colors, needs_posix, shown_on_a_terminal
from tests.helpers.there import there
from utils.images.animation import read_animation
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

ROOT = Path(__file__).resolve().parents[3]
MADE = ["a.png", "dance.gif", "day one/walk.avi.mp4", "film.mp4", "wave.webp"]


@pytest.fixture
def album(tmp_path: Path) -> Path:
    """Write a picture, two films (one in a subfolder), two animations, and other files."""
    folder = tmp_path / "album"
    (folder / "day one").mkdir(parents=True)
    write_pixels(folder / "a.png", picture(20, 16))
    write_film(folder / "film.mp4", sound="aac")
    write_film(folder / "day one" / "walk.avi", range(3), base=Fraction(1, 25))
    write_animation(folder / "dance.gif", loop=2)
    write_animation(folder / "wave.webp")
    (folder / "notes.txt").write_text("neither")
    (folder / "song.m4a").write_bytes((folder / "film.mp4").read_bytes())
    return folder


def names(folder: Path) -> list[str]:
    found = (p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    return sorted(name.as_posix() for name in found if not name.name.startswith("manifest-"))


def events(capsys) -> list[dict]:
    told = capsys.readouterr()
    assert told.err == ""
    return [json.loads(line) for line in told.out.splitlines()]


def test_a_folder_of_pictures_and_films_is_stylized(style, album, tmp_path, capsys):
    out = tmp_path / "out"
    assert stylized(album, "-o", out) == 0
    assert names(out) == MADE
    assert read_pixels(out / "a.png").shape == (16, 20, 3)
    assert times_of(out / "film.mp4") == times_of(album / "film.mp4")
    dance = there(read_animation(out / "dance.gif"))
    assert ([10 * delay for delay in dance.delays], dance.plays) == (list(DELAYS), 3)
    assert there(read_animation(out / "wave.webp")).plays == 0
    err = capsys.readouterr().err
    assert "1 picture in" in err
    assert err.count(" frames in ") == 4
    for mode, told in ((), "exists, and so do 4 more results"), (("--skip-existing",), "Skipped 1"):
        assert stylized(album, "-o", out, *mode) == (0 if mode else 1)
        assert told in capsys.readouterr().err


def test_an_animated_png_and_avif_are_painted_whole(style, tmp_path):
    for name in ("dance.png", "wave.avif"):
        write_animation(tmp_path / name, DELAYS[:2])
    assert stylized(tmp_path / "dance.png", tmp_path / "wave.avif", "-o", tmp_path / "out") == 0
    assert names(tmp_path / "out") == ["dance.png.webp", "wave.avif.webp"]
    for name in names(tmp_path / "out"):
        assert there(read_animation(tmp_path / "out" / name)).delays == DELAYS[:2]


def test_what_is_missing_of_films_and_pictures_is_made(style, album, tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    for name in ("a.png", "film.mp4", "wave.webp"):
        (out / name).write_bytes(b"mine")
    assert stylized(album, "-o", out, "--skip-existing", "--dry-run") == 0
    told = capsys.readouterr()
    assert told.out.splitlines() == [
        f"{album / 'dance.gif'} -> {out / 'dance.gif'}",
        f"{album / 'day one' / 'walk.avi'} -> {out / 'day one' / 'walk.avi.mp4'}",
    ]
    assert mentions(told.err, "2 films", "3 would be skipped")
    assert stylized(album, "-o", out, "--skip-existing") == 0
    assert mentions(capsys.readouterr().err, "Skipped 1 picture", "2 films")
    assert names(out) == MADE
    assert (out / "film.mp4").read_bytes() == b"mine"


def test_a_list_and_a_pattern_name_films(style, album, tmp_path, monkeypatch):
    listed = f"{album / 'film.mp4'}\0{album / 'a.png'}\0".encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(listed)))
    assert stylized("-", "-o", tmp_path / "listed") == 0
    assert names(tmp_path / "listed") == ["a.png", "film.mp4"]
    assert stylized(album / "*.[mg]*[4f]", "-o", tmp_path / "matched") == 0
    assert names(tmp_path / "matched") == ["dance.gif", "film.mp4"]


@pytest.mark.full
def test_results_of_films_are_called_by_a_pattern(style, album, tmp_path, capsys):
    pattern = "{style}/{number:02}-{stem}{suffix}"
    assert stylized(album, "-o", tmp_path / "out", "--name", pattern) == 0
    assert names(tmp_path / "out") == [
        "day one/sketch/05-walk.mp4", "sketch/01-a.png", "sketch/02-dance.gif",
        "sketch/03-film.mp4", "sketch/04-wave.webp",
    ]  # fmt: skip
    films = album / "day one", album / "dance.gif"
    assert stylized(*films, "-o", tmp_path / "gifs", "--name", "{stem}.gif") == 0
    assert names(tmp_path / "gifs") == ["dance.gif", "walk.gif"]
    assert stylized(*films, "-o", tmp_path / "all", "--codec", "webp") == 0
    assert names(tmp_path / "all") == ["dance.gif.webp", "walk.avi.webp"]
    assert stylized(album, "-o", tmp_path / "no", "--name", "{stem}.gif") == 1
    assert mentions(capsys.readouterr().err, "a.gif", ".png")
    assert stylized(album, "-o", tmp_path / "no", "--name", "{stem}.png") == 1
    assert mentions(capsys.readouterr().err, "dance.png", ".mp4")
    assert not (tmp_path / "no").exists()


def test_a_still_gif_or_webp_is_a_picture(style, tmp_path):
    for name in ("a.gif", "b.webp"):
        write_animation(tmp_path / name, (40,))
    assert stylized(tmp_path / "a.gif", tmp_path / "b.webp", "-o", tmp_path / "out") == 0
    assert names(tmp_path / "out") == ["a.gif.png", "b.webp"]


def test_json_lines_say_what_becomes_of_each_film(style, album, tmp_path, capsys, monkeypatch):
    # reports only the first frames and the last
    monkeypatch.setattr(json_lines, "FRAMES_EVERY_S", 1e9)
    (album / "broken.mp4").write_bytes((album / "film.mp4").read_bytes()[:900])
    assert stylized(album, "-o", tmp_path / "out", "--progress", "json", "--encoder", "cpu") == 1
    told = events(capsys)
    for event in told:
        assert list(event) == ["event", *EVENTS[event["event"]]]
    plan = {"event": "plan", "pictures": 1, "films": 5, "skipped": 0, "shard": None}
    assert told[0] == plan
    films = {Path(event["source"]).name: event for event in told if event["event"] == "film"}
    assert {name: event["state"] for name, event in films.items()} == {
        "broken.mp4": "failed", "dance.gif": "done", "film.mp4": "done", "walk.avi": "done",
        "wave.webp": "done",
    }  # fmt: skip
    assert mentions(films["broken.mp4"]["error"], "broken.mp4", "as a film")
    assert films["broken.mp4"]["frames"] is None
    made = films["film.mp4"]
    assert (made["frames"], made["resumed"], made["faults"]) == (12, 0, [])
    assert made["limit"] in made["busy"]
    assert made["fps"] > 0
    assert made["encoder"] == "libx264, CPU"
    assert "Fused, FP32, CPU" in made["running"]
    numbers = [event["number"] for event in told if event["event"] in ("picture", "film")]
    assert numbers == [1, 2, 3, 4, 5, 6]
    under_way = [event for event in told if event["event"] == "frames"]
    _, last = [event for event in under_way if event["source"].endswith("film.mp4")]
    assert (last["done"], last["of"], last["seconds_left"]) == (12, 12, 0.0)
    assert last["fps"] > 0
    assert {Path(event["source"]).name for event in under_way} == set(films) - {"broken.mp4"}
    assert told[-1]["event"] == "end"
    assert (told[-1]["done"], told[-1]["failed"]) == (5, 1)


@pytest.mark.full
def test_quiet_says_errors_of_films_alone_and_verbose_a_line_for_each(
    style, album, tmp_path, capsys
):
    film = album / "film.mp4"
    assert stylized(film, "-o", tmp_path / "quiet.mp4", "-q") == 0
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "")
    (album / "broken.mp4").write_bytes(film.read_bytes()[:900])
    assert stylized(album / "broken.mp4", "-o", tmp_path / "broken.mp4", "-q") == 1
    assert capsys.readouterr().err.count("\n") == 2
    assert stylized(film, "-o", tmp_path / "normal.mp4") == 0
    assert " -> " not in capsys.readouterr().err
    assert stylized(film, "-o", tmp_path / "verbose.mp4", "-v") == 0
    err = capsys.readouterr().err
    assert f"{film} -> {tmp_path / 'verbose.mp4'}\n" in err
    assert "NVIDIA (h264_nvenc):" in err


def test_a_film_that_ends_early_is_told_in_every_way(style, tmp_path, capsys):
    film = write_film(tmp_path / "film.mkv", range(0, 2000, 40), base=Fraction(1, 1000))
    data = film.read_bytes()
    film.write_bytes(data[: len(data) // 2])
    assert stylized(film, "-o", tmp_path / "out.mp4", "--progress", "json") == 1
    (made,) = [event for event in events(capsys) if event["event"] == "film"]
    assert made["state"] == "done"
    assert re.fullmatch(r"only 0\.\d of 2\.0 declared seconds could be read", made["faults"][0])
    assert stylized(film, "-o", tmp_path / "new.mp4", "-q") == 1
    assert made["faults"][0] in capsys.readouterr().err


@pytest.mark.full
def test_shards_share_films_and_their_manifests_name_them(style, album, tmp_path, capsys):
    out = tmp_path / "out"
    for number in (1, 2):
        given = (album, "-o", out, "--shard", f"{number}/2", "--smoothing", "0")
        assert stylized(*given) == 0
    assert names(out) == MADE
    assert "Shard 2/2: 2 films" in capsys.readouterr().err
    assert main(["merge-manifests", str(out), "--hash"]) == 0
    (out / "film.mp4").unlink()
    assert main(["merge-manifests", str(out)]) == 1
    assert f"{album / 'film.mp4'}\n" in capsys.readouterr().out


def test_a_shard_of_films_alone_may_be_smoothed(style, album, tmp_path, capsys):
    films = album / "film.mp4", album / "dance.gif"
    given = ("-o", tmp_path / "out", "--shard", "1/2", "--smoothing", "0.5")
    assert stylized(*films, *given) == 0
    assert stylized(*films, album / "a.png", *given) == 1
    assert "--smoothing needs consecutive pictures" in capsys.readouterr().err


def test_the_bar_of_a_film_is_painted_with_its_first_frames(monkeypatch, tmp_path):
    """The bar must not wait for the refresh timer, which may be too late for a short film."""
    paper = io.StringIO()
    console = partial(terminal.Console, file=paper, force_terminal=True, width=120)
    monkeypatch.setattr(terminal, "Console", lambda **how: console(**{**how, "stderr": False}))
    reporter = terminal.TerminalReporter(terminal.Loudness.NORMAL)
    reporter._progress.live.auto_refresh = False
    job = Job(tmp_path / "film.mp4", tmp_path / "out.mp4", film=True)
    progress = FilmProgress(4, 12, 7.3, styled=SimpleNamespace())  # type: ignore[arg-type]
    reporter.open()
    reporter.begin([job], [], "")
    reporter.frames(job, progress)
    assert "4/12" in paper.getvalue()
    assert "7.3 frames/s" in paper.getvalue()
    reporter.close()


@pytest.mark.full
@needs_posix
@pytest.mark.parametrize("setting", [{}, {"NO_COLOR": "1"}])
def test_on_a_terminal_a_bar_counts_frames_without_colors_if_asked(style, album, tmp_path, setting):
    given = ("stylize", album / "film.mp4", "-o", tmp_path / "out.mp4", "--style", STYLE)
    shown = shown_on_a_terminal(*given, "--device", "cpu", settings=setting)
    assert b"/12" in shown
    assert re.search(rb"\d+\.\d frames/s", shown)
    assert has_colors(shown) is not bool(setting)
