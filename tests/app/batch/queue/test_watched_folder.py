"""A watched folder yields each picture once, when it no longer changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.batch.queue.job import QueuedJob
from app.batch.queue.job_queue import JobQueue
from app.batch.queue.watched_folder import WatchedFolder, not_queued
from app.errors import StyleForgeError

FUTURE = 9_000_000_000  # seconds since the epoch: the year 2255


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
    assert watched.settled() == [(tmp_path / "a.png", "13 5000000000")]


def test_a_file_is_queued_once_whatever_its_time_and_again_when_an_older_one_replaces_it(tmp_path):
    path, queue = tmp_path / "a.png", JobQueue(tmp_path / "queue")

    def look() -> list[Path]:
        watched = WatchedFolder(tmp_path)
        watched.settled()
        new = not_queued(watched.settled(), queue.jobs()[0])
        if new:
            queue.add(["--style=candy", "--", *map(str, new)])
        return new

    for dated, size in ((FUTURE, 4), (5, 4), (FUTURE, 4), (5, 9)):
        path.write_bytes(bytes(size))
        os.utime(path, (dated, dated))
        assert look() == [path]
        assert look() == []


def test_a_job_without_stamps_has_its_files_as_they_are(tmp_path):
    old = QueuedJob(1, ("--style=candy", "--", "/a.png"), 0.0)
    assert not_queued([(Path("/a.png"), "1 5"), (Path("/b.png"), "1 5")], [old]) == [Path("/b.png")]


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
