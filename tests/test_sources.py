"""Whatever a spec names becomes frames, or one sentence on why it does not."""

from __future__ import annotations

import itertools
import os
import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from app.frames import Frame, FrameSource
from app.problems import StyleForgeError
from app.sources import SCENE, SOURCES, describe, open_source
from app.sources.files import natural_order
from app.sources.reader import AnimationReader, VideoReader
from app.sources.scene import PERIOD_S, Scene, render
from app.sources.video import Video
from tests.fakes import no_thread_left, number_of, numbered, write_video
from utils.image_utils import save_image


def write_picture(path: Path, number: int = 1) -> Path:
    save_image(path, numbered(number))
    return path


def next_frame(source: FrameSource, seconds: float = 3.0) -> Frame:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        if (frame := source.read(0.05)) is not None:
            return frame
    pytest.fail(f"no frame within {seconds} s")


def next_number(source: FrameSource) -> int:
    return number_of(next_frame(source).pixels)


def numbers_until(source: FrameSource, condition: Callable[[list[int]], bool]) -> list[int]:
    numbers: list[int] = []
    while not condition(numbers):
        numbers.append(next_number(source))
        assert len(numbers) < 500
    return numbers


# The table


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


# What cannot be opened


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
        ("ftp://host/film.mp4", "'ftp://' cannot be opened"),
        ("http://", "the address is not valid"),
        ("http://host:port/", "the address is not valid"),
        ("", "no source was named"),
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
    with pytest.raises(StyleForgeError, match=r"no permission to read '.*secret\.png'"):
        open_source(str(path))


# Pictures


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
        source.step(1)  # two presses before the first picture was there
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
    assert source.status == "'1.png' is not a picture but an HTML page; skipped."
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
    with no_thread_left(), pytest.raises(StyleForgeError, match="none of the 2 pictures can be"):
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


def test_natural_order_survives_odd_names() -> None:
    names = ["b", "2", "10", "a1b", "a01", "1.5", "", "²"]
    assert [p.name for p in natural_order(map(Path, names))][:4] == ["", "1.5", "2", "10"]


# Videos


@pytest.mark.parametrize(("ending", "codec"), [("mp4", "mp4v"), ("avi", "MJPG"), ("mkv", "mp4v")])
def test_a_video_plays_in_order_at_its_own_speed(tmp_path: Path, ending: str, codec: str) -> None:
    path = write_video(tmp_path / f"film.{ending}", 30, 50, codec=codec)
    with no_thread_left():
        source = open_source(str(path))
        start = time.perf_counter()
        numbers = numbers_until(source, lambda n: bool(n) and n[-1] >= 25)
        passed = time.perf_counter() - start
        source.close()
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 0
    assert passed > 0.49  # never faster than real time
    assert source.info.fps == 50
    assert source.info.duration == pytest.approx(0.6)
    assert (source.info.title, source.info.width) == (f"film.{ending}", 160)


def test_a_video_begins_again_at_its_end(tmp_path: Path) -> None:
    source = open_source(str(write_video(tmp_path / "short.mp4", 6, 60)))
    numbers = numbers_until(source, lambda n: n.count(5) + n.count(4) >= 4)
    assert any(b < a for a, b in itertools.pairwise(numbers))
    assert source.status == ""
    source.close()


def test_a_video_with_a_colon_in_its_name_plays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_video(tmp_path / "film.mp4", 5).rename(tmp_path / "12_30.mp4")
    if os.name != "nt":  # where a name cannot hold one
        (tmp_path / "12_30.mp4").rename(tmp_path / "12:30.mp4")
    monkeypatch.chdir(tmp_path)
    source = open_source(next(path.name for path in Path().glob("12?30.mp4")))
    assert next_number(source) == 0
    source.close()


def test_a_video_of_one_frame_plays(tmp_path: Path) -> None:
    source = open_source(str(write_video(tmp_path / "single.mp4", 1)))
    assert [next_number(source), next_number(source)] == [0, 0]
    source.close()


def test_a_slow_reader_of_a_video_sees_the_frame_that_is_due(tmp_path: Path) -> None:
    source = open_source(str(write_video(tmp_path / "film.mp4", 200, 50)))
    start = time.perf_counter()
    assert next_number(source) == 0
    late = []
    for _ in range(5):
        time.sleep(0.2)
        number = next_number(source)
        late.append((time.perf_counter() - start) * 50 - number)
    assert -1.5 < np.median(late) < 4
    assert source.dropped > 30
    source.close()


