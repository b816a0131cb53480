"""Cameras attached to this machine, by index and by name."""

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
from app.frame import Frame, FrameSource, SourceInfo
from app.sources.deadline import Deadline
from app.sources.grabber import FeedLost, Grabber
from app.sources.opencv_frames import retrieved
from utils.opencv import cv2
from utils.text import printable

NAME = 100  # characters of a camera's name in a message
OPEN_TIMEOUT_S = 15.0  # Media Foundation on Windows is known to take ten
RATE_FRAMES = 20  # the frame rate is believed after so many frames
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
    """The part of cv2.VideoCapture that a camera needs."""

    def isOpened(self) -> bool: ...
    def set(self, propId: int, value: float, /) -> bool: ...
    def get(self, propId: int, /) -> float: ...
    def grab(self) -> bool: ...
    def retrieve(self) -> tuple[bool, object]: ...
    def release(self) -> None: ...


@dataclass(frozen=True, slots=True)
class CameraName:
    """A camera as the system lists it; `index` and `backend` are OpenCV's. Names are unique:
    the second of two equal cameras is called "... (2)"."""

    index: int
    name: str
    backend: int = cv2.CAP_ANY


@dataclass(frozen=True, slots=True)
class Mode:
    """What is asked of a camera, or what it really does; `format` is a FourCC, "" if unknown."""

    width: int = 1280
    height: int = 720
    fps: float = 30.0
    format: str = "MJPG"

    def __str__(self) -> str:
        rate = f" at {self.fps:.0f} fps" if self.fps else ""
        return " ".join(filter(None, (f"{self.width}x{self.height}", self.format))) + rate


def list_cameras() -> tuple[CameraName, ...]:
    """The cameras of this machine, by index; opens none of them."""
    # Imports cv2 by itself, so it has to come after utils.opencv.
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
    """`spec` is "camera:0" or "camera:Name of it", then optionally "@1280x720", "@30"; "camera:"
    is the first. Raises StyleForgeError."""
    which, mode = parse(spec)
    camera = find_camera(which, list_cameras())
    return Camera(camera.name, mode, lambda: _capture(camera))


def parse(spec: str) -> tuple[str, Mode]:
    """The index or name of the camera that `spec` asks for, and what is asked of it."""
    match = _SPEC.fullmatch(spec)
    assert match is not None  # every part is optional
    mode = Mode()
    if match["width"]:
        mode = replace(mode, width=int(match["width"]), height=int(match["height"]))
    if match["fps"]:
        mode = replace(mode, fps=float(match["fps"]))
    return match["which"], mode


def find_camera(which: str, cameras: tuple[CameraName, ...]) -> CameraName:
    """The camera of that index or name ("" is the first). Raises StyleForgeError naming those
    there are."""
    for camera in cameras:
        if which in ("", str(camera.index), camera.name):
            return camera
    shown = printable(which, NAME)
    if not cameras:
        wanted = f" {shown}" if shown.isdigit() else f" '{shown}'" if shown else ""
        raise StyleForgeError(f"there is no camera{wanted}: none is attached to this machine")
    there = ", ".join(f"{camera.index} ({camera.name})" for camera in cameras)
    raise StyleForgeError(f"there is no camera '{shown}', only {there}")


def _capture(camera: CameraName) -> Capture:
    """Open the device; by name, because after replugging it may have another index."""
    camera = next((c for c in list_cameras() if c.name == camera.name), None) or _absent(camera)
    if sys.platform == "linux":
        device = Path(f"/dev/video{camera.index}")
        if device.exists() and not os.access(device, os.R_OK | os.W_OK):
            raise FeedLost(
                f"you have no permission to open the camera '{camera.name}' ({device}); "
                "membership of the group 'video' usually gives it"
            )
    if sys.platform == "darwin":
        # Otherwise OpenCV insists on the main thread for asking the user; macOS asks by itself.
        os.environ.setdefault("OPENCV_AVFOUNDATION_SKIP_AUTH", "1")
    return cv2.VideoCapture(camera.index, camera.backend)


def _absent(camera: CameraName) -> CameraName:
    raise FeedLost(f"the camera '{camera.name}' was unplugged")


class Camera(FrameSource):
    """A camera, asked for `mode` and open when constructed. Raises StyleForgeError.

    `capture` opens the device: on the grabber's thread, now and whenever the camera is lost.
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
        self._asked = mode
        self._capture = capture
        self._got = Mode(0, 0, 0.0, "")
        self._grabber = Grabber(
            self._connect, f"the camera '{name}'", "waiting for it to come back"
        )
        first = self._grabber.open(Deadline(open_timeout))
        self._describe(first)

    def _connect(self) -> CameraFeed:
        feed = CameraFeed(self._name, self._asked, self._capture())
        self._got = feed.mode
        return feed

    def read(self, timeout: float = 0.02) -> Frame | None:
        frame = self._grabber.read(timeout)
        if frame is not None:
            size = (frame.width, frame.height)
            if frame.index == RATE_FRAMES or size != (self.info.width, self.info.height):
                self._describe(frame)
        return frame

    def _describe(self, frame: Frame) -> None:
        measured = self._grabber.fps if frame.index >= RATE_FRAMES else 0.0
        got = Mode(frame.width, frame.height, measured or self._got.fps, self._got.format)
        asked = self._asked
        differs = (
            (got.width, got.height) != (asked.width, asked.height)
            or (got.format and got.format != asked.format)
            or (got.fps and got.fps < 0.8 * asked.fps)
        )
        note = f"asked for {asked}, got {got}" if differs else ""
        self.info = SourceInfo(self._name, got.width, got.height, got.fps, note=note)

    def close(self) -> None:
        self._grabber.close()

    @property
    def status(self) -> str:
        return self._grabber.status

    @property
    def dropped(self) -> int:
        return self._grabber.dropped

    def pause(self, paused: bool) -> None:
        self._grabber.pause(paused)


class CameraFeed:
    """One opening of a camera. `mode` is what it says it does."""

    def __init__(self, name: str, asked: Mode, capture: Capture) -> None:
        self._name = name
        self._capture = capture
        if not capture.isOpened():
            capture.release()
            raise FeedLost(
                f"the camera '{name}' could not be opened; another program may be using it"
            )
        # MJPG first: uncompressed, USB 2 has room for 10 fps at 1280x720, and drivers check each
        # size against the format in force. Some forget the format when the size changes.
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

    def grab(self) -> None:
        if not self._capture.grab():
            raise FeedLost(f"the camera '{self._name}' was unplugged or stopped")

    def decode(self) -> NDArray[np.uint8] | None:
        return retrieved(self._capture)

    def interrupt(self) -> None:
        """A driver cannot be interrupted; it answers within a frame."""

    def close(self) -> None:
        self._capture.release()


def _fourcc(capture: Capture) -> str:
    code = int(capture.get(cv2.CAP_PROP_FOURCC))
    letters = "".join(chr(code >> shift & 0xFF) for shift in (0, 8, 16, 24)) if code > 0 else ""
    return letters.strip() if letters.isascii() and letters.isprintable() else ""
