"""A reader never sees a partial file, and a power failure leaves the old or the new one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from utils.files.atomic import atomic_write


def test_the_old_file_stays_whole_until_the_new_one_is_flushed(tmp_path: Path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    done: list[str] = []
    flush, rename = os.fsync, Path.replace

    def fsync(descriptor: int) -> None:
        assert path.read_bytes() == b"old" or "renamed" in done
        flush(descriptor)
        done.append("flushed")

    def replace(self: Path, target: Path) -> Path:
        assert path.read_bytes() == b"old"
        assert self.read_bytes() == b"new"
        done.append("renamed")
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    atomic_write(path, b"new")
    assert path.read_bytes() == b"new"
    assert done == (
        ["flushed", "renamed"] if os.name == "nt" else ["flushed", "renamed", "flushed"]
    )


def test_a_write_that_fails_leaves_the_old_file_alone(tmp_path: Path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(_: int) -> None:
        assert path.read_bytes() == b"old"
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="the disk is full"):
        atomic_write(path, b"new")
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
