"""A compiled library loads only unchanged, and only from a place where nobody else can write."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from kernels.jit import build
from kernels.jit.errors import Damaged, Exposed
from kernels.jit.permissions import refuse_writable_by_others

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")


@pytest.fixture
def built(tmp_path: Path) -> Path:
    compiled, folder = tmp_path / "compiled.so", tmp_path / "cache"
    compiled.write_bytes(bytes(range(256)) * 10)
    compiled.chmod(0o666)
    build._make_folder(folder)
    build._keep(compiled, folder / "x.so")
    return folder / "x.so"


def test_what_was_kept_passes_its_checks(built: Path):
    refuse_writable_by_others(built)
    build._check_digest(built)


@pytest.mark.parametrize(
    "content", [bytes(range(256)) * 5, bytes(2560), b"another"], ids=["half", "zeros", "another"]
)
def test_another_content_is_damaged(content: bytes, built: Path):
    built.write_bytes(content)
    with pytest.raises(Damaged, match="differs from the compiled file"):
        build._check_digest(built)


def test_without_a_digest_it_is_damaged(built: Path):
    build._digest_of(built).unlink()
    with pytest.raises(Damaged):
        build._check_digest(built)


def test_a_file_or_a_folder_that_others_can_write_is_refused(built: Path):
    for part in (built, built.parent):
        part.chmod(part.stat().st_mode | 0o002)
        with pytest.raises(Exposed):
            refuse_writable_by_others(built)
        part.chmod(part.stat().st_mode & ~0o002)
    build._digest_of(built).chmod(0o666)
    with pytest.raises(Exposed):
        build._check_digest(built)


def test_a_link_in_an_open_folder_is_refused(built: Path, tmp_path: Path):
    place = tmp_path / "open"
    place.mkdir()
    place.chmod(0o777)
    link, behind = place / "x.so", tmp_path / "behind.so"
    link.symlink_to(built)
    behind.symlink_to(link)
    for each in (link, behind):
        with pytest.raises(Exposed):
            refuse_writable_by_others(each)


def test_a_circle_of_links_is_damaged(tmp_path: Path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(Damaged):
        refuse_writable_by_others(tmp_path / "a")


def test_a_note_that_others_can_write_is_not_believed(tmp_path: Path):
    note = tmp_path / "x.tested.json"
    build._note(note, "key", "")
    assert build._recall(note, "key") == ""
    assert build._recall(note, "another") is None
    note.chmod(0o666)
    assert build._recall(note, "key") is None


def test_a_library_is_flushed_before_it_has_its_name(tmp_path: Path, monkeypatch):
    done: list[str] = []
    rename, flush = Path.replace, os.fsync

    def replace(self: Path, target: Path) -> Path:
        done.append(target.name)
        return rename(self, target)

    def fsync(descriptor: int) -> None:
        done.append("flush")
        flush(descriptor)

    monkeypatch.setattr(Path, "replace", replace)
    monkeypatch.setattr(os, "fsync", fsync)
    (tmp_path / "compiled").write_bytes(b"code")
    build._keep(tmp_path / "compiled", tmp_path / "x.so")
    assert done[0] == "flush"
    assert done[-2:] == ["x.so", "flush"]
    assert "x.so.sha256" in done
