"""Videos and animations: played at their own speed, sought, stepped, damaged and removed."""

from __future__ import annotations

import itertools
import os
import struct
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from app.errors import StyleForgeError
from app.sources import open_source
from app.sources.video import Video
from app.sources.video_decoder import AnimationReader, VideoReader
from tests.app.sources.conftest import next_frame, next_number, numbers_until
from tests.helpers.errors import mentions, refused
from tests.helpers.fakes import no_thread_left, number_of, numbered, write_video

ROOT = Path(__file__).resolve().parents[3]


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
    if os.name != "nt":  # Windows forbids it in names
        (tmp_path / "12_30.mp4").rename(tmp_path / "12:30.mp4")
    monkeypatch.chdir(tmp_path)
    source = open_source(next(path.name for path in Path().glob("12?30.mp4")))
    assert next_number(source) == 0
    source.close()


def test_a_video_of_one_frame_plays(tmp_path: Path) -> None:
    source = open_source(str(write_video(tmp_path / "single.mp4", 1)))
    assert [next_number(source), next_number(source)] == [0, 0]
    source.close()


class SlowReader(VideoReader):
    def decode(self):
        time.sleep(0.05)
        return super().decode()


def test_a_short_film_that_is_slow_to_decode_plays(tmp_path: Path) -> None:
    source = Video(SlowReader(write_video(tmp_path / "short.mp4", 3, 100)))
    seen = {next_number(source) for _ in range(12)}
    assert seen <= {0, 1, 2}
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
    assert next_number(source) == 0  # it wraps, as in playback
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
    matrix = data.index(b"tkhd") + 4 + 40  # in the track header: a quarter turn clockwise
    data[matrix : matrix + 36] = struct.pack(
        ">9i", 0, 1 << 16, 0, -(1 << 16), 0, 0, 120 << 16, 0, 1 << 30
    )
    path.write_bytes(data)
    source = open_source(str(path))
    frame = next_frame(source)
    assert (source.info.width, source.info.height) == (frame.width, frame.height) == (120, 160)
    assert number_of(np.rot90(frame.pixels)) == 0
    assert frame.pixels[5, 30, 0] > 200  # red moved from the left to the top
    source.close()


def test_a_video_that_ends_early_says_so_and_goes_on(tmp_path: Path) -> None:
    path = write_video(tmp_path / "cut.avi", 60, 30, codec="MJPG")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 3])
    source = open_source(str(path))
    numbers = numbers_until(source, lambda n: len(n) > 2 and n[-1] < n[-2])
    assert max(numbers) < 30
    assert mentions(source.status, "cut.avi", "0:00 of 0:02")
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
    with refused(StyleForgeError, "no longer", file="gone.mp4"):
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


@pytest.mark.parametrize("ending", ["gif", "webp"])
def test_an_animation_has_the_duration_of_its_delays_and_steps_by_frame(
    tmp_path: Path, ending: str
) -> None:
    path, delays = tmp_path / f"moving.{ending}", [1000, 40, 400, 40]
    frames = [Image.fromarray(numbered(n)) for n in range(4)]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=delays, loop=0)
    source = open_source(str(path))
    assert source.info.duration == pytest.approx(1.48)
    source.pause(True)
    for wanted, number, begins in ((1.2, 2, 1.04), (9.0, 3, 1.44), (0.9, 0, 0.0)):
        source.seek(wanted)  # past the end comes the last frame, however short it is
        assert next_number(source) == number
        assert source.position == pytest.approx(begins)
    for count, number in ((1, 1), (1, 2), (-1, 1), (2, 3), (1, 0)):
        source.step(count)
        assert next_number(source) == number
    source.close()


def test_a_part_of_an_animation_is_looped(tmp_path: Path) -> None:
    frames = [Image.fromarray(numbered(n)) for n in range(5)]
    path = tmp_path / "moving.gif"
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=40, loop=0)
    source = open_source(str(path))
    source.set_loop((0.04, 0.12))
    numbers = numbers_until(source, lambda n: n.count(1) == 3)
    assert numbers[numbers.index(1) :] == [1, 2, 3, 1, 2, 3, 1]
    source.close()


def test_the_last_frame_of_an_animation_is_shown_as_long_as_it_says(tmp_path: Path) -> None:
    frames = [Image.fromarray(numbered(n)) for n in range(2)]
    path = tmp_path / "moving.gif"
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=[40, 3000], loop=0)
    reader = AnimationReader(path)
    assert (reader.until(0.0), reader.until(0.04)) == pytest.approx((0.04, 3.04))
    reader.close()


def test_a_frame_that_does_not_fit_into_memory_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *rest = (Image.fromarray(numbered(n)) for n in range(3))
    first.save(tmp_path / "film.gif", save_all=True, append_images=rest)
    reader = AnimationReader(tmp_path / "film.gif")

    def too_large() -> None:
        raise MemoryError

    assert reader.grab() == 0.0
    with monkeypatch.context() as patch:
        patch.setattr(reader._image, "load", too_large)
        assert reader.grab() == pytest.approx(0.1)
        assert reader.decode() is None
    assert reader.grab() == pytest.approx(0.2)
    assert reader.decode() is not None
    reader.close()


@pytest.mark.skipif(sys.platform != "linux", reason="names are text elsewhere")
def test_a_film_whose_name_is_not_utf_8_plays(tmp_path: Path) -> None:
    write_video(tmp_path / "film.avi", 3, codec="MJPG").rename(tmp_path / "\udcff.avi")
    # In a child process, because OpenCV's fault is a crash.
    opens = "import sys; from app.sources import open_source; open_source(sys.argv[1]).close()"
    line = [sys.executable, "-c", opens, str(tmp_path / "\udcff.avi")]
    assert subprocess.run(line, cwd=ROOT, check=False).returncode == 0


class EndlessReader:
    """A video that decodes instantly, with every frame due at once."""

    title, fps, duration, last = "endless", 1e5, 0.0, 0.0

    def __init__(self) -> None:
        self.grabbed = 0

    def grab(self) -> float:
        self.grabbed += 1
        return self.grabbed / self.fps

    def decode(self) -> np.ndarray:
        return np.zeros((48, 64, 3), np.uint8)

    def until(self, seconds: float) -> float:
        return seconds + 1 / self.fps

    def seek(self, seconds: float) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


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
