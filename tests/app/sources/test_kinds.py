"""Every kind of source: its texts, the specs it accepts, and the ones it cannot open."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.errors import StyleForgeError
from app.sources import SOURCES, describe, open_source
from tests.app.sources.conftest import write_picture
from tests.helpers.errors import refused
from tests.helpers.fakes import no_thread_left


def test_every_kind_of_source_has_what_a_menu_needs() -> None:
    assert [kind.key for kind in SOURCES] == ["camera", "scene", "address", "folder", "file"]
    assert all(kind.title and kind.placeholder for kind in SOURCES)


@pytest.mark.parametrize(
    ("spec", "key", "title"),
    [
        ("camera:0", "camera", "the camera 0"),
        ("camera:Eye@640x480@30", "camera", "the camera Eye"),
        ("scene", "scene", "the scene"),
        ("HTTP://host/a.mjpg", "address", "host/a.mjpg"),
        ("rtsp://me:s3cret@host:8554/live?password=s3cret", "address", "host:8554/live"),
        (".", "folder", "the folder ''"),
        ("a/film.mp4", "file", "'film.mp4'"),
    ],
)
def test_a_spec_belongs_to_one_kind(spec: str, key: str, title: str) -> None:
    assert next(kind.key for kind in SOURCES if kind.accepts(spec)) == key
    assert describe(spec) == title


def test_a_list_is_described_by_its_length() -> None:
    assert describe(["a.png", "b.png"]) == "2 pictures"
    assert describe(["a/b.png"]) == "'b.png'"


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("empty.mp4", b"", "'empty.mp4' is empty"),
        ("page.mp4", b"<!doctype html><p>", "'page.mp4' is an HTML page, not a picture or video"),
        ("net.pth", b"PK\x03\x04" + bytes(99), "'net.pth' is a ZIP archive"),
        ("song.mp3", b"ID3\x04" + bytes(99), "'song.mp3' is a sound file"),
        ("notes.txt", b"hello\n" * 99, "'notes.txt' is a text file, not a picture or video"),
        ("noise.avi", bytes(range(200, 256)) * 50, "'noise.avi' is not a picture or video"),
        ("half.mp4", b"\0\0\0\x18ftypisom" + bytes(99), "'half.mp4' is an MP4 or QuickTime file"),
        ("half.png", b"\x89PNG\r\n\x1a\n" + bytes(9), "'half.png' is a PNG picture that is trunc"),
    ],
)
def test_a_file_that_is_neither_picture_nor_video_is_named(
    tmp_path: Path, name: str, content: bytes, fault: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with no_thread_left(), pytest.raises(StyleForgeError) as caught:
        open_source(str(tmp_path / name))
    assert fault in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_faults_have_their_sentence_too(tmp_path: Path) -> None:
    for spec, fault in [
        (str(tmp_path / "missing.png"), r"missing\.png' does not exist"),
        (str(tmp_path), "holds no pictures"),
        ("ftp://host/film.mp4", "'ftp://' addresses cannot be opened"),
        ("http://", "the address is not valid"),
        ("http://host:port/", "the address is not valid"),
        ("http:// /", "the address is not valid"),
        ("http://host/\ud800", "the address is not valid"),
        ("", "no source was given"),
        ("camera:99", "there is no camera"),
    ]:
        with pytest.raises(StyleForgeError, match=fault):
            open_source(spec)
    with pytest.raises(StyleForgeError, match="no picture was chosen"):
        open_source([])


def test_a_file_that_may_not_be_read_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_picture(tmp_path / "secret.png")

    def refuse(*args: object) -> None:  # root may read everything, so chmod would prove nothing
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with refused(StyleForgeError, "permission", file=str(path)):
        open_source(str(path))
