"""Cameras attached to this machine, by index or name."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.errors import StyleForgeError
from app.frame import Frame, SourceInfo
from app.sources.camera_modes.exposure import ExposureControl
from app.sources.deadline import Deadline
from app.sources.grabber import FeedLost, GrabbedSource, Grabber
from app.sources.opencv_frames import retrieve_rgb
from utils.opencv import cv2
from utils.text import printable
from utils.translation.joints import enumerated
from utils.translation.numbers import number
from utils.translation.texts import tr

NAME = 100  # characters of a camera's name in a message
OPEN_TIMEOUT_S = 15.0  # Media Foundation on Windows can take ten
RATE_FRAMES = 20  # frames until the measured rate is used
_BACKENDS = {
    "linux": (cv2.CAP_V4L2,),
    "win32": (cv2.CAP_MSMF, cv2.CAP_DSHOW),
    "darwin": (cv2.CAP_AVFOUNDATION,),
}
_SPEC = re.compile(
    r"camera:(?P<which>.*?)(?:@(?P<width>\d{1,5})x(?P<height>\d{1,5}))?"
    r"(?:@(?P<fps>\d{1,4}(?:\.\d{1,3})?))?",
    re.DOTALL | re.ASCII,
)


class Capture(Protocol):
    """The methods of cv2.VideoCapture that a camera needs."""

    def isOpened(self) -> bool: ...

    def set(self, propId: int, value: float, /) -> bool:
        """Set a cv2.CAP_PROP_* property; return False if the driver refuses it."""
        ...

    def get(self, propId: int, /) -> float:
        """Return a cv2.CAP_PROP_* property; 0 if it is unknown."""
        ...

    def grab(self) -> bool:
        """Wait for the next frame; return False if there is none."""
        ...

    def retrieve(self) -> tuple[bool, object]:
        """Decode the grabbed frame: (success, BGR pixels)."""
        ...

    def release(self) -> None: ...


@dataclass(frozen=True, slots=True)
class CameraName:
    """A camera with OpenCV's `index`. If two cameras have one name, the second gets "... (2)"."""

    index: int
    name: str
    backend: int = cv2.CAP_ANY


@dataclass(frozen=True, slots=True)
class Mode:
    """A requested or actual capture mode; `format` is a FourCC, "" if unknown."""

    width: int = 1280
    height: int = 720
    fps: float = 30.0
    format: str = "MJPG"

    def __str__(self) -> str:
        said = " ".join(filter(None, (f"{self.width}x{self.height}", self.format)))
        return tr("{mode} at {fps} fps", mode=said, fps=number(self.fps)) if self.fps else said


def list_cameras() -> tuple[CameraName, ...]:
    """Return the cameras of this machine, by index, without opening any."""
    # This package imports cv2, so it has to be imported after utils.opencv.
    from cv2_enumerate_cameras import enumerate_cameras, supported_backends

    for backend in _BACKENDS.get(sys.platform, (cv2.CAP_ANY,)):
        if backend not in (*supported_backends, cv2.CAP_ANY):
            continue
        listed = {camera.index: camera.name for camera in enumerate_cameras(backend)}
        if listed:
            return _unique(listed, backend)
    return ()


def _unique(listed: dict[int, str], backend: int) -> tuple[CameraName, ...]:
    cameras: list[CameraName] = []
    seen: dict[str, int] = {}
    for index, name in sorted(listed.items()):
        name = (name or "").strip() or f"Camera {index}"
        seen[name] = seen.get(name, 0) + 1
        unique = name if seen[name] == 1 else f"{name} ({seen[name]})"
        cameras.append(CameraName(index, unique, backend))
    return tuple(cameras)


def is_camera(spec: str) -> bool:
    return spec.startswith("camera:")


