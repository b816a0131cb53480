"""The machines of a Ray cluster share a run: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from app.batch.error import StylizeError
from app.batch.jobs.places import Place, place_of, remote_jobs
from app.errors import ADVICE
from tests.app.commands.conftest import STYLE, stylized
from tests.conftest import picture
from tests.helpers.errors import mentions
from tests.helpers.films import Look, packets_of, times_of, write_film
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

ROOT = Path(__file__).resolve().parents[4]
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
needs_arrow = pytest.mark.skipif(find_spec("pyarrow") is None, reason="Arrow is not installed")


def album(folder: Path, count: int) -> Path:
    """Fill a folder with pictures of 96x64, twenty of them different."""
    folder.mkdir()
    for number in range(min(count, 20)):
        write_pixels(folder / f"{number:04}.png", picture(96, 64, seed=number))
    for number in range(20, count):
        os.link(folder / f"{number % 20:04}.png", folder / f"{number:04}.png")
    return folder


def begun(source: object, out: object, *flags: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "app", "stylize", source, "-o", out, *flags]
    command += ["--style", STYLE, "--kernels", "baseline", "--progress", "json", "--size", "96"]
    return subprocess.Popen(
        [str(word) for word in command],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_an_address_is_a_path_that_keeps_its_slashes():
    place = place_of("s3://bucket/photos")
    assert isinstance(place, Place)
    assert str(place / "a.png") == "s3://bucket/photos/a.png"
    assert str(Place("file:///films/a.png")) == "file:///films/a.png"
    assert place_of("photos/a.png") is None
    assert place_of("C:/photos") is None


def test_addresses_are_for_a_cluster(style, capsys):
    assert stylized("s3://bucket/photos", "-o", "out") == 1
    assert mentions(capsys.readouterr().err, "s3://bucket/photos", "--cluster")


def test_without_ray_it_is_said_what_to_install(style, photo, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert stylized(photo, "-o", tmp_path / "out.png", "--cluster", "auto") == 1
    error, advice = capsys.readouterr().err.splitlines()[-2:]
    assert "styleforge[cluster]" in error
    assert advice == ADVICE["ClusterError"]


@needs_arrow
def test_pictures_below_an_address_are_found_with_their_subfolders(tmp_path):
    folder = album(tmp_path / "album", 2)
    (folder / "more").mkdir()
    write_pixels(folder / "more" / "b.png", picture(8, 8))
    (folder / ".hidden.png").write_bytes(b"")
    (folder / "notes.txt").write_text("none")
    jobs = remote_jobs([folder.as_uri()], Place("file:///out"))
    assert [str(job.target) for job in jobs] == [
        "file:///out/0000.png",
        "file:///out/0001.png",
        "file:///out/more/b.png",
    ]
    with pytest.raises(StylizeError, match="contains no pictures"):
        remote_jobs([(tmp_path / "nothing").as_uri()], Place("file:///out"))


@pytest.mark.slow
@needs_ray
def test_addresses_are_read_and_written_and_a_second_run_goes_on(style, tmp_path):
    source, out = album(tmp_path / "album", 6), tmp_path / "out"
    assert stylized(source, "-o", tmp_path / "alone", "--kernels", "baseline", "--size", "96") == 0
    out.mkdir()
    (out / "0003.png").write_bytes((tmp_path / "alone" / "0003.png").read_bytes())
    flags = ("--cluster", "auto", "--skip-existing")
    process = begun(source.as_uri(), out.as_uri(), *flags)
    said, err = process.communicate(timeout=110)
    assert process.returncode == 0, err
    events = [json.loads(line) for line in said.splitlines()]
    assert (events[-1]["done"], events[-1]["skipped"]) == (5, 1)
    names = sorted(path.name for path in (tmp_path / "alone").iterdir())
    assert sorted(path.name for path in out.iterdir()) == names
    for name in names:
        assert (out / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()


@pytest.mark.slow
@needs_ray
def test_pictures_and_a_film_of_a_cluster_are_complete(style, tmp_path):
    look = Look(options=(("crf", "1"), ("g", "10"), ("sc_threshold", "0")))
    times = [1001 * number for number in range(120)]
    source, out = album(tmp_path / "album", 3), tmp_path / "out"
    film = write_film(source / "film.mp4", times, look=look, sound="aac")
    (source / "bad.png").write_bytes(b"no picture")
    process = begun(source, out, "--cluster", "auto", "--texture", "0")
    said, err = process.communicate(timeout=110)
    assert process.returncode == 1, err
    events = [json.loads(line) for line in said.splitlines()]
    told = [event for event in events if event["event"] in ("picture", "film")]
    assert [event["number"] for event in told] == [1, 2, 3, 4, 5]
    assert (events[-1]["done"], events[-1]["failed"]) == (4, 1)
    assert "bad.png" in next(event["error"] for event in told if event["error"])
    assert not [e for e in events if e["event"] == "note" and "on one device" in e["text"]]
    assert times_of(out / "film.mp4") == times_of(film)
    assert packets_of(out / "film.mp4", "audio") == packets_of(film, "audio")


@pytest.fixture
def nodes() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.helpers.ray_nodes"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    yield process
    assert process.stdin
    assert process.stdout
    process.stdin.close()
    process.wait(60)
    process.stdout.close()


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
@needs_ray
def test_a_thousand_pictures_are_all_made_once_while_a_node_is_killed(style, tmp_path, nodes):
    assert nodes.stdin
    assert nodes.stdout
    source, out = album(tmp_path / "album", 1000), tmp_path / "out"
    address = nodes.stdout.readline().strip()
    manifest = tmp_path / "manifest.json"
    process = begun(source, out, "--cluster", address, "--manifest", manifest)
    assert process.stdout
    events = []
    for line in process.stdout:
        events.append(json.loads(line))
        if len(events) == 200:
            nodes.stdin.write("kill\n")
            nodes.stdin.flush()
            assert nodes.stdout.readline() == "killed\n"
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    made = Counter(event["result"] for event in events if event["event"] == "picture")
    assert set(made) == {str(out / f"{number:04}.png") for number in range(1000)}
    assert set(made.values()) == {1}
    assert events[-1]["done"] == 1000
    assert Counter(e["state"] for e in json.loads(manifest.read_text())["entries"]) == {
        "done": 1000
    }
    assert len(list(out.iterdir())) == 1000
    assert read_pixels(out / "0999.png").shape == (64, 96, 3)
