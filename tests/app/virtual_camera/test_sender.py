"""The sender feeds the newest picture to a virtual camera at its rate, whatever the stream does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from app.virtual_camera import sender
from app.virtual_camera.choice import CameraChoice, VirtualCameraError
from app.virtual_camera.sender import GRACE_S, CameraStatus, State, VirtualCamera
from tests.conftest import picture
from tests.helpers.errors import mentions
from tests.helpers.virtual_cameras import NAME, FakeCameras, FakeReaders, fake_cameras

WIDTH, HEIGHT = 64, 48
CHOICE = CameraChoice(WIDTH, HEIGHT, rate=50)


@pytest.fixture
def cameras() -> Iterator[FakeCameras]:
    with fake_cameras() as cameras:
        yield cameras


@pytest.fixture
def statuses() -> list[CameraStatus]:
    return []


@pytest.fixture
def camera(cameras, statuses) -> Iterator[VirtualCamera]:
    camera = VirtualCamera(CHOICE, statuses.append)
    yield camera
    camera.close()


def wait_for(condition: Callable[[], bool]) -> None:
    waiting = threading.Event()
    for _ in range(1000):
        if condition():
            return
        waiting.wait(0.01)
    pytest.fail("it did not come about in ten seconds")


def test_the_device_is_opened_as_it_was_chosen(cameras):
    choice = CameraChoice(640, 360, 25, "yuyv", device="/dev/video7")
    VirtualCamera(choice).close()
    (device,) = cameras.opened
    assert (device.asked["width"], device.asked["height"], device.asked["fps"]) == (640, 360, 25)
    assert device.asked["fourcc"].to_bytes(4, "little") == b"YUY2"
    assert device.asked["device"] == "/dev/video7"
    assert device.closed.is_set()


def test_before_the_first_picture_the_camera_is_black(camera, cameras):
    wait_for(lambda: len(cameras.opened[0].frames) > 2)
    assert not np.any(cameras.opened[0].pictures())


def test_a_picture_is_sent_as_it_is_and_again_until_there_is_another(camera, cameras):
    shown = picture(WIDTH, HEIGHT)
    camera.show(shown)
    wait_for(lambda: len(cameras.opened[0].frames) > 5)
    first = next(n for n, sent in enumerate(cameras.opened[0].pictures()) if sent.any())
    for sent in cameras.opened[0].pictures()[first:]:
        np.testing.assert_array_equal(sent, shown)
    assert camera.sent == len(cameras.opened[0].frames)


def test_a_slow_camera_is_sent_the_newest_picture_and_nobody_waits_for_it(camera, cameras):
    free, begun = threading.Event(), threading.Event()

    def hang(_: object) -> None:
        begun.set()
        free.wait(10)

    cameras.before_send = hang
    assert begun.wait(10)
    pictures = [picture(WIDTH, HEIGHT, seed) for seed in range(5)]
    for shown in pictures:
        camera.show(shown)  # must not block, or the test would never set `free`
    before = len(cameras.opened[0].frames)
    free.set()
    wait_for(lambda: len(cameras.opened[0].frames) > before + 1)
    np.testing.assert_array_equal(cameras.opened[0].pictures()[before + 1], pictures[-1])


def test_a_picture_of_another_size_is_fitted_and_it_is_said_how(camera, cameras, statuses):
    camera.show(picture(100, 30))
    wait_for(lambda: bool(statuses) and bool(statuses[-1].fitting))
    assert mentions(str(statuses[-1]), NAME, "64x48, 50 fps", "100x30", "64x48", "black bars")
    assert statuses[-1] == camera.status
    sent = cameras.opened[0].pictures()[-1]
    assert not sent[:10].any()
    assert sent[20:28].any()


def test_a_camera_that_fails_is_closed_and_says_why(cameras, statuses):
    camera = VirtualCamera(CHOICE, statuses.append)

    def fail(_: object) -> None:
        raise RuntimeError("the device is gone")

    cameras.before_send = fail
    wait_for(cameras.opened[0].closed.is_set)
    camera.close()
    assert statuses[-1].state is State.FAILED
    assert mentions(str(statuses[-1]), NAME, "the device is gone")


def test_a_camera_that_is_in_use_cannot_be_opened_again(camera, cameras):
    with pytest.raises(VirtualCameraError):
        VirtualCamera(CHOICE)
    assert len(cameras.opened) == 1
    assert camera.status.state is State.SENDING


class Clock:
    """A clock that advances only by waiting; waiting ends the run at `end`."""

    def __init__(self, end: float) -> None:
        self.now, self.end = 0.0, end

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        return self.now > self.end

    def set(self) -> None:
        """Do nothing: the run ends by itself."""


@pytest.fixture
def run(cameras, monkeypatch) -> Callable[..., list[float]]:
    """Return a function that runs a camera on its own clock and returns the times of sent frames.

    Its argument `each(now)` is called with every frame and returns the seconds that sending takes.
    """

    def run(
        seconds: float,
        choice: CameraChoice = CHOICE,
        readers: FakeReaders | None = None,
        each: Callable[[float], float] = lambda now: 0.0,
        told: Callable[[CameraStatus], object] = lambda status: None,
    ) -> list[float]:
        clock, times = Clock(seconds), []
        made = SimpleNamespace(Event=lambda: clock, Lock=threading.Lock, Thread=threading.Thread)
        monkeypatch.setattr(sender, "threading", made)
        monkeypatch.setattr(sender, "time", SimpleNamespace(perf_counter=lambda: clock.now))
        monkeypatch.setattr(sender, "readers_of", lambda camera: readers)

        def note(_: object) -> None:
            times.append(clock.now)
            clock.now += each(clock.now)

        cameras.before_send = note
        VirtualCamera(choice, told).close()
        return times

    return run


def test_the_rate_is_kept(run):
    times = run(2.01)
    assert len(times) == 101
    assert [b - a for a, b in pairwise(times)] == pytest.approx([1 / 50] * 100)


def test_the_rate_is_kept_while_sending_takes_a_part_of_it(run):
    times = run(2.01, each=lambda now: 0.015)
    assert [b - a for a, b in pairwise(times)] == pytest.approx([1 / 50] * (len(times) - 1))


def test_what_is_late_is_not_made_up_for_in_a_burst(run):
    times = run(2.01, each=lambda now: 0.5 if now == 0 else 0.0)
    assert times[1] == pytest.approx(0.5)
    assert [b - a for a, b in pairwise(times[1:])] == pytest.approx([1 / 50] * (len(times) - 2))


def test_nothing_is_sent_while_no_program_reads(run):
    readers = FakeReaders(False)
    said: list[State] = []

    def told(status: CameraStatus) -> None:
        said.append(status.state)

    times = run(10.01, readers=readers, told=told)
    assert times[-1] < GRACE_S <= times[-1] + 1 / 50 + 1e-9
    assert said == [State.SENDING, State.PAUSED]
    assert readers.closed


def test_sending_goes_on_as_soon_as_a_program_reads(run):
    readers = FakeReaders(False)
    said: list[str] = []

    def told(status: CameraStatus) -> None:
        said.append(str(status))
        readers.reading = status.state is State.PAUSED  # a program starts reading, then stops

    times = run(4 * GRACE_S, readers=readers, told=told)
    gaps = [b - a for a, b in pairwise(times)]
    assert max(gaps) < 0.2, "it looks for a reader ten times a second"
    running, paused, again = said[:3]
    assert running == again == f"{NAME}, 64x48, 50 fps"
    assert mentions(paused, "paused", NAME)


@pytest.mark.parametrize("readers", [None, FakeReaders(None)], ids=["nobody", "not yet"])
def test_where_it_cannot_be_told_who_reads_pictures_are_always_sent(run, readers):
    assert len(run(10.01, readers=readers)) == 501


def test_a_camera_can_be_told_to_send_always(run):
    assert len(run(10.01, replace(CHOICE, always=True), FakeReaders(False))) == 501
