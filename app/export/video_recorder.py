"""Recording of the styled stream as a video, optionally with sound, on a separate thread."""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.errors import StyleForgeError
from app.export.film.fault import FAULTS, FilmError, reason
from app.export.recording_file import FPS, RecordingFile
from app.sound.device import Heard
from utils.files.atomic import temporary_name
from utils.leaving import BackgroundThread
from utils.opencv import cv2
from utils.pyav import av
from utils.translation.joints import clauses
from utils.translation.texts import tr

Pixels = NDArray[np.uint8]

QUEUE_SIZE = 8  # frames; if writing is slower than the stream, frames are dropped
MAX_GAP_S = 2.0  # seconds; longer gaps between frames are pauses and are cut
LATE_S = 1.0  # if sound is later than the picture by more than this, silence fills the gap
MOST_HEARD_S = 10.0  # limit of the sound kept while no frame arrives


class RecordingError(StyleForgeError):
    """Raised if the video cannot be written."""


class Recording:
    """A writer of an .mp4 file (H.264, AAC) at `path`, under a temporary name until complete.

    Every frame and every piece of sound has its own time. The first frame sets the size; frames of
    another shape are letterboxed. If writing fails, everything written before stays. Call `add` and
    `finish` from one thread, `hear` from any.

    Attributes:
        dropped: Number of frames dropped because writing is slower than the stream.
    """

    def __init__(self, path: Path, *, sound: bool = False) -> None:
        self.path = path
        self.dropped = 0
        self.seconds = 0.0
        self._part = temporary_name(path, f".part{path.suffix}")
        self._changed = threading.Condition()
        self._frames: deque[tuple[Pixels, float]] = deque()
        self._heard: deque[Heard] = deque()
        self._ended = False
        self._with_sound = sound
        self._fault = ""
        self._file: RecordingFile | None = None
        self._size = (0, 0)
        self._start = self._before = 0.0
        self._thread = BackgroundThread(self._run, "recording")
        self._thread.start()

    @property
    def bytes(self) -> int:
        file = self._file
        return 0 if file is None else file.size

    def add(self, pixels: Pixels, at: float) -> None:
        """Queue a frame without waiting, or drop it if the queue is full.

        Args:
            pixels: [H, W, 3] uint8 RGB; not copied, so the caller must not write to it afterwards.
            at: Capture time on the clock of the sound, in seconds.

        Raises:
            RecordingError: If the video can no longer be written.
        """
        if self._fault:
            raise RecordingError(self._fault)
        with self._changed:
            if len(self._frames) >= QUEUE_SIZE:
                self.dropped += 1
                return
            self._frames.append((pixels, at))
            self._changed.notify_all()

    def hear(self, heard: Heard) -> None:
        """Queue a piece of sound without waiting."""
        with self._changed:
            self._heard.append(heard)
            while heard.at - self._heard[0].at > MOST_HEARD_S:
                self._heard.popleft()

    def end(self) -> None:
        """Let the thread complete the video, without waiting."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def finish(self) -> Path:
        """Wait until all frames and sound are written; return the path.

        Raises:
            RecordingError: If the recording is incomplete.
        """
        self.end()
        self._thread.join()
        if self._fault:
            raise RecordingError(self._fault)
        return self.path

    def discard(self) -> None:
        """End without a video, for a recording without frames."""
        with suppress(RecordingError):
            self.finish()

    def _run(self) -> None:
        while (item := self._next()) is not None:
            if not self._fault:
                try:
                    self._add_frame(*item)
                except (*FAULTS, FilmError, cv2.error) as exc:
                    self._fail(reason(exc))
        if not self._fault:
            self._end()

    def _next(self) -> tuple[Pixels, float] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._frames or self._ended)
            return self._frames.popleft() if self._frames else None

    def _add_frame(self, pixels: Pixels, at: float) -> None:
        if self._file is None:
            height, width = (side - side % 2 for side in pixels.shape[:2])  # H.264 needs even sizes
            self._size = width, height
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = RecordingFile(self._part, self._size, sound=self._with_sound)
            self._start = self._before = at
        if at - self._before > MAX_GAP_S:
            self._write_sound(self._before + 1 / FPS)
            self._leave_out(at)
            self._start += at - self._before - 1 / FPS
        self._before = max(at, self._before)
        self.seconds = self._before - self._start
        self._file.write_frame(_letterboxed(pixels, self._size), self.seconds)
        self._write_sound(self._before)
        if self._with_sound:
            self._file.write_silence(self.seconds - LATE_S)

    def _write_sound(self, until: float) -> None:
        file = self._file
        assert file is not None
        while (heard := self._take(until)) is not None:
            file.write_sound(heard, heard.at - self._start)

    def _take(self, until: float) -> Heard | None:
        with self._changed:
            return self._heard.popleft() if self._heard and self._heard[0].at < until else None

    def _leave_out(self, until: float) -> None:
        """Drop the sound heard before `until`, during a pause."""
        while self._take(until) is not None:
            pass

    def _end(self) -> None:
        if self._file is None:
            self._fault = self._fault_message(tr("there was no picture to record"))
            return
        try:
            self._write_sound(self._before + 1 / FPS)
            if self._with_sound:
                self._file.write_silence(self.seconds + 1 / FPS)
            self._file.close()
            self._part.replace(self.path)
        except FAULTS as exc:
            self._fail(reason(exc))

    def _fail(self, fault: str) -> None:
        """Keep the playable part of a video that cannot be written to its end."""
        message = self._fault_message(fault)
        file, self._file = self._file, None
        if file is not None:
            with suppress(*FAULTS):  # fragments written in full are readable anyway
                file.close()
        with suppress(OSError):  # its folder may be missing
            if _readable(self._part):
                self._part.replace(self.path)
                kept = tr("{path} holds the recording up to that point", path=self.path)
                message = clauses((message, kept))
            else:
                self._part.unlink()
        self._fault = message

    def _fault_message(self, fault: str) -> str:
        return tr(
            "the video '{file}' could not be written: {fault}", file=self.path.name, fault=fault
        )


def _readable(path: Path) -> bool:
    """Return whether a file has at least one frame."""
    try:
        with av.open(str(path.absolute())) as film:
            return next(film.decode(video=0), None) is not None
    except (*FAULTS, IndexError):  # no picture
        return False


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
