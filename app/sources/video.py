"""Plays videos and animations at their own rate, in a loop."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.errors import StyleForgeError
from app.frame import Frame, FrameSource, SourceInfo
from app.sources.video_decoder import FrameReader

MAX_SKIPS = 8  # frames skipped in a row to catch up, before playback slows down instead
DURATION_TOLERANCE = 0.02  # fraction of the duration, the precision of FFmpeg's estimate


@dataclass(frozen=True, slots=True, eq=False)
class DecodedFrame:
    """A decoded frame and its time in the video."""

    pixels: NDArray[np.uint8]
    seconds: float
    read_ms: float


@dataclass(frozen=True, slots=True)
class SeekRequest:
    """A request of the user: to go to `seconds`, or `frames` forward."""

    seconds: float | None = None
    frames: int = 0


class Video(FrameSource):
    """Plays the frames of `reader` in a loop, starting when constructed.

    A thread decodes one frame ahead and publishes it when it is due; a frame that was not read by
    then is replaced and counted as dropped. Raises StyleForgeError if there is no readable frame.
    """

    kind = "video"

    def __init__(self, reader: FrameReader) -> None:
        self._reader = reader
        self._interval = 1 / reader.fps
        self._changed = threading.Condition()
        self._unread: Frame | None = None
        self._failed: StyleForgeError | None = None
        self._seek_request: SeekRequest | None = None
        self._paused = False
        self._closed = False
        self._status = ""
        self._index = 0
        self._dropped = 0
        self._position = 0.0  # seconds
        # The attributes below are used by the player's thread alone.
        self._start_time: float | None = None  # perf_counter() at which second 0 was due; None: now
        self._last = 0.0  # seconds of the frame decoded last
        self._decoded: DecodedFrame | None = None
        try:
            first = self._next_frame()
        except StyleForgeError:
            reader.close()
            raise
        height, width, _ = first.pixels.shape
        self.info = SourceInfo(reader.title, width, height, reader.fps, reader.duration)
        self._start_time = time.perf_counter() - first.seconds
        self._publish(first)
        self._thread = threading.Thread(target=self._run, name=f"video {reader.title}", daemon=True)
        self._thread.start()

    def read(self, timeout: float = 0.02) -> Frame | None:
        """Return the frame that is due; None if there is none within `timeout` seconds.

        Raises:
            StyleForgeError: no frame can be read any more.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._unread or self._failed, timeout)
            frame, self._unread = self._unread, None
            if frame is None and self._failed is not None:
                raise self._failed
            return frame

    def close(self) -> None:
        """Stop the thread and close the file."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not threading.current_thread():
            self._thread.join()

    @property
    def status(self) -> str:
        """One sentence about damaged frames; empty if there are none."""
        return self._status

    @property
    def dropped(self) -> int:
        """Number of frames that were skipped or replaced before they were read."""
        return self._dropped

    @property
    def position(self) -> float:
        """Time of the current frame in seconds."""
        return self._position

    def seek(self, position: float) -> None:
        """Go to `position` seconds; its frame is delivered at once, even while paused.

        Of several requests, only the last is carried out.
        """
        end = self.info.duration - self._interval if self.info.duration else position
        self._request(SeekRequest(seconds=max(0.0, min(position, end))))

    def step(self, count: int) -> None:
        """Go `count` frames forward; the frame is delivered at once."""
        if count:
            self._request(SeekRequest(frames=count))

    def pause(self, paused: bool) -> None:
        """Pause or resume playing."""
        with self._changed:
            self._paused = paused
            if paused:
                self._unread = None
            self._changed.notify_all()

    def _request(self, jump: SeekRequest) -> None:
        with self._changed:
            if jump.seconds is None and self._seek_request is not None:  # a step on top of a jump
                jump = replace(self._seek_request, frames=self._seek_request.frames + jump.frames)
            self._seek_request = jump
            self._changed.notify_all()

    def _run(self) -> None:
        try:
            while self._play_one():
                pass
        except StyleForgeError as exc:
            with self._changed:
                self._failed = exc
                self._changed.notify_all()
        finally:
            self._reader.close()

    def _play_one(self) -> bool:
        """Publish one frame when it is due, or earlier after a seek; False once closed."""
        with self._changed:
            if self._paused:
                self._start_time = None
            self._changed.wait_for(lambda: self._closed or self._seek_request or not self._paused)
            if self._closed:
                return False
            jump, self._seek_request = self._seek_request, None
        if jump is not None:
            self._apply_seek(jump)
        shot = self._next_frame()
        now = time.perf_counter()
        if self._start_time is None:
            self._start_time = now - shot.seconds
        with self._changed:
            due = self._start_time + shot.seconds - now
            if jump is None and self._changed.wait_for(
                lambda: self._closed or self._seek_request or self._paused, due
            ):
                self._decoded = shot
            else:
                self._publish(shot)
        return True

    def _apply_seek(self, jump: SeekRequest) -> None:
        self._start_time = None
        if jump.seconds is not None:
            self._decoded = None
            self._reader.seek(max(jump.seconds + jump.frames * self._interval, 0.0))
        elif jump.frames < 0:
            self._decoded = None
            self._reader.seek(max(self._position + jump.frames * self._interval, 0.0))
        else:
            for _ in range(jump.frames - 1):
                self._next_frame()

    def _next_frame(self) -> DecodedFrame:
        """Decode the next frame; skip late ones, and rewind at the end."""
        if (shot := self._decoded) is not None:
            self._decoded = None
            return shot
        rewinds = skips = 0
        while True:
            start = time.perf_counter()
            seconds = self._reader.grab()
            if seconds is None and not self._skip_damage():
                if rewinds == 2:
                    raise StyleForgeError(f"'{self._reader.title}' holds no frame that can be read")
                rewinds += 1
                self._rewind()
                # Or all frames of a short video that is slow to decode would be skipped.
                skips = MAX_SKIPS
            if seconds is None:
                continue
            self._last = seconds
            if self._start_time is not None and start - self._start_time - seconds > self._interval:
                if skips < MAX_SKIPS:
                    skips += 1
                    self._index += 1
                    self._dropped += 1
                    continue
                self._start_time = (
                    start - seconds
                )  # cannot keep up: play slower instead of stuttering
            pixels = self._reader.decode()
            if pixels is None:
                self._status = f"'{self._reader.title}' has damaged frames, which are skipped."
                continue
            return DecodedFrame(pixels, seconds, (time.perf_counter() - start) * 1e3)

    def _skip_damage(self) -> bool:
        """If the file broke off before its end, search for intact frames after the damage."""
        end, stride = self._reader.duration, 1.0
        if self._last + self._interval > end - max(0.5, DURATION_TOLERANCE * end):
            return False
        self._status = (
            f"'{self._reader.title}' is damaged at {_minutes_and_seconds(self._last)} "
            f"of {_minutes_and_seconds(end)}; the readable parts are played."
        )
        while self._last + stride < end:
            self._reader.seek(self._last + stride)
            found = self._reader.grab()
            if found is not None and found > self._last:
                self._last = found
                self._start_time = None
                return True
            stride *= 2
        return False

    def _rewind(self) -> None:
        self._reader.seek(0.0)
        if self._start_time is not None:
            self._start_time += self._last + self._interval
        self._last = 0.0

    def _publish(self, shot: DecodedFrame) -> None:
        with self._changed:
            self._dropped += self._unread is not None
            self._unread = Frame(shot.pixels, self._index, time.perf_counter(), shot.read_ms)
            self._index += 1
            self._position = shot.seconds
            self._changed.notify_all()


def _minutes_and_seconds(seconds: float) -> str:
    """Format a time as 0:07 or 12:40."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
