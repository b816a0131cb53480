"""Pictures, strips and folders arrive once, in order; bad ones are skipped with a message."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from app.errors import StyleForgeError
from app.sources import open_source
from app.sources.files import natural_sort
from tests.app.sources.conftest import next_frame, next_number, write_picture
from tests.helpers.errors import mentions
from tests.helpers.fakes import no_thread_left, number_of


def test_a_picture_is_delivered_once_and_then_idles(tmp_path: Path) -> None:
    with no_thread_left():
        source = open_source(str(write_picture(tmp_path / "one.png", 5)))
        assert not source.live
        assert (source.info.title, source.info.width, source.info.fps) == ("one.png", 160, 0)
        assert next_number(source) == 5
        start = time.perf_counter()
        assert source.read(0.05) is None
        assert 0.04 < time.perf_counter() - start < 0.15
        source.step(1)
        assert source.read(0.05) is None
        source.close()
        source.close()
        assert source.read(0.01) is None


def test_a_strip_wraps_in_both_directions(tmp_path: Path) -> None:
    paths = [str(write_picture(tmp_path / f"{n}.png", n)) for n in (3, 4, 5)]
    with no_thread_left():
        source = open_source(paths)
        assert source.info.count == 3
        assert (next_number(source), source.position) == (3, 0)
        source.step(-1)
        assert (next_number(source), source.position) == (5, 2)
        assert source.info.title == "5.png"
        source.step(1)
        source.step(1)  # two key presses before the first picture arrived
        assert next_number(source) in (3, 4)
        assert source.position == 1
        source.seek(99)
        assert number_of(next_frame(source).pixels) in (4, 5)
        assert source.position == 2
        source.close()


def test_a_bad_picture_in_a_strip_is_skipped_aloud(tmp_path: Path) -> None:
    paths = [str(write_picture(tmp_path / f"{n}.png", n)) for n in (0, 1, 2)]
    Path(paths[1]).write_bytes(b"<html>")
    source = open_source(paths)
    assert next_number(source) == 0
    assert source.status == ""
    source.step(1)
    assert (next_number(source), source.position) == (2, 2)
    assert mentions(source.status, "1.png", "an HTML page", "skipped")
    source.step(-1)
    assert (next_number(source), source.position) == (0, 0)
    source.step(1)
    next_frame(source)
    source.step(1)
    next_frame(source)
    assert source.status == ""
    source.close()


def test_a_strip_of_nothing_but_bad_pictures_says_so(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(b"<html>")
    with no_thread_left(), pytest.raises(StyleForgeError, match=r"none of .*2 pictures"):
        open_source(str(tmp_path))


def test_a_folder_is_a_strip_in_the_order_a_person_counts(tmp_path: Path) -> None:
    for number in (10, 9, 1):
        write_picture(tmp_path / f"shot{number}.png", number)
    write_picture(tmp_path / "shot11.png", 11).rename(tmp_path / "shot11.dat")
    (tmp_path / "notes.txt").write_text("no picture")
    (tmp_path / ".hidden.png").write_bytes(b"")
    (tmp_path / "below.png").mkdir()
    source = open_source(str(tmp_path))
    numbers = [next_number(source)]
    for _ in range(3):
        source.step(1)
        numbers.append(next_number(source))
    assert numbers == [1, 9, 10, 11]
    source.close()


def test_what_of_a_picture_is_not_shown_is_noted(tmp_path: Path) -> None:
    write_picture(tmp_path / "0.png", 0)
    alpha = np.zeros((4, 4), np.uint8)
    Image.fromarray(np.dstack([np.zeros((4, 4, 3), np.uint8), alpha])).save(tmp_path / "1.png")
    Image.fromarray(np.full((4, 4), 30000, np.int32)).save(tmp_path / "2.tif")
    source = open_source(str(tmp_path))
    assert next_frame(source).alpha is None
    assert source.info.note == ""
    source.step(1)
    cut_out = next_frame(source)
    assert cut_out.alpha is not None
    assert np.array_equal(cut_out.alpha, alpha)
    assert mentions(source.info.note, "parts", "over white")
    source.step(1)
    next_frame(source)
    assert mentions(source.info.note, "32 bits", "8")
    source.close()


def test_natural_order_survives_odd_names() -> None:
    names = ["b", "2", "10", "a1b", "a01", "1.5", "", "²"]
    assert [p.name for p in natural_sort(map(Path, names))][:4] == ["", "1.5", "2", "10"]
