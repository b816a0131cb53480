"""Processes of a test run share a file that one of them made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.once import made_once


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