def test_a_paused_video_seeks_and_steps(tmp_path: Path) -> None:
    source = open_source(str(write_video(tmp_path / "film.mp4", 100, 25)))
    next_frame(source)
    source.pause(True)
    time.sleep(0.1)
    source.read(0)
    assert source.read(0.15) is None
    source.seek(2.0)
    assert next_number(source) == 50
    assert source.position == pytest.approx(2.0)
    assert source.read(0.15) is None
    source.step(1)
    assert next_number(source) == 51
    source.step(-1)
    assert next_number(source) == 50
    source.step(5)
    assert next_number(source) == 55
    source.seek(-7)
    assert next_number(source) == 0
    source.seek(1e9)
    assert next_number(source) == 99
    source.step(1)
    assert next_number(source) == 0  # it wraps, as it does when playing
    source.seek(1.0)
    assert next_number(source) == 25
    source.pause(False)
    assert 25 < next_number(source) < 30
    source.close()


def test_dragging_the_position_shows_the_last_place_asked_for(tmp_path: Path) -> None:
    source = open_source(str(write_video(tmp_path / "film.mp4", 100, 25)))
    source.pause(True)
    for tenth in range(30):
        source.seek(tenth / 10)
    numbers = numbers_until(source, lambda n: bool(n) and n[-1] >= 72)
    assert len(numbers) < 30
    source.close()


def test_a_pause_does_not_make_a_video_hurry_afterwards(tmp_path: Path) -> None:
    source = open_source(str(write_video(tmp_path / "film.mp4", 200, 25)))
    next_frame(source)
    source.pause(True)
    time.sleep(0.4)
    source.pause(False)
    assert next_number(source) < 6
    source.close()


def test_reading_a_video_never_exceeds_the_timeout(tmp_path: Path) -> None:
    source = open_source(str(write_video(tmp_path / "slow.mp4", 10, 2)))
    next_frame(source)
    for timeout in (0.0, 0.02, 0.1):
        start = time.perf_counter()
        assert source.read(timeout) is None
        assert timeout - 0.005 < time.perf_counter() - start < timeout + 0.06
    source.close()


def test_a_rotated_video_stands_upright(tmp_path: Path) -> None:
    path = write_video(tmp_path / "phone.mp4", 3)
    data = bytearray(path.read_bytes())
    matrix = data.index(b"tkhd") + 4 + 40  # of the track header: a quarter turn clockwise
    data[matrix : matrix + 36] = struct.pack(
        ">9i", 0, 1 << 16, 0, -(1 << 16), 0, 0, 120 << 16, 0, 1 << 30
    )
    path.write_bytes(data)
    source = open_source(str(path))
    frame = next_frame(source)
    assert (source.info.width, source.info.height) == (frame.width, frame.height) == (120, 160)
    assert number_of(np.rot90(frame.pixels)) == 0
    assert frame.pixels[5, 30, 0] > 200  # what was at the left, red, is now at the top
    source.close()


def test_a_video_that_ends_early_says_so_and_goes_on(tmp_path: Path) -> None:
    path = write_video(tmp_path / "cut.avi", 60, 30, codec="MJPG")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 3])
    source = open_source(str(path))
    numbers = numbers_until(source, lambda n: len(n) > 2 and n[-1] < n[-2])
    assert max(numbers) < 30
    assert source.status == ("'cut.avi' is damaged at 0:00 of 0:02; what can be read is played.")
    assert next_number(source) < 30
    source.close()


@pytest.mark.parametrize(("ending", "codec"), [("avi", "MJPG"), ("mkv", "mp4v")])
def test_damage_in_the_middle_of_a_video_is_passed_over(
    tmp_path: Path, ending: str, codec: str
) -> None:
    path = write_video(tmp_path / f"bad.{ending}", 60, 60, codec=codec)
    data = bytearray(path.read_bytes())
    middle, size = len(data) // 2, len(data) // 10
    data[middle : middle + size] = bytes(size)
    path.write_bytes(data)
    source = open_source(str(path))
    numbers = numbers_until(source, lambda n: bool(n) and n[-1] >= 50)
    assert numbers[0] == 0
    assert len(numbers) > 20
    source.close()


def test_a_video_that_vanishes_raises_instead_of_freezing(tmp_path: Path) -> None:
    path = write_video(tmp_path / "gone.mp4", 5, 50)
    source = open_source(str(path))
    path.unlink()
    with pytest.raises(StyleForgeError, match=r"'gone\.mp4' can no longer be read"):
        numbers_until(source, lambda n: False)
    source.close()


def test_every_frame_can_be_had_without_pacing(tmp_path: Path) -> None:
    reader = VideoReader(write_video(tmp_path / "film.mp4", 40, 25))
    shots = list(reader)
    reader.close()
    assert [number_of(pixels) for _, pixels in shots] == list(range(40))
    assert [seconds for seconds, _ in shots] == pytest.approx([n / 25 for n in range(40)])