def open_camera(spec: str) -> Camera:
    """Open "camera:0", "camera:Its name" or "camera:" (the first), also with "@1280x720", "@30".

    Raises:
        StyleForgeError: If there is no such camera, or it cannot be opened.
    """
    which, mode = parse_spec(spec)
    camera = find_camera(which, list_cameras())
    return Camera(camera.name, mode, lambda: _capture(camera))


def parse_spec(spec: str) -> tuple[str, Mode]:
    """Split `spec` into the index or name of the camera and the requested mode."""
    match = _SPEC.fullmatch(spec)
    assert match is not None  # every part is optional
    mode = Mode()
    if match["width"]:
        mode = replace(mode, width=int(match["width"]), height=int(match["height"]))
    if match["fps"]:
        mode = replace(mode, fps=float(match["fps"]))
    return match["which"], mode


def with_mode(spec: str, width: int, height: int, fps: float) -> str:
    which, _ = parse_spec(spec)
    return f"camera:{which}@{width}x{height}@{fps:g}"


def find_camera(which: str, cameras: tuple[CameraName, ...]) -> CameraName:
    """Return the camera with this index or name, "" for the first.

    Raises:
        StyleForgeError: If there is no such camera.
    """
    for camera in cameras:
        if which in ("", str(camera.index), camera.name):
            return camera
    shown = printable(which, NAME)
    if not cameras:
        if not shown:
            raise StyleForgeError(tr("there is no camera: none is attached to this machine"))
        wanted = shown if shown.isdigit() else f"'{shown}'"
        raise StyleForgeError(
            tr("there is no camera {camera}: none is attached to this machine", camera=wanted)
        )
    there = enumerated(f"{camera.index} ({camera.name})" for camera in cameras)
    raise StyleForgeError(
        tr("there is no camera '{camera}', only {others}", camera=shown, others=there)
    )


def _capture(camera: CameraName) -> Capture:
    """Open the device by its name, since replugging a camera may change its index.

    Raises:
        FeedLost: If the camera is unplugged, or the user has no permission to open its device.
    """
    listed = next((c for c in list_cameras() if c.name == camera.name), None)
    if listed is None:
        raise FeedLost(tr("the camera '{name}' was unplugged", name=camera.name))
    camera = listed
    if sys.platform == "linux":
        device = Path(f"/dev/video{camera.index}")
        if device.exists() and not os.access(device, os.R_OK | os.W_OK):
            raise FeedLost(
                tr(
                    "you have no permission to open the camera '{name}' ({device}); members of "
                    "the group 'video' usually have it",
                    name=camera.name,
                    device=device,
                )
            )
    if sys.platform == "darwin":
        # Otherwise OpenCV must ask for permission on the main thread; macOS asks by itself.
        os.environ.setdefault("OPENCV_AVFOUNDATION_SKIP_AUTH", "1")
    return cv2.VideoCapture(camera.index, camera.backend)


