"""Plays moving pictures at their own speed, over and over."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.errors import StyleForgeError
from app.frame import Frame, FrameSource, SourceInfo
from app.sources.video_decoder import Reader

MAX_SKIPS = 8  # frames left out in a row to catch up, before the clock is set back instead
ENDS_EARLY = 0.02  # of the duration; what FFmpeg estimates is no more precise


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """A decoded frame that waits until it is due."""

    pixels: NDArray[np.uint8]
    seconds: float
    read_ms: float


@dataclass(frozen=True, slots=True)
class Jump:
    """What the user asked for: to be at `seconds`, or `frames` further on."""

    seconds: float | None = None
    frames: int = 0


class Video(FrameSource):
    """Plays what `reader` reads, from the moment it is constructed.

    A thread decodes one frame ahead and puts it out when it is due, never before; a frame that
    was not read by then is replaced, and counted as dropped. Raises StyleForgeError where there
    is no frame at all.
    """

    kind = "video"

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._interval = 1 / reader.fps
        self._changed = threading.Condition()
        self._fresh: Frame | None = None
        self._failed: StyleForgeError | None = None
        self._jump: Jump | None = None
        self._paused = False
        self._closed = False
        self._status = ""
        self._index = 0
        self._dropped = 0
        self._shown = 0.0  # seconds
        # Below: the player's thread alone.
        self._clock: float | None = None  # perf_counter() at which second 0 was due; None: now
        self._last = 0.0  # seconds of the frame decoded last
        self._ahead: Shot | None = None
        try:
            first = self._fetch()
        except StyleForgeError:
            reader.close()
            raise
        height, width, _ = first.pixels.shape
        self.info = SourceInfo(reader.title, width, height, reader.fps, reader.duration)
        self._clock = time.perf_counter() - first.seconds
        self._publish(first)
        self._thread = threading.Thread(target=self._run, name=f"video {reader.title}", daemon=True)
        self._thread.start()

    def read(self, timeout: float = 0.02) -> Frame | None:
        with self._changed:
            self._changed.wait_for(lambda: self._fresh or self._failed, timeout)
            frame, self._fresh = self._fresh, None
            if frame is None and self._failed is not None:
                raise self._failed
            return frame

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not threading.current_thread():
            self._thread.join()

    @property
    def status(self) -> str:
        return self._status

    @property
    def dropped(self) -> int:
        return self._dropped

    @property
    def position(self) -> float:
        return self._shown

    def seek(self, position: float) -> None:
        """The frame at `position` comes at once, also while paused; of many calls the last."""
        end = self.info.duration - self._interval if self.info.duration else position
        self._request(Jump(seconds=max(0.0, min(position, end))))

    def step(self, count: int) -> None:
        """The frame `count` further on comes at once."""
        if count:
            self._request(Jump(frames=count))

    def pause(self, paused: bool) -> None:
        with self._changed:
            self._paused = paused
            if paused:
                self._fresh = None
            self._changed.notify_all()

    def _request(self, jump: Jump) -> None:
        with self._changed:
            if jump.seconds is None and self._jump is not None:  # a step on top of a jump
                jump = replace(self._jump, frames=self._jump.frames + jump.frames)
            self._jump = jump
            self._changed.notify_all()

    def _run(self) -> None:
        try:
            while self._play():
                pass
        except StyleForgeError as exc:
            with self._changed:
                self._failed = exc
                self._changed.notify_all()
        finally:
            self._reader.close()

    def _play(self) -> bool:
        """Put out one frame when it is due, or sooner if a jump asks for it; False once closed."""
        with self._changed:
            if self._paused:
                self._clock = None
            self._changed.wait_for(lambda: self._closed or self._jump or not self._paused)
            if self._closed:
                return False
            jump, self._jump = self._jump, None
        if jump is not None:
            self._go(jump)
        shot = self._fetch()
        now = time.perf_counter()
        if self._clock is None:
            self._clock = now - shot.seconds
        with self._changed:
            due = self._clock + shot.seconds - now
            if jump is None and self._changed.wait_for(
                lambda: self._closed or self._jump or self._paused, due
            ):
                self._ahead = shot
            else:
                self._publish(shot)
        return True

    def _go(self, jump: Jump) -> None:
        self._clock = None
        if jump.seconds is not None:
            self._ahead = None
            self._reader.seek(max(jump.seconds + jump.frames * self._interval, 0.0))
        elif jump.frames < 0:
            self._ahead = None
            self._reader.seek(max(self._shown + jump.frames * self._interval, 0.0))
        else:
            for _ in range(jump.frames - 1):
                self._fetch()

    def _fetch(self) -> Shot:
        """The next frame, decoded. Leaves out what is too late; begins again at the end."""
        if (shot := self._ahead) is not None:
            self._ahead = None
            return shot
        rewinds = skips = 0
        while True:
            start = time.perf_counter()
            seconds = self._reader.grab()
            if seconds is None and not self._past_damage():
                if rewinds == 2:
                    raise StyleForgeError(f"'{self._reader.title}' holds no frame that can be read")
                rewinds += 1
                self._rewind()
                skips = MAX_SKIPS  # of a short film that is slow to decode, all might be left out
            if seconds is None:
                continue
            self._last = seconds
            if self._clock is not None and start - self._clock - seconds > self._interval:
                if skips < MAX_SKIPS:
                    skips += 1
                    self._index += 1
                    self._dropped += 1
                    continue
                self._clock = start - seconds  # cannot keep up: play slower rather than stutter
            pixels = self._reader.decode()
            if pixels is None:
                self._status = f"'{self._reader.title}' has damaged frames; they are left out."
                continue
            return Shot(pixels, seconds, (time.perf_counter() - start) * 1e3)

    def _past_damage(self) -> bool:
        """Where the file broke off before its end, look for whole frames further on."""
        end, stride = self._reader.duration, 1.0
        if self._last + self._interval > end - max(0.5, ENDS_EARLY * end):
            return False
        self._status = (
            f"'{self._reader.title}' is damaged at {_clock(self._last)} of {_clock(end)}; "
            "what can be read is played."
        )
        while self._last + stride < end:
            self._reader.seek(self._last + stride)
            found = self._reader.grab()
            if found is not None and found > self._last:
                self._last = found
                self._clock = None
                return True
            stride *= 2
        return False

    def _rewind(self) -> None:
        self._reader.seek(0.0)
        if self._clock is not None:
            self._clock += self._last + self._interval
        self._last = 0.0

    def _publish(self, shot: Shot) -> None:
        with self._changed:
            self._dropped += self._fresh is not None
            self._fresh = Frame(shot.pixels, self._index, time.perf_counter(), shot.read_ms)
            self._index += 1
            self._shown = shot.seconds
            self._changed.notify_all()


def _clock(seconds: float) -> str:
    """Minutes and seconds: 0:07, 12:40."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