@pytest.mark.parametrize("ending", ["gif", "webp", "png"])
def test_an_animation_plays_as_a_video(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"moving.{ending}"
    frames = [Image.fromarray(numbered(n)) for n in range(5)]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=40, loop=0)
    source = open_source(str(path))
    assert source.live
    assert source.info.fps == pytest.approx(25)
    numbers = numbers_until(source, lambda n: n.count(0) == 2)
    assert numbers == [0, 1, 2, 3, 4, 0]
    source.close()


def test_an_animation_can_be_sought(tmp_path: Path) -> None:
    path = tmp_path / "moving.gif"
    frames = [Image.fromarray(numbered(n)) for n in range(5)]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=[40, 400, 40, 40, 40])
    reader = AnimationReader(path)
    for seconds, number in [(0.3, 1), (0.45, 2), (9.0, 4), (0.0, 0)]:
        reader.seek(seconds)
        reader.grab()
        pixels = reader.decode()
        assert pixels is not None
        assert number_of(pixels) == number
    reader.close()


class EndlessReader:
    """A video that decodes as fast as it is asked, every frame due at once."""

    title, fps, duration = "endless", 1e5, 0.0

    def __init__(self) -> None:
        self.grabbed = 0

    def grab(self) -> float:
        self.grabbed += 1
        return self.grabbed / self.fps

    def decode(self) -> np.ndarray:
        return np.zeros((48, 64, 3), np.uint8)

    def seek(self, seconds: float) -> None:
        """Not needed."""

    def close(self) -> None:
        """Nothing to release."""


def test_memory_does_not_grow_over_three_thousand_video_frames() -> None:
    source = Video(EndlessReader())
    while next_frame(source).index < 200:
        pass
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    while next_frame(source).index < 3300:
        pass
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    source.close()
    assert grown < 500_000


# The scene


def test_the_scene_is_the_same_at_the_same_second_and_repeats() -> None:
    picture = render(3.0, 320, 180)
    assert picture.shape == (180, 320, 3)
    assert picture.dtype == np.uint8
    assert np.array_equal(picture, render(3.0, 320, 180))
    assert np.array_equal(picture, render(3.0 + PERIOD_S, 320, 180))


def test_the_scene_moves_gently_and_without_a_seam() -> None:
    def change(a: float, b: float) -> float:
        one, other = (render(t, 320, 180).astype(float) for t in (a, b))
        return float(np.abs(one - other).mean())

    everywhere = [change(t, t + 1 / 30) for t in (1.0, 8.0, 17.0)]
    assert min(everywhere) > 0.05
    assert change(PERIOD_S - 1 / 60, PERIOD_S + 1 / 60) < 1.5 * max(everywhere)


def test_the_scene_has_detail_at_every_scale() -> None:
    grey = render(3.0, 640, 360).mean(axis=2)
    for size in (1, 4, 16, 64):
        rows, columns = 360 // size, 640 // size
        blocks = grey[: rows * size, : columns * size].reshape(rows, size, columns, size)
        assert np.abs(np.diff(blocks.mean(axis=(1, 3)), axis=1)).mean() > 4


@pytest.mark.parametrize("size", [(1280, 720), (641, 361), (64, 64), (300, 700)])
def test_the_scene_comes_in_any_size(size: tuple[int, int]) -> None:
    for t in (0.0, 9.9, PERIOD_S - 0.001):
        assert render(t, *size).shape == (size[1], size[0], 3)


def test_the_scene_keeps_time_and_drops_what_is_not_read() -> None:
    source = Scene(320, 180)
    assert (source.info.width, source.info.height, source.info.fps) == (320, 180, 30)
    start = time.perf_counter()
    indexes = [next_frame(source).index for _ in range(10)]
    assert indexes == sorted(set(indexes))
    assert time.perf_counter() - start > 8.5 / 30
    time.sleep(0.2)
    dropped = source.dropped
    assert next_frame(source).index > indexes[-1] + 3
    assert source.dropped > dropped + 2
    source.pause(True)
    start = time.perf_counter()
    assert source.read(0.1) is None
    assert 0.09 < time.perf_counter() - start < 0.2
    dropped = source.dropped
    source.pause(False)
    next_frame(source)
    assert source.dropped <= dropped + 1
    source.close()
    assert source.read(0.01) is None


def test_the_scene_opens_by_its_spec() -> None:
    source = open_source(SCENE)
    frame = next_frame(source)
    assert (frame.width, frame.height) == (1280, 720)
    source.close()
