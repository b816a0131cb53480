"""A watched folder gives each picture once, when it no longer changes."""

from __future__ import annotations

import os

import pytest

from app.batch.watched_folder import WatchedFolder
from app.errors import StyleForgeError


def names(folder: WatchedFolder) -> list[str]:
    return [path.name for path, _ in folder.settled()]


def test_a_picture_is_given_once_and_again_when_it_has_changed(tmp_path):
    watched = WatchedFolder(tmp_path)
    assert names(watched) == []
    (tmp_path / "a.png").write_bytes(b"half")
    (tmp_path / "notes.txt").write_bytes(b"no picture")
    assert names(watched) == []
    (tmp_path / "a.png").write_bytes(b"half and half")
    assert names(watched) == []
    assert names(watched) == ["a.png"]
    assert names(watched) == []
    os.utime(tmp_path / "a.png", ns=(5, 5_000_000_000))
    assert names(watched) == []
    assert watched.settled() == [(tmp_path / "a.png", 5.0)]


def test_an_empty_file_is_waited_for_and_one_that_goes_is_forgotten(tmp_path):
    watched = WatchedFolder(tmp_path)
    (tmp_path / "a.png").write_bytes(b"")
    (tmp_path / "b.png").write_bytes(b"there")
    assert names(watched) == []
    (tmp_path / "b.png").unlink()
    assert names(watched) == []
    assert names(watched) == []


def test_a_folder_that_is_gone_is_told(tmp_path):
    watched = WatchedFolder(tmp_path / "gone")
    with pytest.raises(StyleForgeError, match="gone' is not there"):
        watched.settled()
