"""The same processes share the pictures and films of a run and report it as one run."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from multiprocessing import active_children
from pathlib import Path

import pytest

from app.batch.jobs.job import Job
from app.batch.pictures.outcome import Outcome
from app.batch.tally import Tally
from app.cli import main
from app.commands.stylize import command
from app.commands.stylize.reporters.json_lines import JsonReporter
from app.export.film.job import FilmProgress
from app.export.film.reader import FilmReading, film_info, read_frames
from tests.app.commands.conftest import STYLE
from tests.conftest import picture
from tests.helpers.errors import mentions
from tests.helpers.films import Look, packets_of, times_of, write_film
from utils.images.writing import write_pixels

pytestmark = pytest.mark.slow

TIMES = [1001 * number for number in range(100)]
EVERY_TEN = Look(options=(("crf", "1"), ("g", "10"), ("sc_threshold", "0")))
FLAGS = ("--style", STYLE, "--kernels", "baseline", "--texture", "0", "--size", "32")


@pytest.fixture
def album(tmp_path: Path) -> Path:
    """Write eight pictures of two sizes, two films, and two unreadable files.

    One film splits into two parts, the other cannot be split. A picture and a film are unreadable.
    """
    folder = tmp_path / "album"
    folder.mkdir()
    for number in range(8):
        write_pixels(folder / f"{number}.png", picture(24 + 8 * (number % 2), 16, seed=number))
    (folder / "bad.png").write_bytes(b"no picture")
    (folder / "broken.mp4").write_bytes(write_film(tmp_path / "b.mp4").read_bytes()[:900])
    write_film(folder / "film.mkv", TIMES, look=EVERY_TEN, sound="aac")
    write_film(folder / "short.mkv", TIMES[:5])
    return folder


def stylized(device: str, *arguments: object) -> int:
    return main(["stylize", *map(str, arguments), *FLAGS, "--device", device])


def events(capsys: pytest.CaptureFixture[str]) -> list[dict]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def frames(path: Path) -> list[bytes]:
    return [each.frame.pixels.tobytes() for each in read_frames(film_info(path), FilmReading())]


@pytest.mark.full
def test_a_folder_of_pictures_and_films_that_processes_share_is_that_of_one(
    style, album, tmp_path, capsys
):
    one, two, manifest = tmp_path / "one", tmp_path / "two", tmp_path / "manifest.json"
    how = ("--codec", "ffv1", "--progress", "json")
    assert stylized("cpu", album, "-o", one, *how) == 1
    capsys.readouterr()
    assert stylized("cpu,cpu", album, "-o", two, *how, "--manifest", manifest) == 1
    said = events(capsys)
    told = [event for event in said if event["event"] in ("picture", "film")]
    assert [event["number"] for event in told] == list(range(1, 13))
    assert [event["event"] for event in told] == ["picture"] * 9 + ["film"] * 3
    failed = {Path(event["source"]).name for event in told if event["state"] == "failed"}
    assert failed == {"bad.png", "broken.mp4"}
    alone = [event["text"] for event in said if event["event"] == "note"]
    (text,) = [text for text in alone if "on one device" in text]
    assert mentions(text, "short.mkv", "key frame")
    assert (said[-1]["done"], said[-1]["failed"]) == (10, 2)
    entries = json.loads(manifest.read_text())["entries"]
    assert Counter(entry["state"] for entry in entries) == {"done": 10, "failed": 2}
    names = sorted(path.name for path in one.iterdir())
    assert sorted(path.name for path in two.iterdir()) == names
    for name in names:
        if name.endswith(".png"):
            assert (one / name).read_bytes() == (two / name).read_bytes()
        else:
            assert times_of(one / name) == times_of(two / name)
            assert frames(one / name) == frames(two / name)
    assert packets_of(two / "film.mkv", "audio") == packets_of(album / "film.mkv", "audio")


@pytest.mark.full
def test_what_is_missing_of_a_shared_run_is_made_by_the_same_command(
    style, album, tmp_path, capsys
):
    out = tmp_path / "out"
    for name in ("bad.png", "broken.mp4", "short.mkv"):
        (album / name).unlink()
    how = ("--progress", "json", "--skip-existing")
    assert stylized("cpu,cpu", album, "-o", out, *how) == 0
    first = (out / "0.png").read_bytes()
    for name in ("5.png", "film.mkv"):
        (out / name).unlink()
    (out / "0.png").write_bytes(b"mine")
    capsys.readouterr()
    assert stylized("cpu,cpu", album, "-o", out, *how) == 0
    said = events(capsys)
    made = [Path(e["result"]).name for e in said if e["event"] in ("picture", "film")]
    assert made == ["5.png", "film.mkv"]
    assert (said[-1]["done"], said[-1]["skipped"]) == (2, 7)
    assert (out / "0.png").read_bytes() == b"mine" != first
    assert times_of(out / "film.mkv") == times_of(album / "film.mkv")


@pytest.mark.full
def test_films_that_one_device_makes_are_given_out_whole(style, tmp_path, capsys):
    folder, report = tmp_path / "films", tmp_path / "report.json"
    folder.mkdir()
    for number in range(3):
        write_film(folder / f"{number}.mkv", TIMES[: 8 + number], sound="aac")
    (folder / "broken.mp4").write_bytes(write_film(tmp_path / "b.mp4").read_bytes()[:900])
    how = ("--codec", "ffv1", "--smoothing", "0.5", "--progress", "json")
    one, two = tmp_path / "one", tmp_path / "two"
    assert stylized("cpu", folder, "-o", one, *how) == 1
    capsys.readouterr()
    assert stylized("cpu,cpu", folder, "-o", two, *how, "--report", report) == 1
    said = events(capsys)
    told = [event for event in said if event["event"] == "film"]
    assert [event["number"] for event in told] == [1, 2, 3, 4]
    assert {Path(event["source"]).name: event["state"] for event in told} == {
        "0.mkv": "done",
        "1.mkv": "done",
        "2.mkv": "done",
        "broken.mp4": "failed",
    }
    ends = {Path(e["source"]).name: e["done"] for e in said if e["event"] == "frames"}
    assert ends == {"0.mkv": 8, "1.mkv": 9, "2.mkv": 10}
    assert sorted(each["frames"] for each in json.loads(report.read_text())) == [8, 9, 10]
    for number in range(3):
        name = f"{number}.mkv"
        assert times_of(two / name) == times_of(one / name)
        assert frames(two / name) == frames(one / name)
        assert packets_of(two / name, "audio") == packets_of(folder / name, "audio")


class Killer(JsonReporter):
    """Kills the first of the processes after the first picture."""

    killed = False

    def picture(self, outcome: Outcome, error: str, tally: Tally) -> None:
        super().picture(outcome, error, tally)
        if not self.killed:
            self.killed = True
            pid = min(child.pid or 0 for child in active_children())
            os.kill(pid, signal.SIGKILL)


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_process_that_is_killed_among_the_pictures_keeps_neither_them_nor_the_films(
    style, album, tmp_path, capsys, monkeypatch
):
    for name in ("bad.png", "broken.mp4", "short.mkv"):
        (album / name).unlink()
    monkeypatch.setattr(command, "make_reporter", lambda *_: Killer())
    out = tmp_path / "out"
    assert stylized("cpu,cpu", album, "-o", out) == 0
    said = events(capsys)
    problems = [event["text"] for event in said if event["event"] == "problem"]
    (problem,) = problems
    assert mentions(problem, "for cpu ", "signal 9")
    made = Counter(Path(e["result"]).name for e in said if e["event"] in ("picture", "film"))
    assert made == Counter([*(f"{number}.png" for number in range(8)), "film.mkv"])
    assert times_of(out / "film.mkv") == times_of(album / "film.mkv")


class Stopper(JsonReporter):
    """Interrupts the run, as Ctrl+C does, after the first frames of a film."""

    stopped = False

    def frames(self, job: Job, progress: FilmProgress) -> None:
        super().frames(job, progress)
        if not self.stopped:
            self.stopped = True
            signal.raise_signal(signal.SIGINT)


@pytest.mark.full
def test_a_shared_run_that_is_stopped_in_its_film_goes_on_there(
    style, album, tmp_path, capsys, monkeypatch
):
    for name in ("bad.png", "broken.mp4", "short.mkv"):
        (album / name).unlink()
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(command, "make_reporter", lambda *_: Stopper())
        assert stylized("cpu,cpu", album, "-o", out) == 130
    assert "film.mkv' was cancelled" in capsys.readouterr().err
    assert sorted(path.name for path in out.glob("*.png")) == [f"{n}.png" for n in range(8)]
    assert stylized("cpu,cpu", album, "-o", out, "--skip-existing", "--progress", "json") == 0
    said = events(capsys)
    assert (said[-1]["done"], said[-1]["skipped"]) == (1, 8)
    assert times_of(out / "film.mkv") == times_of(album / "film.mkv")


@pytest.mark.full
def test_a_run_that_is_stopped_in_whole_films_goes_on_with_them(
    style, tmp_path, capsys, monkeypatch
):
    folder, out = tmp_path / "films", tmp_path / "out"
    folder.mkdir()
    for number in range(3):
        write_film(folder / f"{number}.mkv", TIMES)
    how = ("--smoothing", "0.5", "--skip-existing")
    with monkeypatch.context() as patch:
        patch.setattr(command, "make_reporter", lambda *_: Stopper())
        assert stylized("cpu,cpu", folder, "-o", out, *how) == 130
    assert mentions(capsys.readouterr().err, "3 films", "finished parts")
    assert not list(out.glob("*.mkv"))
    assert stylized("cpu,cpu", folder, "-o", out, *how, "--progress", "json") == 0
    assert events(capsys)[-1]["done"] == 3
    assert all(times_of(out / path.name) == times_of(path) for path in folder.iterdir())
