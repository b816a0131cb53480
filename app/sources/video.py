"""A player for videos and animations at their own rate, in step with their sound, in a loop."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.errors import StyleForgeError
from app.frame import Frame, FrameSource, SourceInfo
from app.sound.clock import PlaybackClock, RealTime
from app.sound.device import Listener
from app.sound.soundtrack import Soundtrack
from app.sources.video_decoder import SAME_S, FrameReader, VideoReader
from utils.leaving import WAIT_S, BackgroundThread
from utils.translation.texts import tr

MAX_SKIPS = 8  # frames skipped in a row to catch up, before playback slows down instead
PATIENCE_S = 0.5  # how late a picture may be before it interrupts its sound
START_S = 0.1  # time for sound to begin
CHECK_S = 0.1  # between looks at the clock, which an audio device corrects
# Most time that frames arrive early to wait for the engine; also at most a quarter of a frame.
EARLY_S = 0.01
BACK_S = 1e-3  # this long before a frame, the previous one is shown
DURATION_TOLERANCE = 0.02  # fraction of the duration, the precision of FFmpeg's estimate


@dataclass(frozen=True, slots=True, eq=False)
class DecodedFrame:
    """A decoded frame and its time in the video."""

    pixels: NDArray[np.uint8]
    seconds: float
    read_ms: float


@dataclass(frozen=True, slots=True)
class SeekRequest:
    """The user's request to go to `seconds`, or `frames` forward."""

    seconds: float | None = None
    frames: int = 0