class Camera(GrabbedSource):
    """A camera; it is open once constructed, or raises StyleForgeError.

    The grabber's thread calls `capture` to open the device, now and whenever the camera is lost.
    """

    kind = "camera"

    def __init__(
        self,
        name: str,
        mode: Mode,
        capture: Callable[[], Capture],
        open_timeout: float = OPEN_TIMEOUT_S,
    ) -> None:
        self._name = name
        self._requested_mode = mode
        self._capture = capture
        self._mode = mode, Mode(0, 0, 0.0, "")  # of the connection: requested and actual
        self._exposure: float | None = None  # in stops; None for automatic
        self._exposure_reason = ""
        self._grabber = Grabber(
            self._connect, tr("the camera '{name}'", name=name), tr("waiting for it to come back")
        )
        first = self._grabber.open(Deadline(open_timeout))
        # State in `info`: the modes, and whether the rate is measured.
        self._told = self._mode, False
        self._since = first.index  # first frame in that mode
        self._update_info(first)

    def _connect(self) -> CameraFeed:
        asked = self._requested_mode
        feed = CameraFeed(self._name, asked, self._capture(), lambda: self._exposure)
        self._exposure_reason = feed.exposure.reason
        self._mode = asked, feed.mode
        return feed

    def read(self, timeout: float = 0.02) -> Frame | None:
        """Return the newest frame, and update `info` once the actual rate or size is known."""
        frame = self._grabber.read(timeout)
        if frame is not None:
            mode = self._mode
            if renewed := mode is not self._told[0]:  # the camera was reconnected
                self._since = frame.index
            told = mode, frame.index - self._since >= RATE_FRAMES
            size = (frame.width, frame.height)
            if renewed or told != self._told or size != (self.info.width, self.info.height):
                self._told = told
                self._update_info(frame)
        return frame

    def set_mode(self, width: int, height: int, fps: float) -> None:
        """Reconnect in another size and rate; `info` then has the mode that the driver chose."""
        self._requested_mode = Mode(width, height, fps)
        self._grabber.reconnect()

    def set_exposure(self, stops: float | None) -> None:
        """Use an exposure from the next frame on, even after a reconnection."""
        self._exposure = stops

    def _update_info(self, frame: Frame) -> None:
        (asked, actual), known = self._told
        fps = (self._grabber.fps if known else 0.0) or actual.fps
        got = Mode(frame.width, frame.height, fps, actual.format)
        differs = (
            (got.width, got.height) != (asked.width, asked.height)
            or (got.format and got.format != asked.format)
            or (got.fps and got.fps < 0.8 * asked.fps)
        )
        note = tr("requested {asked}, got {got}", asked=asked, got=got) if differs else ""
        size = got.width, got.height
        exposure = self._exposure_reason
        self.info = SourceInfo(self._name, *size, got.fps, note=note, exposure=exposure)


class CameraFeed:
    """One connection to a camera in the driver's `mode`; `wanted` returns the exposure to use."""

    def __init__(
        self,
        name: str,
        asked: Mode,
        capture: Capture,
        wanted: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._name = name
        self._wanted = wanted
        self._capture = capture
        if not capture.isOpened():
            capture.release()
            raise FeedLost(
                tr(
                    "the camera '{name}' could not be opened; another program may be using it",
                    name=name,
                )
            )
        # MJPG first: USB 2 carries only 10 fps uncompressed at 1280x720, and drivers check each
        # size against the current format. Some reset the format when the size changes.
        fourcc = cv2.VideoWriter.fourcc(*asked.format)
        capture.set(cv2.CAP_PROP_FOURCC, fourcc)
        capture.set(cv2.CAP_PROP_FRAME_WIDTH, asked.width)
        capture.set(cv2.CAP_PROP_FRAME_HEIGHT, asked.height)
        capture.set(cv2.CAP_PROP_FPS, asked.fps)
        if _fourcc(capture) != asked.format:
            capture.set(cv2.CAP_PROP_FOURCC, fourcc)
        self.mode = Mode(
            int(capture.get(cv2.CAP_PROP_FRAME_WIDTH)),
            int(capture.get(cv2.CAP_PROP_FRAME_HEIGHT)),
            max(capture.get(cv2.CAP_PROP_FPS), 0.0),
            _fourcc(capture),
        )
        self.exposure = ExposureControl(capture)

    def grab(self) -> None:
        self.exposure.follow(self._wanted())
        if not self._capture.grab():
            raise FeedLost(tr("the camera '{name}' was unplugged or stopped", name=self._name))

    def decode(self) -> NDArray[np.uint8] | None:
        return retrieve_rgb(self._capture)

    def interrupt(self) -> None:
        """Do nothing: a driver cannot be interrupted, but returns within a frame."""

    def close(self) -> None:
        self._capture.release()


def _fourcc(capture: Capture) -> str:
    code = int(capture.get(cv2.CAP_PROP_FOURCC))
    letters = "".join(chr(code >> shift & 0xFF) for shift in (0, 8, 16, 24)) if code > 0 else ""
    return letters.strip() if letters.isascii() and letters.isprintable() else ""
