"""Films and animations are told from pictures, and how these move is read from their blocks."""

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
from utils.images.moving import moves_in_folder, moving_kind


@pytest.mark.parametrize(("ending", "unit"), [(".gif", 100), (".webp", 1000)])
def test_delays_and_plays_are_read(tmp_path, ending, unit):
    path = write_animation(tmp_path / f"a{ending}", loop=3)
    animation = there(read_animation(path))
    assert animation.unit == Fraction(1, unit)
    assert [delay * 1000 // unit for delay in animation.delays] == list(DELAYS)
    assert animation.plays == (4 if ending == ".gif" else 3)


@pytest.mark.parametrize("ending", [".gif", ".webp"])
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
        "a.gif": "animation", "a.webp": "animation", "walk": "film", "code.ts": "", "b.ts": "film",
    }  # fmt: skip
    for name in ("a.gif", "a.webp"):
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
