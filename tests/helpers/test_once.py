"""Processes of a test run share a file that one of them made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.helpers import once
from tests.helpers.once import kept, made_of, made_once


def make(folder: Path) -> Path:
    made = folder / "made"
    with made.open("a") as file:
        file.write("once ")
    return made


@pytest.mark.parametrize("workers", [("popen-gw0", "popen-gw1"), ("a", "a")])
def test_the_second_process_takes_what_the_first_one_made(workers, tmp_path):
    folders = [tmp_path / worker / str(number) for number, worker in enumerate(workers)]
    for folder in folders:
        folder.mkdir(parents=True)
    first, second = (made_once(folder, "library", make) for folder in folders)
    assert first == second
    assert first.read_text() == "once "


def test_what_failed_is_tried_again(tmp_path):
    def fail(folder: Path) -> Path:
        raise ValueError(folder.name)

    folder = tmp_path / "a"
    folder.mkdir()
    with pytest.raises(ValueError, match="library"):
        made_once(folder, "library", fail)
    assert made_once(folder, "library", make).read_text() == "once "


def run(tmp_path: Path, name: str, digest: str, make=make) -> Path:
    """Take a kept file in a test run of its own."""
    folder = tmp_path / name / "a"
    folder.mkdir(parents=True)
    return kept(folder, "kernels/loss.cu", digest, make, store=tmp_path / "store")


def test_a_later_run_takes_what_was_made_of_the_same(tmp_path):
    def fail(folder: Path) -> Path:
        raise ValueError(folder.name)

    made = run(tmp_path, "first", made_of("loss", b"flags"))
    assert made.read_text() == "once "
    assert run(tmp_path, "second", made_of("loss", b"flags"), fail) == made
    with pytest.raises(ValueError, match="loss"):
        run(tmp_path, "third", made_of("another loss", b"flags"), fail)


def test_a_digest_covers_each_text_and_the_contents_of_a_file(tmp_path):
    source = tmp_path / "loss.cu"
    source.write_text("one")
    before = made_of(source, "flags")
    assert before == made_of("one", b"flags") != made_of("onefl", "ags")
    source.write_text("two")
    assert made_of(source, "flags") != before


def test_files_that_no_run_used_for_long_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(once, "KEPT", 2)
    made = [run(tmp_path, str(number), str(number)) for number in range(2)]
    for age, path in enumerate(made):
        os.utime(path, (age + 1, age + 1))
    run(tmp_path, "again", "0")
    run(tmp_path, "new", "2")
    assert [path.exists() for path in made] == [True, False]
