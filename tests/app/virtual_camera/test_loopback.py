"""v4l2loopback's events show whether a program reads; a driver in Python replaces the real one."""

from __future__ import annotations

import errno
import os
import shutil
import struct
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

if sys.platform != "linux":
    pytest.skip("v4l2loopback is Linux's", allow_module_level=True)

from app.virtual_camera import loopback
from app.virtual_camera.choice import CameraChoice, VirtualCameraError
from app.virtual_camera.loopback import CLIENT_USAGE, CLIENT_USAGE_OF_UBUNTU, LoopbackReaders
from app.virtual_camera.sender import State, VirtualCamera
from utils.opencv import cv2

HEADER = Path("/usr/include/linux/videodev2.h")


class Driver:
    """Answers the two requests like the kernel, for any file.

    Attributes:
        event: The event's number in this driver; 0 if it does not know the event.
        readers: The number of capturing programs; `change` queues an event.
    """

    def __init__(self, event: int = CLIENT_USAGE) -> None:
        self.event = event
        self.readers = 0
        self._subscribed = False
        self._queue: list[bytes] = []

    def change(self, readers: int) -> None:
        self.readers = readers
        if self._subscribed:
            self._queue.append(struct.pack("=I4xI60xII56x", self.event, readers, 0, 1))

    def ioctl(self, file: int, request: int, argument: bytes | bytearray) -> int:
        os.fstat(file)  # fails unless the file is open
        if request == loopback._SUBSCRIBE:
            event, number, flags = struct.unpack_from("=III", argument)
            if event != self.event:
                raise OSError(errno.EINVAL, "Invalid argument")
            assert (number, flags) == (0, 1), "the present state is asked for"
            self._subscribed = True
            self.change(self.readers)
            return 0
        assert request == loopback._DQEVENT
        assert isinstance(argument, bytearray), "the kernel writes the event into it"
        if not self._queue:
            raise OSError(errno.ENOENT, "No such file or directory")
        argument[:] = self._queue.pop(0)
        return 0


@pytest.fixture(params=[CLIENT_USAGE, CLIENT_USAGE_OF_UBUNTU], ids=["upstream", "Ubuntu"])
def driver(request, monkeypatch) -> Driver:
    driver = Driver(request.param)
    monkeypatch.setattr(loopback.fcntl, "ioctl", driver.ioctl)
    return driver


@pytest.fixture
def device(tmp_path) -> str:
    (tmp_path / "video2").touch()
    return str(tmp_path / "video2")


def test_a_program_that_reads_is_told_from_the_start(driver, device):
    driver.readers = 1
    readers = LoopbackReaders(device)
    assert readers.reading is True
    readers.close()


def test_programs_that_come_and_go_are_told(driver, device):
    readers = LoopbackReaders(device)
    assert readers.reading is False
    driver.change(1)
    assert readers.reading is True
    assert readers.reading is True, "it stays so without an event"
    driver.change(2)
    driver.change(1)
    driver.change(0)
    assert readers.reading is False, "the last event counts"
    readers.close()


def test_a_driver_without_the_event_is_an_error_and_the_device_is_closed(device, monkeypatch):
    monkeypatch.setattr(loopback.fcntl, "ioctl", Driver(event=0).ioctl)
    before = set(Path("/proc/self/fd").iterdir())
    with pytest.raises(OSError, match="Invalid argument"):
        LoopbackReaders(device)
    assert set(Path("/proc/self/fd").iterdir()) == before


def test_a_device_that_is_gone_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        LoopbackReaders(str(tmp_path / "video9"))


@pytest.mark.skipif(
    not HEADER.exists() or shutil.which("cc") is None, reason="no C compiler, or no Linux headers"
)
def test_the_layout_is_that_of_the_kernels_header(tmp_path):
    source = tmp_path / "layout.c"
    source.write_text(
        "#include <linux/videodev2.h>\n#include <stddef.h>\n#include <stdio.h>\n"
        'int main(void) { printf("%zu %zu %zu %lu %lu %d %d", sizeof(struct v4l2_event),\n'
        "offsetof(struct v4l2_event, u), sizeof(struct v4l2_event_subscription),\n"
        "(unsigned long)VIDIOC_DQEVENT, (unsigned long)VIDIOC_SUBSCRIBE_EVENT,\n"
        "V4L2_EVENT_SUB_FL_SEND_INITIAL, V4L2_EVENT_PRIVATE_START); }\n"
    )
    subprocess.run(["cc", str(source), "-o", str(tmp_path / "layout")], check=True)
    done = subprocess.run([str(tmp_path / "layout")], capture_output=True, text=True, check=True)
    event, count_at, subscription, *numbers = map(int, done.stdout.split())
    assert loopback._EVENT.size == event
    assert loopback._EVENT.unpack(struct.pack(f"=I{count_at - 4}xI", 7, 9).ljust(event))[1] == 9
    assert loopback._SUBSCRIPTION.size == subscription
    assert numbers == [
        loopback._DQEVENT,
        loopback._SUBSCRIBE,
        loopback._SEND_INITIAL,
        loopback._PRIVATE_START,
    ]


def real_device() -> str:
    """Return a writable device of v4l2loopback, or ""."""
    for name in sorted(Path("/sys/devices/virtual/video4linux").glob("video*/max_openers")):
        device = f"/dev/{name.parent.name}"
        if os.access(device, os.R_OK | os.W_OK):
            return device
    return ""


@pytest.mark.skipif(not real_device(), reason="there is no device of v4l2loopback to write to")
def test_a_real_loopback_device_shows_the_picture_and_pauses_without_a_reader():
    pytest.importorskip("pyvirtualcam")
    changes: list[State] = []
    paused, sending = threading.Event(), threading.Event()

    def told(status) -> None:
        changes.append(status.state)
        (paused if status.state is State.PAUSED else sending).set()

    try:
        camera = VirtualCamera(CameraChoice(320, 240, device=real_device()), told)
    except VirtualCameraError as exc:
        pytest.skip(f"the device is used by others: {exc}")
    try:
        camera.show(np.full((240, 320, 3), (200, 40, 40), np.uint8))
        tells = camera._readers is not None
        if tells:
            assert paused.wait(10)
            sending.clear()
        reader = cv2.VideoCapture(real_device(), cv2.CAP_V4L2)
        assert reader.isOpened()
        frames = [reader.read() for _ in range(5)]
        reader.release()
        assert all(read for read, _ in frames)
        blue, green, red = np.asarray(frames[-1][1]).mean(axis=(0, 1))
        assert red > 150 > 90 > max(blue, green)
        if tells:
            assert sending.is_set()
    finally:
        camera.close()
