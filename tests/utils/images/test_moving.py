"""Films and animations are distinguished from pictures; blocks store how an animation moves."""

from __future__ import annotations

import struct
from fractions import Fraction

import pytest
from PIL import Image

from tests.conftest import picture
from tests.helpers.animations import DELAYS, write_animation
from tests.helpers.films import write_film
from tests.helpers.there import there
from utils.images.animation import is_animation, read_animation
from utils.images.moving import file_kind, likely_kind, moves_in_folder, moving_kind


@pytest.mark.parametrize(("ending", "unit"), [(".gif", 100), (".webp", 1000), (".png", 1000)])
def test_delays_and_plays_are_read(tmp_path, ending, unit):
    path = write_animation(tmp_path / f"a{ending}", loop=3)
    animation = there(read_animation(path))
    assert animation.unit == Fraction(1, unit)
    assert [delay * 1000 // unit for delay in animation.delays] == list(DELAYS)
    assert animation.plays == (4 if ending == ".gif" else 3)


def test_an_animated_avif_has_its_delays_and_a_still_one_has_none(tmp_path):
    path = write_animation(tmp_path / "a.avif", loop=None)
    animation = there(read_animation(path))
    delays = [round(delay * animation.unit * 1000) for delay in animation.delays]
    assert (delays, animation.plays) == (list(DELAYS), 0)
    assert moving_kind(path) == "animation"
    Image.fromarray(picture(20, 16)).save(path)
    assert file_kind(path) == "picture"


@pytest.mark.parametrize("ending", [".gif", ".webp", ".png"])
def test_an_animation_is_read_up_to_where_it_is_damaged(tmp_path, ending):
    path = write_animation(tmp_path / f"a{ending}")
    whole = there(read_animation(path)).delays
    data = path.read_bytes()
    counts = []
    for share in range(20):
        path.write_bytes(data[: len(data) * share // 20])
        animation = read_animation(path)
        counts.append(len(animation.delays) if animation else 0)
        if animation:
            assert animation.delays == whole[: len(animation.delays)]
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert 2 <= counts[-1] <= 6


def test_comments_before_the_first_frame_do_not_hide_it(tmp_path):
    path = write_animation(tmp_path / "a.gif")
    data = path.read_bytes()
    at = 13 + (3 << ((data[10] & 7) + 1))
    comment = b"\x21\xfe" + b"".join(struct.pack("B", 255) + b"x" * 255 for _ in range(3)) + b"\0"
    path.write_bytes(data[:at] + comment + data[at:])
    assert len(there(read_animation(path)).delays) == 6


def test_what_moves_is_told_by_its_bytes(tmp_path):
    still = Image.fromarray(picture(20, 16))
    for name in ("still.gif", "still.webp", "still.png"):
        still.save(tmp_path / name)
    film = write_film(tmp_path / "film.mp4")
    kinds = {
        "still.gif": "", "still.webp": "", "still.png": "", "film.mp4": "film",
        "a.gif": "animation", "a.webp": "animation", "a.png": "animation",
        "walk": "film", "code.ts": "", "b.ts": "film",
    }  # fmt: skip
    for name in ("a.gif", "a.webp", "a.png"):
        write_animation(tmp_path / name)
    film.with_name("walk").write_bytes(film.read_bytes())
    (tmp_path / "code.ts").write_text("export const one = 1;\n")
    (tmp_path / "b.ts").write_bytes(b"G" + bytes(187) + b"G" + bytes(187))
    assert {name: moving_kind(tmp_path / name) for name in kinds} == kinds
    assert moving_kind(tmp_path) == ""
    assert moving_kind(tmp_path / "gone.mp4") == ""
    assert not is_animation(tmp_path / "still.gif")


def test_in_a_folder_sound_is_no_film_and_pictures_are_not_opened(tmp_path):
    film = write_film(tmp_path / "film.mp4")
    for name in ("song.m4a", "song.ogg", "named.jpg"):
        (tmp_path / name).write_bytes(film.read_bytes())
        assert not moves_in_folder(tmp_path / name)
    assert moves_in_folder(film)
    assert moves_in_folder(write_animation(tmp_path / "a.gif"))


# The first bytes of films from cameras, recorders and FFmpeg.
BEGINNINGS = {
    "MOV001.MOD": "000001ba2100010001c33367",
    "tape.vro": "000001ba4400040004018666",
    "a.m2v": "000001b304003023ffffe000",
    "pi.h264": "000000016764000aacd9447a",
    "short.h264": "0000016764000aacd9447a10",
    "delimited.h264": "0000000109f0000000016764",
    "x.hevc": "0000000140010c01ffff0160",
    "a.mxf": "060e2b34020501010d010201010204008300006800010003",
    "pal.dv": "1f0700bff8787878ffffffff",
    "ntsc.dv": "1f07003ff8787878ffffffff",
    "a.y4m": "595556344d504547322057363420483438204639303030300a",
    "a.ivf": "444b49460000200056503930",
    "a.nut": "6e75742f6d756c74696d6564696120636f6e7461696e6572",
    "a.wtv": "b7d800203749da11a64e0007e95ead8d8cc3d2c27e9ada11",
    "a.gxf": "0000000001bc0000011400000000e1e2",
    "a.obu": "12000a0a00000002aff78d5f",
    "a.wmv": "3026b2758e66cf11a6d900aa0062ce6c",
    "a.flv": "464c5601050000000900000000",
    "a.rm": "2e524d46000000120000000000000006",
    "disc.dat": "5249464624c8a90243445841666d7420",
}


@pytest.mark.parametrize("name", BEGINNINGS)
def test_films_are_known_by_their_first_bytes(tmp_path, name):
    data = bytes.fromhex(BEGINNINGS[name]).ljust(600, b"\0")
    for path in (tmp_path / name, tmp_path / "noending", tmp_path / "called.txt"):
        path.write_bytes(data)
        assert file_kind(path) == likely_kind(path) == "film"
        assert moves_in_folder(path)


@pytest.mark.parametrize(("before", "length"), [(0, 188), (4, 192), (0, 204)])
def test_a_transport_stream_is_known_by_its_packets(tmp_path, before, length):
    path = tmp_path / "recording"
    path.write_bytes((bytes(before) + b"G").ljust(length, b"\xff") * 4)
    assert file_kind(path) == "film"
    path.write_bytes(b"G".ljust(150, b"\xff") * 6)
    assert file_kind(path) == ""
    path.write_bytes(b"G".ljust(188, b"o") * 4)  # text
    assert file_kind(path) == ""


def test_pictures_are_known_whatever_they_are_called(tmp_path):
    image = Image.fromarray(picture(20, 16))
    for name, format_name in (
        ("photo.jfif", "JPEG"), ("photo.jpg_large", "JPEG"), ("photo", "JPEG"),
        ("photo.dat", "PNG"), ("photo.mp4", "WEBP"),
    ):  # fmt: skip
        image.save(tmp_path / name, format_name)
        assert file_kind(tmp_path / name) == likely_kind(tmp_path / name) == "picture"
        assert moving_kind(tmp_path / name) == ""
    image.save(tmp_path / "camera.mjpeg", "JPEG")
    assert file_kind(tmp_path / "camera.mjpeg") == "film"


def test_the_name_tells_of_a_file_that_is_not_there(tmp_path):
    names = {"a.png": "picture", "a.MOD": "film", "a.mp3": "", "noending": "", "a\0b": ""}
    assert {name: likely_kind(tmp_path / name) for name in names} == names
