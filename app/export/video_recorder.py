"""Records the styled stream as a video, on its own thread."""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.errors import StyleForgeError
from utils.files.atomic import temporary_name
from utils.opencv import cv2, place

Pixels = NDArray[np.uint8]

FPS = 30
QUEUE_SIZE = 8  # frames; if writing is slower than the stream, frames are dropped
MAX_GAP_S = 2.0  # seconds; longer gaps between frames are pauses, which are cut


class RecordingError(StyleForgeError):
    """The video cannot be written."""


class Recording:
    """Writes an .mp4 file (MPEG-4, 30 frames per second) to `path`, under a temporary name until
    complete.

    Every frame is repeated for as long as it was on screen. The first frame decides the size;
    frames of another shape are letterboxed. `add` and `finish` must be called from one thread.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.dropped = 0
        self._part = temporary_name(path, f".part{path.suffix}")
        self._queue: queue.Queue[tuple[Pixels, float] | None] = queue.Queue(QUEUE_SIZE)
        self._fault = ""
        self._writer: cv2.VideoWriter | None = None
        self._size = (0, 0)
        self._start = self._before = 0.0
        self._written = 0
        self._last: Pixels | None = None  # BGR
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    def add(self, pixels: Pixels, at: float) -> None:
        """Queue a frame without waiting; the frame is dropped if the queue is full.

        Args:
            pixels: [H, W, 3] uint8 RGB; not copied, so the caller must not write to it afterwards.
            at: when the frame appeared on screen, in seconds.

        Raises:
            RecordingError: the video can no longer be written.
        """
        if self._fault:
            raise RecordingError(self._fault)
        try:
            self._queue.put_nowait((pixels, at))
        except queue.Full:
            self.dropped += 1

    def finish(self) -> Path:
        """Wait until everything is written.

        Returns:
            The path of the video.

        Raises:
            RecordingError: the video could not be written.
        """
        self._queue.put(None)
        self._thread.join()
        if self._fault:
            with suppress(OSError):  # its folder may be missing
                self._part.unlink()
            raise RecordingError(self._fault)
        return self.path

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            if not self._fault:
                try:
                    self._add_frame(*item)
                except (OSError, cv2.error) as exc:
                    self._fault = self._fault_message(getattr(exc, "strerror", None) or str(exc))
        if not self._fault:
            self._end()

    def _add_frame(self, pixels: Pixels, at: float) -> None:
        if self._writer is None:
            self._open(pixels)
            self._start = self._before = at
        if at - self._before > MAX_GAP_S:
            self._start += at - self._before - 1 / FPS
        self._before = at
        due = round((at - self._start) * FPS)
        while self._last is not None and self._written < due:
            self._write(self._last)
        self._last = np.ascontiguousarray(_letterboxed(pixels, self._size)[..., ::-1])

    def _open(self, pixels: Pixels) -> None:
        height, width = (side - side % 2 for side in pixels.shape[:2])  # the codec needs even sizes
        self._size = width, height
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fourcc = cv2.VideoWriter.fourcc(*"mp4v")
        self._writer = cv2.VideoWriter(place(self._part), fourcc, FPS, self._size)
        if not self._writer.isOpened():
            raise OSError(0, "the folder is not writable, or OpenCV has no MPEG-4 encoder")

    def _write(self, frame: Pixels) -> None:
        assert self._writer is not None
        self._writer.write(frame)
        self._written += 1

    def _end(self) -> None:
        if self._writer is None or self._last is None:
            self._fault = self._fault_message("there was no picture to record")
            return
        self._write(self._last)
        self._writer.release()
        # The encoder does not report a full disk, but an incomplete video cannot be opened.
        video = cv2.VideoCapture(str(self._part))
        whole = video.isOpened() and video.get(cv2.CAP_PROP_FRAME_COUNT) >= self._written
        video.release()
        try:
            if not whole:
                raise OSError(0, "the disk may be full")
            self._part.replace(self.path)
        except OSError as exc:
            self._fault = self._fault_message(exc.strerror or str(exc))

    def _fault_message(self, fault: str) -> str:
        return f"the video '{self.path.name}' could not be written: {fault}"


def _letterboxed(pixels: Pixels, size: tuple[int, int]) -> Pixels:
    """Scale `pixels` to fit into `size` (width, height), centered on black."""
    (height, width), (wide, high) = pixels.shape[:2], size
    if (width - width % 2, height - height % 2) == size:
        return np.ascontiguousarray(pixels[:high, :wide])
    scale = min(wide / width, high / height)
    inner = max(1, round(width * scale)), max(1, round(height * scale))
    left, top = (wide - inner[0]) // 2, (high - inner[1]) // 2
    canvas = np.zeros((high, wide, 3), np.uint8)
    canvas[top : top + inner[1], left : left + inner[0]] = cv2.resize(
        pixels, inner, interpolation=cv2.INTER_AREA
    )
    return canvas
