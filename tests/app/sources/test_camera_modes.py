"""A camera accepts requests for another size, rate and exposure, and reports the outcome."""

from __future__ import annotations

import errno
import struct
import time
from collections.abc import Callable, Iterator

import pytest

from app.sources.camera import Camera, Mode, with_mode
from app.sources.camera_modes import offers
from app.sources.camera_modes.exposure import NO_WAY, NOT_OFFERED, ExposureControl
from app.sources.camera_modes.offers import NAMED, UNNAMED, USUAL_RATES, USUAL_SIZES
from tests.helpers.errors import mentions
from tests.helpers.fakes import FakeCamera, no_thread_left
from utils.opencv import cv2

v4l2 = pytest.importorskip("app.sources.camera_modes.v4l2", reason="Linux alone has it")


@pytest.fixture
def device() -> FakeCamera:
    device = FakeCamera(size=(160, 120))
    device.obeys = True
    return device


@pytest.fixture
def source(device: FakeCamera) -> Iterator[Camera]:
    with no_thread_left():
        source = Camera("Eye", Mode(160, 120, 100), device.open)
        yield source
        source.close()


def read_until(source: Camera, condition: Callable[[], object]) -> None:
    end = time.perf_counter() + 10
    while not condition():
        assert time.perf_counter() < end, "it did not happen"
        source.read(0.02)


# Size and rate of an open camera


def test_another_size_is_delivered_without_the_camera_counting_as_lost(source, device):
    faults: set[str] = set()
    source.set_mode(320, 240, 50)
    read_until(source, lambda: faults.add(source.status) or source.info.width == 320)
    assert (source.info.width, source.info.height) == (320, 240)
    assert source.info.note == ""
    assert faults == {""}
    assert device.opened == 2


def test_what_the_driver_makes_of_the_choice_is_told(source, device):
    device.obeys = False
    source.set_mode(1280, 720, 30)
    read_until(source, lambda: source.info.note)
    assert mentions(source.info.note, "1280x720 MJPG at 30 fps", "160x120 MJPG at 100 fps")


def test_the_rate_is_measured_anew_in_the_new_mode(source, device):
    device.fps = 40
    source.set_mode(160, 120, 40)
    read_until(source, lambda: source.info.fps == 40)
    read_until(source, lambda: source.info.fps != 40)
    assert 20 < source.info.fps < 45


def test_the_spec_of_a_camera_is_kept_with_its_mode():
    assert with_mode("camera:Eye", 640, 480, 29.97) == "camera:Eye@640x480@29.97"
    assert with_mode("camera:Eye@1280x720@30", 640, 480, 60.0) == "camera:Eye@640x480@60"


# Exposure


def test_stops_double_the_time_that_the_automatic_had(device):
    device.exposure = 200.0
    control = ExposureControl(device.open(), "linux")
    assert control.reason == ""
    control.follow(1.0)
    assert (device.automatic, device.exposure) == (1.0, 400.0)
    control.follow(-2.0)
    assert device.exposure == 50.0
    control.follow(None)
    assert device.automatic == 3.0


def test_stops_are_added_where_times_are_powers_of_two(device):
    device.exposure, device.automatic = -6.0, 1.0
    control = ExposureControl(device.open(), "win32")
    control.follow(2.0)
    assert (device.automatic, device.exposure) == (0.0, -4.0)


def test_an_exposure_in_force_is_not_set_again(device):
    device.exposure = 200.0
    control = ExposureControl(device.open(), "linux")
    control.follow(1.0)
    asked = len(device.asked)
    control.follow(1.0)
    assert len(device.asked) == asked


def test_a_camera_without_exposure_says_so(device):
    assert ExposureControl(device.open(), "linux").reason == NOT_OFFERED
    assert ExposureControl(device.open(), "darwin").reason == NO_WAY


def test_an_open_camera_takes_an_exposure_and_keeps_it_when_it_comes_back(monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    device = FakeCamera(size=(160, 120))
    device.exposure = 100.0
    with no_thread_left():
        source = Camera("Eye", Mode(160, 120, 100), device.open)
        assert source.info.exposure == ""
        source.set_exposure(1.0)
        read_until(source, lambda: device.exposure == 200.0)
        device.plugged = False
        read_until(source, lambda: source.status)
        device.exposure, device.automatic = 100.0, 3.0  # as after replugging
        device.plugged = True
        read_until(source, lambda: device.exposure == 200.0)
        source.close()


# Offered modes


class Driver:
    """Answers V4L2 requests like a webcam's driver: MJPG and YUYV."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.formats = [b"YUYV", b"MJPG"]
        self.sizes: dict[bytes, list[tuple[int, int]]] = {
            b"YUYV": [(640, 480)],
            b"MJPG": [(1920, 1080), (1280, 720)],
        }
        # minimum, maximum and step of both sides, instead of sizes
        self.range: tuple[int, ...] = ()
        monkeypatch.setattr(v4l2.os, "open", lambda path, flags: 99)
        monkeypatch.setattr(v4l2.os, "close", lambda file: None)
        monkeypatch.setattr(v4l2.fcntl, "ioctl", self.answer)

    def answer(self, file: int, request: int, answer: bytearray) -> None:
        index, form = struct.unpack_from("=2I", answer)
        name = form.to_bytes(4, "little")
        try:
            if request == v4l2.ENUM_FORMATS:
                struct.pack_into("=4s", answer, 44, self.formats[index])
            elif request == v4l2.ENUM_SIZES and self.range:
                struct.pack_into("=7I", answer, 8, 3, *self.range)
            elif request == v4l2.ENUM_SIZES:
                struct.pack_into("=3I", answer, 8, 1, *self.sizes[name][index])
            else:
                struct.pack_into("=3I", answer, 16, 1, 1, (30, 60)[index])
        except IndexError:
            raise OSError(errno.EINVAL, "no more") from None


def test_the_sizes_and_rates_that_the_driver_names_for_mjpg_are_offered(monkeypatch):
    Driver(monkeypatch)
    monkeypatch.setattr("sys.platform", "linux")
    found = offers.offers_of(0)
    assert found.remark == NAMED
    assert found.sizes == {(1280, 720): (30.0, 60.0), (1920, 1080): (30.0, 60.0)}


def test_without_mjpg_the_sizes_of_the_other_formats_are_offered(monkeypatch):
    Driver(monkeypatch).formats.remove(b"MJPG")
    assert list(v4l2.sizes_of("/dev/video0", USUAL_SIZES)) == [(640, 480)]


def test_of_a_range_the_usual_sizes_within_it_are_offered(monkeypatch):
    driver = Driver(monkeypatch)
    driver.range = (320, 1280, 16, 240, 720, 8)
    assert list(v4l2.sizes_of("/dev/video0", USUAL_SIZES)) == [
        (320, 240),
        (640, 360),
        (640, 480),
        (800, 600),
        (1280, 720),
    ]


def test_the_usual_sizes_are_offered_where_no_driver_can_be_asked(monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    found = offers.offers_of(0)
    assert found.remark == UNNAMED
    assert tuple(found.sizes) == USUAL_SIZES
    assert found.rates((641, 480)) == USUAL_RATES


def test_a_device_that_is_gone_is_offered_the_usual_sizes(monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    assert offers.offers_of(9999).remark == UNNAMED


def test_exposure_is_asked_by_opencvs_numbers():
    assert cv2.CAP_PROP_AUTO_EXPOSURE == 21
    assert cv2.CAP_PROP_EXPOSURE == 15
