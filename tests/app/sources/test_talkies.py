"""Films with sound are in step with it, exact to the frame, and loop in part."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from app.frame import Frame
from app.sound.soundtrack import Soundtrack
from app.sources.video import Video
from app.sources.video_decoder import VideoReader
from tests.app.sources.conftest import next_frame, next_number
from tests.helpers.fakes import number_of
from tests.helpers.sound import FakeOutput, FakeTime, settle, write_talkie

IN_STEP_S = 0.04
TICK_S = 0.005
BEEPS = (0.48, 1.0, 1.72, 2.4)
EVEN = tuple(n / 25 for n in range(75))
UNEVEN = (
    *(n / 50 for n in range(50)),
    *(1 + n / 12 for n in range(12)),
    *(2 + n / 30 for n in range(30)),
)


class Cinema:
    """A film, an audio device and an engine with a delay, all on the test's clock."""

    def __init__(self, path: Path, delay: float, **device) -> None:
        self.time = FakeTime()
        self.device = FakeOutput(self.time, **device)
        sound = Soundtrack(str(path), self.device.open)
        self.sound = sound
        self.source = Video(VideoReader(path), sound, self.time)
        self.source.set_delay(delay)
        self._delay, self._busy_until = delay, 0.0
        self.painted: list[tuple[float, int]] = []  # time and number of each frame

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / TICK_S)):
            settle(self._is_ahead)
            self.time.advance(TICK_S)
            self.device.play()
            if self.time.now() >= self._busy_until:
                frame = self.source.read(0)
                if frame is not None:
                    self._busy_until = self.time.now() + self._delay
                    self.painted.append((self._busy_until, number_of(frame.pixels)))

    def _is_ahead(self) -> bool:
        with self.sound._changed:
            return self.sound._output is not None and not self.sound._wants_more()

    def errors(self, times, beeps) -> list[float]:
        """Return how late each painted frame was for the sound heard then, in seconds.

        The beeps that were heard give the position of the sound.
        """
        heard = self.device.beeps()
        assert len(heard) == len(beeps)
        found = []
        for at, number in self.painted:
            if heard[0] - 0.1 <= at <= heard[-1] + 0.1:
                position = float(np.interp(at, heard, beeps, left=np.nan, right=np.nan))
                if not np.isnan(position):
                    found.append(position - times[number])
        return found


@pytest.fixture
def cinema():
    opened: list[Cinema] = []

    def make(path: Path, delay: float = 0.02, **device) -> Cinema:
        opened.append(Cinema(path, delay, **device))
        return opened[-1]

    yield make
    for each in opened:
        each.source.close()


@pytest.mark.parametrize(
    ("delay", "device"),
    [
        (0.02, {}),
        (0.02, {"latency": 0.3}),
        (0.15, {"latency": 0.02}),
        (0.15, {"drift": 1.003, "jitter": 0.004}),
    ],
    ids=["fast", "slow device", "slow engine", "drifting device"],
)
def test_a_painted_frame_is_within_40_ms_of_what_is_heard(tmp_path, cinema, delay, device):
    film = write_talkie(tmp_path / "film.mp4", EVEN, BEEPS)
    shown = cinema(film, delay, **device)
    shown.run(2.9)
    errors = shown.errors(EVEN, BEEPS)
    assert len(errors) >= 1.8 / max(0.04, delay) - 2
    assert max(map(abs, errors)) <= IN_STEP_S


def test_frames_of_a_variable_rate_are_in_step_while_they_are_to_be_seen(tmp_path, cinema):
    film = write_talkie(tmp_path / "film.mkv", UNEVEN, BEEPS)
    shown = cinema(film)
    shown.run(2.9)
    errors = shown.errors(UNEVEN, BEEPS)
    assert len(errors) > 40
    assert max(map(abs, errors)) <= IN_STEP_S  # no frame is late


def test_the_sound_goes_on_where_the_film_begins_again(tmp_path, cinema):
    film = write_talkie(tmp_path / "film.mkv", EVEN[:25], (0.2, 0.6), codec="pcm_s16le")
    shown = cinema(film)
    shown.run(3.3)
    heard = shown.device.beeps()
    assert len(heard) >= 5
    laps = [0.4 if number % 2 == 0 else 0.6 for number in range(len(heard) - 1)]
    assert np.diff(heard) == pytest.approx(laps, abs=0.004)
    laps = [number for (_, number), (_, after) in pairwise(shown.painted) if after < number]
    assert laps == [24] * len(laps)
    assert len(laps) >= 2