class Video(FrameSource):
    """A player of the frames of `reader` in a loop, which starts when constructed.

    A thread decodes one frame ahead. It publishes the frame early enough to be painted when its
    moment is heard. A frame that was not read by then is replaced and counts as dropped. The video
    closes its `sound`, None without any; `time` is the clock of the machine.

    Raises:
        StyleForgeError: If there is no readable frame.
    """

    kind = "video"

    def __init__(
        self, reader: FrameReader, sound: Soundtrack | None = None, time: RealTime | None = None
    ) -> None:
        self._reader, self._sound, self._time = reader, sound, time or RealTime()
        self._clock = PlaybackClock() if sound is None else sound.clock
        self._interval = 1 / reader.fps
        self._changed = threading.Condition()
        self._unread: Frame | None = None
        self._failed: StyleForgeError | None = None
        self._seek_request: SeekRequest | None = None
        self._loop: tuple[float, float] | None = None
        self._paused = False
        self._closed = False
        self._status = ""
        self._index = 0
        self._dropped = 0
        self._position = 0.0  # seconds
        self._delay = 0.0  # seconds from reading a frame until it is painted
        # Only the player's thread uses the attributes below.
        self._lap = 0.0  # position of second 0 on the clock
        self._last = 0.0  # seconds of the last decoded frame
        self._decoded: DecodedFrame | None = None
        try:
            first = self._next_frame()
        except StyleForgeError:
            reader.close()
            if sound is not None:
                sound.close()
            raise
        height, width, _ = first.pixels.shape
        self.info = SourceInfo(reader.title, width, height, reader.fps, reader.duration)
        self._start_clock(first.seconds)
        self._publish(first)
        self._thread = BackgroundThread(self._run, f"video {reader.title}")
        self._thread.start()

    def read(self, timeout: float = 0.02) -> Frame | None:
        """Return the frame that is due; None if there is none within `timeout` seconds.

        Raises:
            StyleForgeError: If frames can no longer be read.
        """
        with self._changed:
            self._time.wait(self._changed, lambda: self._unread or self._failed, timeout)
            frame, self._unread = self._unread, None
            if frame is None and self._failed is not None:
                raise self._failed
            return frame

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not threading.current_thread():
            self._thread.join(WAIT_S)
        if self._sound is not None:
            self._sound.close()

    @property
    def status(self) -> str:
        return self._status

    @property
    def dropped(self) -> int:
        return self._dropped

    @property
    def position(self) -> float:
        return self._position

    @property
    def silence(self) -> str | None:
        return None if self._sound is None else self._sound.silence

    def set_volume(self, volume: float) -> None:
        if self._sound is not None:
            self._sound.set_volume(volume)

    def set_delay(self, seconds: float) -> None:
        """Deliver frames `seconds` before their sound; without sound, when they are due."""
        if self._sound is not None:
            self._delay = seconds

    def listen(self, listener: Listener | None) -> None:
        if self._sound is not None:
            self._sound.listen(listener)

    def set_loop(self, part: tuple[float, float] | None) -> None:
        """Loop from the frame at one time to the frame at another; None plays all."""
        with self._changed:
            self._loop = part
        if part is not None and not part[0] <= self._position <= part[1]:
            self.seek(part[0])

    def seek(self, position: float) -> None:
        """Go to `position` in seconds, even while paused; only the last waiting request counts."""
        end = self._reader.last if self.info.duration else position
        self._request(SeekRequest(seconds=max(0.0, min(position, end))))

    def step(self, count: int) -> None:
        """Go forward by exactly `count` frames; the frame is delivered at once."""
        if count:
            self._request(SeekRequest(frames=count))

    def pause(self, paused: bool) -> None:
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

    # The player's thread

    def _run(self) -> None:
        try:
            while self._play_one():
                pass
        except StyleForgeError as exc:
            self._stop_clock()
            with self._changed:
                self._failed = exc
                self._changed.notify_all()
        finally:
            self._reader.close()

    def _play_one(self) -> bool:
        """Publish one frame when it is due; after a seek, publish it at once.

        Return False once the video is closed.
        """
        with self._changed:
            if self._paused:
                self._stop_clock()
            self._changed.wait_for(lambda: self._closed or self._seek_request or not self._paused)
            if self._closed:
                return False
            jump, self._seek_request = self._seek_request, None
        if jump is not None:
            self._apply_seek(jump)
        shot = self._next_frame()
        with self._changed:
            if not self._clock.running and not self._paused:
                self._start_clock(shot.seconds)
            if jump is None and self._interrupted(shot):
                self._decoded = shot
            else:
                self._publish(shot)
        return True

    def _interrupted(self, shot: DecodedFrame) -> bool:
        """Wait until a frame is due; return whether something else has to happen before."""

        def interrupted() -> bool:
            return self._closed or self._seek_request is not None or self._paused

        while not interrupted():
            early = self._due(shot.seconds) - self._time.now()
            if early <= 0:
                return False
            self._time.wait(self._changed, interrupted, min(early, CHECK_S))
        return True

    def _due(self, seconds: float) -> float:
        """Return when to deliver the frame at `seconds` so that it is painted with its sound."""
        early = 0.0 if self._sound is None else min(EARLY_S, self._interval / 4)
        return self._clock.when(self._lap + seconds) - self._delay - early

    def _start_clock(self, seconds: float) -> None:
        """Play from the frame at `seconds`, which is delivered now or very soon."""
        now = self._time.now()
        self._lap = 0.0
        if self._sound is None:
            self._clock.start(seconds, now)
        else:
            self._sound.start(seconds, now + self._delay + START_S)

    def _stop_clock(self) -> None:
        if self._sound is None:
            self._clock.stop()
        else:
            self._sound.stop()

    def _apply_seek(self, jump: SeekRequest) -> None:
        self._stop_clock()
        frames, shown = jump.frames, self._position
        if jump.seconds is not None:
            self._go_to(jump.seconds)
            if frames:
                found = self._reader.grab()
                shown = jump.seconds if found is None else found
        for _ in range(-frames):  # one frame back at a time, whatever the rate
            if shown <= 0:
                break
            self._go_to(max(shown - BACK_S, 0.0))
            found = self._reader.grab()
            shown = 0.0 if found is None else found
        if frames < 0:
            self._go_to(shown)
        for _ in range(frames - 1):
            self._next_frame()

    def _go_to(self, seconds: float) -> None:
        self._decoded = None
        self._reader.seek(seconds)
        self._last = seconds

    def _next_frame(self) -> DecodedFrame:
        """Decode the next frame; skip late ones, and rewind at the end."""
        if (shot := self._decoded) is not None:
            self._decoded = None
            return shot
        rewinds = skips = 0
        while True:
            start = self._time.now()
            seconds = self._reader.grab()
            if seconds is None and not self._skip_damage():
                if rewinds == 2:
                    raise StyleForgeError(
                        tr("'{file}' holds no readable frame", file=self._reader.title)
                    )
                rewinds += 1
                self._rewind(self._reader.until(self._last))
                # Otherwise all frames of a short video that is slow to decode would be skipped.
                skips = MAX_SKIPS
            if seconds is None:
                continue
            if self._ends_loop(seconds):
                self._rewind(seconds)
                skips = MAX_SKIPS
                continue
            self._last = seconds
            late = start - self._due(seconds) if self._clock.running else 0.0
            if late > self._interval:
                if skips < MAX_SKIPS:
                    skips += 1
                    self._index += 1
                    self._dropped += 1
                    continue
                if self._sound is None or late > PATIENCE_S:
                    # Cannot keep up: play slower instead of showing fewer and fewer frames.
                    self._start_clock(seconds)
            pixels = self._reader.decode()
            if pixels is None:
                title = self._reader.title
                self._status = tr("'{name}' has damaged frames, which are skipped.", name=title)
                continue
            return DecodedFrame(pixels, seconds, (self._time.now() - start) * 1e3)

    def _ends_loop(self, seconds: float) -> bool:
        """Return whether the frame at `seconds` is the first one after the looped part."""
        loop = self._loop
        return loop is not None and self._last <= loop[1] + SAME_S < seconds

    def _skip_damage(self) -> bool:
        """If the file broke off before its end, search for intact frames after the damage."""
        end, stride = self._reader.duration, 1.0
        if self._reader.until(self._last) > end - max(0.5, DURATION_TOLERANCE * end):
            return False
        self._status = tr(
            "'{name}' is damaged at {at} of {end}; the readable parts are played.",
            name=self._reader.title,
            at=_minutes_and_seconds(self._last),
            end=_minutes_and_seconds(end),
        )
        while self._last + stride < end:
            self._reader.seek(self._last + stride)
            found = self._reader.grab()
            if found is not None and found > self._last:
                self._last = found
                self._stop_clock()
                return True
            stride *= 2
        return False

    def _rewind(self, end: float) -> None:
        """Begin again at the looped part or the whole; its sound follows the sound at `end`."""
        begin = 0.0 if self._loop is None else self._loop[0]
        self._reader.seek(begin)
        if self._sound is not None and self._clock.running:
            self._sound.jump(self._lap + end, begin)
        self._lap += end - begin
        self._last = begin

    def _publish(self, shot: DecodedFrame) -> None:
        running = self._sound is not None and self._clock.running
        plays_at = self._clock.when(self._lap + shot.seconds) if running else None
        with self._changed:
            self._dropped += self._unread is not None
            self._unread = Frame(
                shot.pixels, self._index, self._time.now(), shot.read_ms, plays_at=plays_at
            )
            self._index += 1
            self._position = shot.seconds
            self._changed.notify_all()


def open_film(reader: VideoReader) -> Video:
    """Play a film with its sound, if any.

    Raises:
        StyleForgeError: If the film has no readable frame.
    """
    return Video(reader, Soundtrack(reader.where) if reader.has_sound else None)


def _minutes_and_seconds(seconds: float) -> str:
    """Format a time as 0:07 or 12:40."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
