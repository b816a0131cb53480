"""Processes share a run without communicating; `merge-manifests` reports what is missing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from app.batch.request import Request
from app.batch.run import _devices
from app.batch.shard import Shard
from app.batch.style_choice import StyleChoice
from app.cli import main
from app.engine.config import EngineConfig
from tests.app.commands.conftest import STYLE, stylized
from tests.conftest import picture
from tests.helpers.errors import mentions
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def album(tmp_path: Path) -> Path:
    folder = tmp_path / "album"
    (folder / "more").mkdir(parents=True)
    for number in range(11):
        where = folder / "more" if number % 3 else folder
        write_pixels(where / f"{number}.png", picture(20, 16, seed=number))
    return folder


def merged(*arguments: object) -> int:
    return main(["merge-manifests", *map(str, arguments)])


def begin(album: Path, out: Path, *flags: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "app", "stylize", str(album), "-o", str(out)]
    return subprocess.Popen(
        [*command, "--style", STYLE, "--device", "cpu", "--kernels", "baseline", *flags],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def results(out: Path) -> dict[str, str]:
    return {
        entry["result"]: path.name
        for path in sorted(out.glob("manifest-*.json"))
        for entry in json.loads(path.read_text())["entries"]
    }


@pytest.mark.full
def test_processes_at_once_lose_nothing_and_do_nothing_twice(style, album, tmp_path, capsys):
    out = tmp_path / "out"
    processes = [
        begin(album, out, "--shard", "auto", RANK=str(rank), WORLD_SIZE="3") for rank in range(3)
    ]
    told = [process.communicate(timeout=100)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], told
    assert sum(f"Shard {n + 1}/3: {c} pictures" in told[n] for n, c in enumerate((4, 4, 3))) == 3
    manifests = [json.loads(path.read_text()) for path in sorted(out.glob("*.json"))]
    made = [entry["result"] for each in manifests for entry in each["entries"]]
    assert len(made) == len(set(made)) == 11
    assert sorted(made) == sorted(str(path) for path in out.rglob("*.png"))
    assert {read_pixels(Path(path)).shape for path in made} == {(16, 20, 3)}
    assert merged(out, "--hash", "-o", tmp_path / "all.json") == 0
    assert "11 of 11 pictures" in capsys.readouterr().err
    assert merged(tmp_path / "all.json") == 0


@pytest.mark.full
def test_a_shard_that_was_killed_is_told_and_continued(style, album, tmp_path, capsys):
    out = tmp_path / "out"
    for number in range(40):
        write_pixels(album / f"x{number}.png", picture(200, 160, seed=number))
    assert stylized(album, "-o", out, "--shard", "1/2", "-q") == 0
    process = begin(album, out, "--shard", "2/2")
    mine = None
    deadline = time.monotonic() + 60
    while not mine:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
        others = {name for name, where in results(out).items() if "-1-of" in where}
        mine = [
            path for path in out.rglob("*.png") if str(path) not in others and path.stem[0] != "."
        ]
    os.kill(process.pid, signal.SIGKILL if os.name != "nt" else signal.SIGTERM)
    process.communicate()
    capsys.readouterr()
    assert merged(out) == 1
    told = capsys.readouterr()
    assert mentions(told.err, "shard 2 of 2", "did not finish")
    assert 20 < len(told.out.splitlines()) <= 25
    before = {path: path.stat().st_mtime_ns for path in mine}
    assert stylized(album, "-o", out, "--shard", "2/2", "--skip-existing") == 0
    assert {path: path.stat().st_mtime_ns for path in mine} == before
    assert merged(out) == 0
    assert "51 of 51 pictures" in capsys.readouterr().err


def test_what_is_missing_is_named_with_its_reason(style, album, tmp_path, capsys):
    out = tmp_path / "out"
    (album / "bad.png").write_text("<html>")
    for index in (1, 2):
        assert stylized(album, "-o", out, "--shard", f"{index}/3", "-q") in (0, 1)
    lost, changed = sorted(Path(name) for name in results(out) if "bad" not in name)[:2]
    lost.unlink()
    write_pixels(changed, picture(8, 8))
    capsys.readouterr()
    assert merged(out) == 1
    told = capsys.readouterr()
    assert mentions(told.err, "shard 3 of 3", "missing")
    assert "bad.png': " in told.err
    assert "an HTML page" in told.err
    assert f"its result '{lost}' does not exist" in told.err
    assert mentions(told.err, str(changed), "was changed")
    assert len(told.out.splitlines()) == 3
    assert all(Path(line).is_file() for line in told.out.splitlines())


def test_a_result_that_was_changed_and_dated_back_is_found_by_its_digest(style, photo, tmp_path):
    out = tmp_path / "out"
    assert stylized(photo, "-o", out, "--shard", "1/1", "-q") == 0
    result = out / "photo.png"
    status, data = result.stat(), bytearray(result.read_bytes())
    data[-20] ^= 1
    result.write_bytes(data)
    os.utime(result, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert merged(out) == 0
    assert merged(out, "--hash") == 1


def test_shards_of_different_runs_are_told(style, album, tmp_path, capsys):
    out = tmp_path / "out"
    assert stylized(album, "-o", out, "--shard", "1/2", "-q") == 0
    write_pixels(album / "new.png", picture(16, 16))
    assert stylized(album, "-o", out, "--shard", "2/2", "-q", "--skip-existing") == 0
    assert merged(out) == 1
    assert "from different runs" in capsys.readouterr().err
    assert merged(out / "manifest-1-of-2.json", out / "manifest-1-of-2.json") == 1
    assert mentions(capsys.readouterr().err, "more than one manifest", "shard 1 of 2")
    assert merged(album) == 1
    assert "contains no manifest-*-of-*.json" in capsys.readouterr().err


def test_a_file_that_is_no_manifest_is_not_overwritten(style, photo, tmp_path, capsys):
    (tmp_path / "notes.json").write_text("mine")
    given = ("-o", tmp_path / "out", "--manifest", tmp_path / "notes.json")
    assert stylized(photo, *given) == 1
    assert "notes.json' is no manifest" in capsys.readouterr().err
    assert (tmp_path / "notes.json").read_text() == "mine"
    assert not (tmp_path / "out").exists()


def test_consecutive_frames_are_not_torn_apart(style, photo, tmp_path, capsys):
    given = (photo, "-o", tmp_path / "out", "--smoothing", "0.5", "--shard")
    assert stylized(*given, "1/2") == 1
    assert "--smoothing needs consecutive pictures" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert stylized(*given, "1/1") == 0


def test_more_shards_than_pictures_leave_one_with_nothing_to_do(style, photo, tmp_path):
    for index in (1, 2):
        assert stylized(photo, "-o", tmp_path / "out.png", "--shard", f"{index}/2", "-q") == 0
    assert merged(tmp_path / "out.png") == 0


def test_processes_of_one_machine_share_its_gpus(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setenv("LOCAL_RANK", "6")
    whole = Request((), Path("out"), StyleChoice(), EngineConfig())
    shared = replace(whole, shard=Shard(2, 8))
    assert _devices(shared) == "cuda:2"
    assert _devices(whole) == "auto"
    assert _devices(replace(shared, devices="cuda:3")) == "cuda:3"
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert _devices(shared) == "auto"