def test_a_part_is_looped_with_its_sound_from_its_first_frame_to_its_last(tmp_path, cinema):
    film = write_talkie(tmp_path / "film.mp4", EVEN, BEEPS)
    shown = cinema(film)
    shown.source.set_loop((EVEN[20], EVEN[29]))  # 0.8 to 1.2 s, with the beep at 1.0
    shown.run(2.4)
    numbers = [number for _, number in shown.painted][3:]
    assert set(numbers) == set(range(20, 30))
    assert [b for a, b in pairwise(numbers) if b < a][:3] == [20] * 3
    assert np.diff(shown.device.beeps()) == pytest.approx(0.4, abs=0.004)
    shown.source.set_loop(None)
    shown.run(0.8)
    assert shown.painted[-1][1] > 30


def test_after_a_seek_and_after_a_pause_sound_and_picture_begin_together(tmp_path, cinema):
    film = write_talkie(tmp_path / "film.mp4", EVEN, BEEPS)
    shown = cinema(film, delay=0.1)
    shown.run(0.3)
    for go in (
        lambda: shown.source.seek(1.6),
        lambda: (shown.source.pause(True), shown.source.seek(1.6), shown.source.pause(False)),
    ):
        shown.painted.clear()
        shown.device.played.clear()
        go()
        shown.run(1.1)
        assert shown.errors(EVEN, BEEPS[2:])
        assert max(map(abs, shown.errors(EVEN, BEEPS[2:]))) <= IN_STEP_S


def test_a_paused_film_is_silent(tmp_path, cinema):
    film = write_talkie(tmp_path / "film.mp4", EVEN, BEEPS)
    shown = cinema(film)
    shown.run(0.2)
    shown.source.pause(True)
    settle(lambda: not shown.sound.clock.running)
    before = len(shown.device.played)
    for _ in range(200):
        shown.time._now += TICK_S
        shown.device.play()
    assert len(shown.device.played) > before + 90
    assert not any(each.samples.any() for each in shown.device.played[before:])


def test_a_film_that_cannot_be_decoded_fast_enough_is_interrupted_and_in_step(tmp_path, cinema):
    class Slow(VideoReader):
        """A reader that needs 120 ms of the test's time for each frame of 40 ms."""

        def grab(self) -> float | None:
            shown.time._now += 0.12
            return super().grab()

    film = write_talkie(tmp_path / "film.mp4", EVEN, BEEPS)
    shown = cinema(film)
    shown.run(0.1)
    shown.source._reader.__class__ = Slow
    starts: list[float] = []
    real = shown.sound.start
    shown.sound.start = lambda seconds, at: (starts.append(seconds), real(seconds, at))  # type: ignore[method-assign]
    shown.run(1.0)
    again = next(n for n, (a, b) in enumerate(pairwise([*starts, -1.0]), 1) if b < a)
    assert again >= 2  # before the film restarted
    assert all(min(abs(start - time) for time in EVEN) < 1e-3 for start in starts)


# Exact to the frame


@pytest.mark.parametrize("times", [EVEN, UNEVEN], ids=["even", "uneven"])
@pytest.mark.parametrize("ending", ["mp4", "mkv"])
def test_every_frame_is_found_by_its_time_and_stepped_to(tmp_path, ending, times):
    source = Video(VideoReader(write_talkie(tmp_path / f"film.{ending}", times, ())))
    source.pause(True)
    last = len(times) - 2  # a file may claim to be shorter
    for number in (last, 3, 47, 21, 20, 19, 1):
        source.seek(times[number])
        assert next_number(source) == number
    source.seek((times[30] + times[31]) / 2)
    assert next_number(source) == 30
    for step, expected in ((1, 31), (1, 32), (-1, 31), (-1, 30), (-3, 27), (5, 32), (-1, 31)):
        source.step(step)
        assert next_number(source) == expected
        assert source.position == pytest.approx(times[expected], abs=1e-3)
    source.seek(times[2])
    for _ in range(3):
        next_frame(source)
        source.step(-1)
    assert next_number(source) == 0  # it is the first
    source.close()


def test_steps_that_come_together_add_up_behind_a_seek(tmp_path):
    source = Video(VideoReader(write_talkie(tmp_path / "film.mp4", UNEVEN, ())))
    source.pause(True)
    with source._changed:  # the player's thread must see them together
        source.seek(UNEVEN[40])
        source.step(-1)
        source.step(-1)
    settle(lambda: source.position == pytest.approx(UNEVEN[38], abs=1e-3))
    assert number_of(next_frame(source).pixels) == 38
    source.close()


def test_results_of_a_frame_keep_the_moment_that_is_heard_with_it():
    frame = Frame(np.zeros((4, 4, 3), np.uint8), captured_at=5.0, plays_at=5.5)
    assert frame.with_pixels(np.ones((8, 8, 3), np.uint8)).moment == 5.5
    assert Frame(np.zeros((4, 4, 3), np.uint8), captured_at=5.0).moment == 5.0
