"""Decodes videos and animations, frame after frame."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from app.errors import StyleForgeError
from app.sources.opencv_frames import retrieve_rgb
from utils.images.conversion import to_rgb
from utils.images.opening import MALFORMED, opened
from utils.opencv import cv2, place
from utils.text import printable

DEFAULT_FPS = 25.0  # for files that do not tell
DEFAULT_DELAY_MS = 100  # what browsers make of an animation that gives no delay
MAX_DAMAGED_IN_A_ROW = 20  # frames in a row, after which an animation is taken to end
NETWORK_TIMEOUTS = [cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, 5000, cv2.CAP_PROP_READ_TIMEOUT_MSEC, 5000]


class FrameReader(Protocol):
    """Frames in order, each with its time in seconds. Used by one thread at a time."""

    title: str
    fps: float
    duration: float  # seconds; 0 where the file does not tell

    def grab(self) -> float | None:
        """Go to the next frame and return its time in seconds; None at the end."""
        ...

    def decode(self) -> NDArray[np.uint8] | None:
        """Return the current frame as [H, W, 3] RGB in new memory; None if it is damaged."""
        ...

    def seek(self, seconds: float) -> None:
        """Make the next grab return the frame shown at `seconds`. Raises StyleForgeError."""
        ...

    def close(self) -> None:
        """Release the file."""
        ...


class VideoReader:
    """A video file or address, decoded by FFmpeg and rotated upright.

    Iterating yields (seconds, pixels) of every frame from the current one on. Raises
    StyleForgeError if the video cannot be opened.
    """

    def __init__(self, where: str | Path, title: str = "") -> None:
        self.title = title or printable(Path(where).name)
        # Absolute, because FFmpeg takes what precedes a colon in "12:30.mp4" for a protocol.
        self._where = str(where) if "://" in str(where) else str(Path(where).absolute())
        self._capture = self._open()
        fps = self._capture.get(cv2.CAP_PROP_FPS)
        # A missing rate reads as 0 or NaN, or as the 90000 ticks a second of the file's clock.
        self.fps = fps if math.isfinite(fps) and 0 < fps <= 1000 else DEFAULT_FPS
        self.duration = max(self._capture.get(cv2.CAP_PROP_FRAME_COUNT), 0) / self.fps
        self._previous = -1.0

    def _open(self) -> cv2.VideoCapture:
        capture = cv2.VideoCapture(
            place(self._where), cv2.CAP_FFMPEG, NETWORK_TIMEOUTS if "://" in self._where else []
        )
        if not capture.isOpened():
            capture.release()
            raise StyleForgeError(f"'{self.title}' is not a video that can be played")
        capture.set(cv2.CAP_PROP_ORIENTATION_AUTO, 1)
        return capture

    def grab(self) -> float | None:
        """Go to the next frame and return its time in seconds; None at the end."""
        if not self._capture.grab():
            return None
        seconds = self._capture.get(cv2.CAP_PROP_POS_MSEC) / 1e3
        if not seconds > self._previous:  # no timestamps, or nonsense
            seconds = self._previous + 1 / self.fps if self._previous >= 0 else 0.0
        self._previous = seconds
        return seconds

    def decode(self) -> NDArray[np.uint8] | None:
        """Return the current frame as [H, W, 3] RGB; None if it is damaged."""
        return retrieve_rgb(self._capture)

    def seek(self, seconds: float) -> None:
        """Make the next grab return the frame shown at `seconds`; 0 reopens the file."""
        if seconds <= 0:  # not every container can seek, but each can be begun again
            self._capture.release()
            try:
                self._capture = self._open()
            except StyleForgeError:
                raise StyleForgeError(f"'{self.title}' can no longer be read") from None
            self._previous = -1.0
        else:
            self._capture.set(cv2.CAP_PROP_POS_MSEC, seconds * 1e3)
            self._previous = seconds - 1 / self.fps

    def close(self) -> None:
        """Release the file."""
        self._capture.release()

    def __iter__(self) -> Iterator[tuple[float, NDArray[np.uint8]]]:
        while (seconds := self.grab()) is not None:
            if (pixels := self.decode()) is not None:
                yield seconds, pixels


class AnimationReader:
    """An animated GIF, WebP or PNG, decoded by Pillow. Raises ImageError."""

    def __init__(self, path: Path) -> None:
        self.title = printable(path.name)
        self._next = 0
        self._times = [0.0]  # when each frame is due; known as far as the file has been played
        self._damaged = False
        self._in_a_row = 0  # damaged frames
        self.fps = 0.0
        with ExitStack() as file:
            self._image: Image.Image = file.enter_context(opened(path, played=True))
            self._count: int = getattr(self._image, "n_frames", 1)
            self._load(0)
            self._file = file.pop_all()
        self.fps = 1 / self._times[1]
        self.duration = 0.0  # the delays stand in the frames

    def _load(self, index: int) -> None:
        self._damaged = False
        delay = DEFAULT_DELAY_MS
        try:
            self._image.seek(index)
            self._image.load()
            delay = self._image.info.get("duration") or DEFAULT_DELAY_MS
            self._in_a_row = 0
        except (*MALFORMED, MemoryError):  # a frame may state any size
            self._damaged = True
            self._in_a_row += 1
            if self._in_a_row == MAX_DAMAGED_IN_A_ROW:  # the file may state billions
                self._count = index + 1
        if index + 1 == len(self._times):
            self._times.append(self._times[index] + delay / 1e3)

    def grab(self) -> float | None:
        """Load the next frame and return its time in seconds; None at the end."""
        if self._next >= self._count:
            return None
        self._load(self._next)
        self._next += 1
        return self._times[self._next - 1]

    def decode(self) -> NDArray[np.uint8] | None:
        """Return the current frame as [H, W, 3] RGB; None if it is damaged."""
        try:
            return None if self._damaged else to_rgb(self._image)
        except (*MALFORMED, MemoryError):
            return None

    def seek(self, seconds: float) -> None:
        """Make the next grab return the frame shown at `seconds`."""
        self._next = 0
        while self._next + 1 < self._count:
            if self._next + 1 == len(self._times):
                self._load(self._next)
            if self._times[self._next + 1] > seconds + 1e-6:
                break
            self._next += 1

    def close(self) -> None:
        """Release the file."""
        self._file.close()
