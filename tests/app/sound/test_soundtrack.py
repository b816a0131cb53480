"""Any device plays a film's sound at its times, and the film's clock follows what was played."""

from __future__ import annotations

import numpy as np
import pytest

from app.sound.device import Heard
from app.sound.output import SilentOutput
from app.sound.soundtrack import LOST, Soundtrack
from tests.helpers.sound import FakeOutput, FakeTime, beginnings, settle, write_talkie

FRAMES = [n / 25 for n in range(75)]
BEEPS = (0.5, 1.0, 1.72, 2.4)


class Stage:
    """A soundtrack on a fake device, with their common clock."""

    def __init__(self, path, **device) -> None:
        self.time = FakeTime()
        self.device = FakeOutput(self.time, **device)
        self.sound = Soundtrack(str(path), self.device.open)

    def start(self, seconds: float) -> float:
        """Play from `seconds` on, once that is decoded; return when it is heard."""
        at = self.time.now() + 0.5
        self.sound.start(seconds, at)
        settle(lambda: not self.sound._wants_more())
        return at

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / 0.01)):
            self.time._now += 0.01
            self.device.play()
            settle(lambda: not self.sound._playing or not self.sound._wants_more())


@pytest.fixture
def film(tmp_path):
    return write_talkie(tmp_path / "film.mp4", FRAMES, BEEPS)


@pytest.fixture
def stage(film):
    stages: list[Stage] = []

    def make(**device) -> Stage:
        stages.append(Stage(film, **device))
        return stages[-1]

    yield make
    for each in stages:
        each.sound.close()


@pytest.mark.parametrize("latency", [0.02, 0.3])
def test_sound_is_heard_when_it_was_asked_for_whatever_the_latency(stage, latency):
    played = stage(latency=latency)
    at = played.start(0.2)
    played.run(3.0)
    assert played.device.beeps() == pytest.approx([at + beep - 0.2 for beep in BEEPS], abs=0.004)


@pytest.mark.parametrize("drift", [0.995, 1.005])
def test_the_clock_follows_a_device_that_is_faster_or_slower_than_told(stage, drift):
    played = stage(drift=drift, jitter=0.004)
    played.start(0.0)
    played.run(3.2)
    heard = played.device.beeps()
    assert len(heard) == len(BEEPS)
    assert heard[-1] - heard[0] == pytest.approx((BEEPS[-1] - BEEPS[0]) / drift, abs=0.002)
    assert played.sound.clock.when(BEEPS[-1]) == pytest.approx(heard[-1], abs=0.01)


def test_what_is_decoded_too_late_is_left_out_and_not_delayed(stage):
    played = stage()
    at = played.time.now() - 0.7  # its start is already past
    played.sound.start(0.0, at)
    settle(lambda: not played.sound._wants_more())
    played.run(2.5)
    expected = [at + beep for beep in BEEPS if at + beep > played.time._now - 2.4]
    assert played.device.beeps() == pytest.approx(expected, abs=0.004)


def test_the_film_begins_again_at_the_very_sample(stage):
    played = stage()
    at = played.start(0.4)
    played.run(0.6)
    played.sound.jump(1.2, 0.4)  # the part from 0.4 to 1.2 s, repeated twice
    played.sound.jump(2.0, 0.4)
    played.run(2.5)
    beeps = [at + lap * 0.8 + beep - 0.4 for lap in range(2) for beep in (0.5, 1.0)]
    assert played.device.beeps()[:4] == pytest.approx(beeps, abs=0.004)
    assert played.sound.clock.when(2.0) == pytest.approx(at + 1.6, abs=1e-6)


def test_a_jump_that_is_told_late_takes_back_what_was_decoded_beyond(stage):
    played = stage()
    at = played.start(0.4)
    played.run(0.7)  # heard up to 0.6 s, decoded up to 1.0 s
    played.sound.jump(0.9, 2.2)
    played.run(1.0)
    assert played.device.beeps()[:2] == pytest.approx([at + 0.1, at + 0.5 + 0.2], abs=0.004)


def test_a_film_whose_sound_is_shorter_goes_on_in_silence(tmp_path):
    path = write_talkie(tmp_path / "short.mkv", FRAMES, BEEPS, seconds=0.8)
    played = Stage(path)
    at = played.start(0.0)
    played.run(1.5)
    played.sound.jump(2.0, 0.0)
    played.run(2.0)
    assert played.device.beeps() == pytest.approx([at + 0.5, at + 2.5], abs=0.004)
    played.sound.close()


def test_a_stop_is_silence_and_a_start_begins_where_it_says(stage):
    played = stage()
    played.start(0.0)
    played.run(0.7)
    played.sound.stop()
    before = len(played.device.played)
    played.run(1.0)
    assert not any(each.samples.any() for each in played.device.played[before:])
    at = played.start(2.0)
    played.run(1.2)
    assert played.device.beeps()[-1] == pytest.approx(at + 0.4, abs=0.004)


def test_the_volume_changes_what_is_heard_and_not_what_is_listened_to(stage):
    played = stage()
    heard: list[Heard] = []
    played.sound.set_volume(0.0)
    played.sound.listen(heard.append)
    at = played.start(0.0)
    played.run(1.3)
    assert not any(each.samples.any() for each in played.device.played)
    whole = np.concatenate([each.samples for each in heard])
    first = heard[0]
    found = [first.at + begins for begins in beginnings(whole, first.rate)]
    assert found == pytest.approx([at + 0.5], abs=0.004)
    played.sound.set_volume(0.5)
    played.run(1.0)
    assert max(np.abs(each.samples).max() for each in played.device.played) < 0.3


def test_a_device_that_is_lost_leaves_silence_that_keeps_time_and_says_why(stage):
    played = stage()
    played.start(0.0)
    played.run(0.6)
    played.device.lost()
    settle(lambda: played.sound.silence == LOST)
    assert played.device.closed == 1
    assert isinstance(played.sound._output, SilentOutput)
    assert played.sound.clock.running


def test_a_device_that_is_not_there_is_told(stage):
    played = stage(silence="There is no sound output device: connect one")
    assert played.sound.silence == ""
    played.start(0.0)
    assert "no sound output device" in played.sound.silence


def test_no_device_is_opened_before_a_film_plays(stage):
    played = stage()
    assert played.device.opened == 0
    played.start(0.0)
    assert played.device.opened == 1
