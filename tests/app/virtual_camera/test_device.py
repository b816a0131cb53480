"""A camera that cannot be opened says why in one sentence, and names what to install."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path

import pytest

from app.virtual_camera.choice import CameraChoice, VirtualCameraError
from app.virtual_camera.device import INSTALL, MODPROBE, open_camera, readers_of, why_not
from tests.helpers.errors import mentions, refused
from tests.helpers.virtual_cameras import fake_cameras

NONE_FOUND = (
    "'v4l2loopback' backend: No v4l2 loopback device found at /dev/video[0-99]. "
    "Did you run 'modprobe v4l2loopback'? See also pyvirtualcam's documentation."
)
NO_PERMISSION = (
    "'v4l2loopback' backend: Could not access /dev/video2 due to missing permissions. "
    "Did you add your user to the 'video' group? "
    "Run 'usermod -a -G video myusername' and log out and in again."
)


def test_without_the_extra_it_is_said_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyvirtualcam", None)
    with pytest.raises(VirtualCameraError, match=r'pip install "styleforge\[camera\]"'):
        open_camera(CameraChoice())


def test_a_library_that_does_not_load_is_told_from_one_that_is_missing(monkeypatch):
    real = builtins.__import__

    def fails(name, *rest):
        if name == "pyvirtualcam":
            raise ImportError("libc is too old")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", fails)
    with refused(VirtualCameraError, error="libc is too old"):
        open_camera(CameraChoice())


def test_on_linux_without_a_device_the_package_and_the_line_are_named(tmp_path):
    said = why_not(NONE_FOUND, "linux", tmp_path)
    assert str(INSTALL["linux"].format(command=MODPROBE)) in said
    assert "v4l2loopback-dkms" in said
    assert "`sudo modprobe v4l2loopback exclusive_caps=1" in said


def test_on_linux_with_a_device_the_reason_is_told_in_one_sentence(tmp_path):
    (tmp_path / "video2").mkdir()
    said = why_not(NO_PERMISSION, "linux", tmp_path)
    assert mentions(said, "/dev/video2", "usermod -a -G video myusername")


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_elsewhere_the_reason_is_told_and_obs_is_named(system, tmp_path):
    lines = "'obs' backend: the camera could not be started\n'unitycapture' backend: None"
    said = why_not(lines, system, tmp_path)
    assert mentions(said, "could not be started; None", INSTALL[system])
    assert "https://obsproject.com" in said
    assert "\n" not in said


def test_a_system_that_the_library_does_not_know_is_told(tmp_path):
    said = why_not("", "freebsd14", tmp_path)
    assert "no virtual camera" in said


def test_the_fault_of_opening_a_camera_is_the_programs_own():
    with fake_cameras() as cameras:
        cameras.fault = "it is upside down."
        with pytest.raises(VirtualCameraError, match="virtual camera"):
            open_camera(CameraChoice())


def test_only_v4l2loopback_tells_who_reads():
    with fake_cameras():
        camera = open_camera(CameraChoice())
        assert camera.backend == "fake"
        assert readers_of(camera) is None
        camera.close()


@pytest.mark.skipif(sys.platform != "linux", reason="v4l2loopback is Linux's")
def test_a_driver_without_the_event_does_not_tell_who_reads(tmp_path):
    class Older:
        backend = "v4l2loopback"
        device = str(tmp_path / "video2")  # a regular file, which has no driver events

    Path(Older.device).touch()
    assert readers_of(Older()) is None  # type: ignore[arg-type]
