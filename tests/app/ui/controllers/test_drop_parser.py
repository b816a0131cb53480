"""The kinds of data dropped on the window, and the window's answer to each."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QUrl
from PySide6.QtGui import QImage

from app.ui.controllers.drop_parser import parse_drop, parse_style_drop
from tests.helpers.errors import mentions


def dropped(*names: str | Path) -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl(str(n)) if "://" in str(n) else QUrl.fromLocalFile(str(n)) for n in names])
    return data


@pytest.mark.parametrize("name", ["a.jpg", "a.PNG", "a.webp", "a.tiff", "a.mp4", "a.mkv", "a.mov"])
def test_pictures_and_videos_open(name):
    assert parse_drop(dropped(f"/x/{name}")).spec == f"/x/{name}"


def test_several_pictures_make_a_strip_and_what_else_there_is_stays_out():
    drop = parse_drop(dropped("/x/a.jpg", "/x/b.png", "/x/notes.txt"))
    assert drop.spec == ["/x/a.jpg", "/x/b.png"]
    assert drop.queue == (Path("/x/a.jpg"), Path("/x/b.png"))
    assert "2 pictures; 1 other" in drop.detail


@pytest.mark.parametrize("name", ["a.pth", "a.PT", "a.safetensors"])
def test_weights_offer_to_install_a_style(name):
    drop = parse_drop(dropped(f"/x/{name}"))
    assert drop.weights == Path(f"/x/{name}")
    assert "install this style" in drop.title


def test_a_folder_opens_and_a_pack_installs(tmp_path):
    assert parse_drop(dropped(tmp_path)).spec == str(tmp_path)
    (tmp_path / "style.toml").touch()
    assert parse_drop(dropped(tmp_path)).weights == tmp_path


def test_addresses_open_dropped_or_as_text():
    assert parse_drop(dropped("http://cam/video.mjpg")).spec == "http://cam/video.mjpg"
    data = QMimeData()
    data.setText(" rtsp://cam/1 \n")
    assert parse_drop(data).spec == "rtsp://cam/1"


@pytest.mark.parametrize("name", ["/x/a.pdf", "/x/noending", "ftp://host/a.jpg"])
def test_anything_else_says_what_can_be_dropped(name):
    drop = parse_drop(dropped(name))
    assert not drop.accepted
    assert drop.title.endswith("cannot be opened")
    assert ".safetensors" in drop.detail


def test_films_beside_one_another_can_be_queued_alone():
    films = parse_drop(dropped("/x/a.mp4", "/x/b.ts"))
    assert (films.spec, films.queue) == (None, (Path("/x/a.mp4"), Path("/x/b.ts")))
    both = parse_drop(dropped("/x/a.mp4", "/x/b.png", "/x/c.png"))
    assert both.spec == ["/x/b.png", "/x/c.png"]
    assert mentions(both.detail, "2 pictures", "1 film")
    assert len(both.queue) == 3


def test_a_name_with_control_characters_is_shown_on_one_line():
    assert parse_drop(dropped("/x/two\nlines.png")).detail == r"two\nlines.png"
    assert parse_drop(dropped("/x/\x1b[2J.pdf")).title == r"'\x1b[2J.pdf' cannot be opened"
    assert len(parse_drop(dropped(f"/x/{'y' * 5000}.pdf")).title) < 150
    assert parse_drop(dropped("/x/two\nlines.png")).spec == "/x/two\nlines.png"


def test_a_name_that_no_file_can_have_is_refused(qtlog):
    for text in ("/x/nul\0.png", "file:///x/nul%00.png"):
        data = QMimeData()
        data.setText(text)
        assert not parse_drop(data).accepted
    assert not qtlog.records


def test_prose_and_nothing_are_no_drop():
    prose = QMimeData()
    prose.setText("hello\nworld")
    for data in (prose, QMimeData()):
        assert not parse_drop(data).accepted


def test_a_folder_among_dropped_pictures_stands_for_what_it_holds(tmp_path):
    drop = parse_drop(dropped(tmp_path, tmp_path / "a.png", tmp_path / "a.txt"))
    assert drop.spec == [str(tmp_path), str(tmp_path / "a.png")]
    assert mentions(drop.detail, "1 picture", "1 folder")
    assert "1 other file" in drop.detail


def test_two_styles_at_once_are_refused():
    several = parse_drop(dropped("/x/a.pth", "/x/b.styleforge"))
    assert "install these 2" in several.title
    assert several.styles == (Path("/x/a.pth"), Path("/x/b.styleforge"))


def test_a_dropped_address_keeps_its_escapes():
    data = QMimeData()
    data.setUrls([QUrl("http://cam/a%20b?x=%26")])
    assert parse_drop(data).spec == "http://cam/a%20b?x=%26"


def test_on_the_gallery_pictures_are_styles(tmp_path):
    one = parse_style_drop(dropped("/x/a.png"))
    assert mentions(one.title, "make a style", "a.png")
    assert one.pictures == (Path("/x/a.png"),)
    several = parse_style_drop(dropped("/x/a.png", "/x/b.jpg", "/x/c.txt", tmp_path))
    assert mentions(several.title, "make a style", "2 pictures")
    assert "2 other files" in several.detail
    assert several.pictures == (Path("/x/a.png"), Path("/x/b.jpg"))


def test_on_the_gallery_packs_and_weights_are_installed_as_elsewhere(tmp_path):
    (tmp_path / "style.toml").write_text("")
    for path in (tmp_path, Path("/x/a.pth")):
        assert parse_style_drop(dropped(path)).weights == path


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("/x/film.mp4", "'film.mp4' cannot be used as a style picture"),
        (
            str(Path(__file__).parent),
            "'controllers' is a folder and cannot be used as a style picture",
        ),
        ("/x/\x1b[2J.pdf", r"'\x1b[2J.pdf' cannot be used as a style picture"),
    ],
)
def test_what_is_no_style_picture_is_refused_on_the_gallery(path, fault):
    drop = parse_style_drop(dropped(path))
    assert drop.title == fault
    assert not drop.accepted


def test_a_picture_from_a_browser_is_a_style_and_its_address_alone_is_not():
    data = dropped()
    data.setUrls([QUrl("https://host/wave.jpg")])
    assert not parse_style_drop(data).accepted
    image = QImage(4, 4, QImage.Format.Format_RGB32)
    data.setImageData(image)
    assert parse_style_drop(data).image


def with_picture(*names: str | Path) -> QMimeData:
    data = dropped(*names) if names else QMimeData()
    data.setImageData(QImage(8, 8, QImage.Format.Format_RGB32))
    return data


@pytest.mark.parametrize(
    "address", ["data:image/png;base64,iVBORw0KGgo=", "blob:https://x/1", "ftp://x/a.jpg"]
)
def test_a_picture_beside_an_address_that_cannot_be_opened_is_taken(address):
    data = with_picture()
    data.setUrls([QUrl(address)])
    for found in (parse_drop(data), parse_style_drop(data), parse_drop(with_picture())):
        assert found.image
        assert found.accepted


def test_a_picture_is_taken_where_its_file_is_gone(tmp_path):
    assert parse_drop(with_picture(tmp_path / "gone.png")).image
    assert parse_style_drop(with_picture(tmp_path / "gone.png")).image
    (tmp_path / "there.png").touch()
    assert parse_drop(with_picture(tmp_path / "there.png")).spec == str(tmp_path / "there.png")


def test_a_picture_stands_by_for_an_address_that_may_be_dead():
    drop = parse_drop(with_picture("http://cam/a.png"))
    assert (drop.spec, drop.image) == ("http://cam/a.png", True)


def test_data_addresses_are_not_shown():
    data = QMimeData()
    data.setUrls([QUrl("data:image/png;base64,iVBORw0KGgo=")])
    assert parse_drop(data).title == "This cannot be opened"


@pytest.mark.parametrize("host", ["", "localhost", "LOCALHOST", socket.gethostname()])
@pytest.mark.parametrize("as_text", [False, True])
def test_files_of_this_machine_may_be_named_with_their_host(tmp_path, host, as_text):
    path, data = tmp_path / "a picture.png", QMimeData()
    path.touch()
    address = f"file://{host}{QUrl.fromLocalFile(str(path)).path()}"
    data.setText(address) if as_text else data.setUrls([QUrl(address)])
    assert parse_drop(data).spec == str(path)
    assert parse_style_drop(data).pictures == (path,)


@pytest.mark.skipif(os.name == "nt", reason="there a host is a share")
def test_files_of_another_machine_are_refused():
    data = QMimeData()
    data.setUrls([QUrl("file://elsewhere.invalid/x/a.png")])
    assert not parse_drop(data).accepted


@pytest.mark.skipif(os.name == "nt", reason="paths as POSIX shells write them")
def test_paths_are_understood_as_other_programs_write_them(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    path, other = tmp_path / "a picture.png", tmp_path / "b.png"
    path.touch()
    other.touch()

    def spec(text: str) -> object:
        data = QMimeData()
        data.setText(text)
        return parse_drop(data).spec

    escaped = str(path).replace(" ", "\\ ")
    for text in (f"{path}\n", f'"{path}"', f"'{path}'", "~/a picture.png", escaped):
        assert spec(text) == str(path)
    both = [str(path), str(other)]
    for text in (f"{path}\r\n{other}\n", f'"{path}"\n"{other}"', f"'{path}' {other}"):
        assert spec(text) == both
    for text in (f"see {path}\nand {other}", "it's", "~nobody-here/a.png", "a" * 5000, "b.png"):
        assert spec(text) is None
