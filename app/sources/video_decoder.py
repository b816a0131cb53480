"""Decoders for videos and animations, frame by frame."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from itertools import accumulate, islice
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from app.errors import StyleForgeError
from app.film_frames.color import ColorError, colors_of
from app.film_frames.converter import Converter
from app.film_frames.decoding import FAULTS, Damage, decoded, open_container
from app.film_frames.extent import frame_rate, length_s
from app.film_frames.orientation import orientation_of
from app.film_frames.streams import moving_picture, sound_stream
from utils.images.animation import first_frame, read_animation
from utils.images.conversion import to_rgb
from utils.images.opening import MALFORMED, opened
from utils.opencv import MAX_PIXELS
from utils.pyav import av
from utils.text import printable
from utils.translation.texts import tr

DEFAULT_DELAY_MS = 100  # browsers' default for an animation without a delay
MAX_DAMAGED_IN_A_ROW = 20  # consecutive damaged frames after which an animation counts as ended
# Seconds before the sought time at which to enter a file with a wrong index.
EARLIER_S = (0.0, 2.0, 10.0)
SAME_S = 1e-4  # times that differ by less are equal


class FrameReader(Protocol):
    """A reader of frames in order, each with its time in seconds. Used by one thread at a time."""

    title: str
    fps: float
    duration: float  # seconds; 0 if the file does not tell

    @property
    def last(self) -> float:
        """When the last frame is due, in seconds, if there is a duration."""
        ...

    def grab(self) -> float | None:
        """Go to the next frame and return its time in seconds; None at the end."""
        ...

    def decode(self) -> NDArray[np.uint8] | None:
        """Return the current frame as [H, W, 3] RGB in new memory; None if it is damaged."""
        ...

    def until(self, seconds: float) -> float:
        """Return when the display time of the frame due at `seconds` ends."""
        ...

    def seek(self, seconds: float) -> None:
        """Make the next grab return the frame shown at `seconds`, or the last one beyond the end.

        Raises:
            StyleForgeError: If the file can no longer be read.
        """
        ...

    def close(self) -> None: ...


class VideoReader:
    """A video file or address, decoded by FFmpeg and rotated upright.

    Times count from the first frame. Iterating yields (seconds, pixels) from the current frame on.
    `where` includes a camera's login.

    Raises:
        StyleForgeError: If the video cannot be opened.
    """

    def __init__(self, where: str | Path, title: str = "") -> None:
        self.title = title or printable(Path(where).name)
        # Absolute, because FFmpeg treats the text before a colon in "12:30.mp4" as a protocol.
        self.where = str(where) if "://" in str(where) else str(Path(where).absolute())
        self._ahead: deque[tuple[float, av.VideoFrame]] = deque()  # decoded while seeking
        self._frame: av.VideoFrame | None = None
        self._converter: Converter | None = None
        self._size = (0, 0)  # stored size of the first frame
        self._open()
        stream = self._stream
        self.fps = float(frame_rate(self._container, stream))
        self.has_sound = sound_stream(self._container) is not None
        seconds = length_s(self._container, stream)
        self.duration = max(seconds or (self._container.duration or 0) / av.time_base, 0.0)

    def _open(self) -> None:
        try:
            self._container = open_container(self.where)
            stream = moving_picture(self._container)
        except FAULTS:
            stream = None
        if stream is None:
            raise StyleForgeError(tr("'{file}' is not a video that can be played", file=self.title))
        self._stream = stream
        stream.codec_context.options = {"max_pixels": str(MAX_PIXELS)}
        base = stream.time_base or Fraction(1, 1000)
        self._start, self._base = (stream.start_time or 0) * base, base
        self._restart(0.0)

    def _restart(self, first: float) -> None:
        """Decode from the container's position; `first` times a first frame without a time."""
        self._ahead.clear()
        self._frames = self._timed(first)

    def _timed(self, first: float) -> Iterator[tuple[float, av.VideoFrame]]:
        previous = -math.inf
        for frame in decoded(self._container, self._stream, Damage()):
            seconds = -math.inf
            if frame.pts is not None:
                seconds = float(frame.pts * (frame.time_base or self._base) - self._start)
            if not seconds > previous:  # timestamps are missing or not increasing
                seconds = previous + 1 / self.fps if previous > -math.inf else first
            previous = seconds
            yield seconds, frame

    def grab(self) -> float | None:
        found = self._ahead.popleft() if self._ahead else next(self._frames, None)
        if found is None:
            return None
        seconds, self._frame = found
        return seconds

    def decode(self) -> NDArray[np.uint8] | None:
        """Return the current frame as [H, W, 3] RGB; None if it is damaged.

        Raises:
            StyleForgeError: If the meaning of its colors is not known.
        """
        frame = self._frame
        if frame is None:
            return None
        if self._converter is None:
            try:
                colors, orientation = colors_of(frame), orientation_of(frame)
            except ColorError as exc:
                raise StyleForgeError(
                    tr("'{file}' cannot be played: {error}", file=self.title, error=exc)
                ) from exc
            except FAULTS:  # side data that PyAV does not know
                return None
            self._converter = Converter(colors, orientation, exact=False)
            self._size = frame.width, frame.height
        try:
            return self._converter.to_rgb(frame, *self._size)
        except FAULTS:  # FFmpeg cannot convert this pixel format
            return None

    @property
    def last(self) -> float:
        """When the last frame is due, in seconds, by the rate of the film."""
        return max(0.0, self.duration - 1 / self.fps)

    def until(self, seconds: float) -> float:
        """Return when the next frame is due, by the rate of the film."""
        return seconds + 1 / self.fps

    def seek(self, seconds: float) -> None:
        """Make the next grab return the frame shown at `seconds`, from the key frame before it.

        0 reopens the file.
        """
        for earlier in EARLIER_S:
            start = seconds - earlier
            if start <= 0 or not self._enter(start):
                break
            if self._find(seconds):
                return
        self._reopen()
        if seconds > 0:
            self._find(seconds)

    def _enter(self, seconds: float) -> bool:
        """Go to a key frame at or before a time; False if the file cannot be entered there."""
        try:
            self._container.seek(
                math.floor((seconds + self._start) / self._base), stream=self._stream
            )
        except FAULTS:
            return False
        self._restart(seconds)
        return True

    def _find(self, seconds: float) -> bool:
        """Decode up to the frame shown at a time; return False if the first frame is later."""
        shown: tuple[float, av.VideoFrame] | None = None
        for found in self._frames:
            if found[0] > seconds + SAME_S:
                self._ahead.append(found)
                break
            shown = found
        if shown is not None:
            self._ahead.appendleft(shown)
        return shown is not None

    def _reopen(self) -> None:
        """Open the file again: not every container can seek, but each can be reopened."""
        self._container.close()
        try:
            self._open()
        except StyleForgeError:
            raise StyleForgeError(tr("'{file}' can no longer be read", file=self.title)) from None

    def close(self) -> None:
        self._container.close()

    def __iter__(self) -> Iterator[tuple[float, NDArray[np.uint8]]]:
        while (seconds := self.grab()) is not None:
            if (pixels := self.decode()) is not None:
                yield seconds, pixels


class AnimationReader:
    """An animated GIF, WebP, PNG or AVIF, decoded by Pillow.

    The delays are read before the frames, so the duration is known; for a damaged file, only the
    delays of the part that has been played.

    Raises:
        ImageError: If the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.title = printable(path.name)
        self._next = 0
        self._times = [0.0]  # when each known frame is due, and when the last one ends
        self._damaged = False
        self._in_a_row = 0  # damaged frames
        self.duration = 0.0
        with ExitStack() as file:
            self._image: Image.Image = file.enter_context(opened(path, played=True))
            self._first = first_frame(self._image)
            self._count: int = getattr(self._image, "n_frames", 1) - self._first
            if animation := read_animation(path):
                usual = DEFAULT_DELAY_MS / 1e3
                delays = (float(each * animation.unit) or usual for each in animation.delays)
                self._times += accumulate(islice(delays, self._count))
                self._end_at(min(self._count, len(animation.delays)))
            self._load(0)
            self._file = file.pop_all()
        self.fps = self._count / self.duration if self.duration else 1 / self._times[1]

    @property
    def last(self) -> float:
        return self._times[self._count - 1] if self.duration else 0.0

    def _end_at(self, count: int) -> None:
        """Limit the animation to `count` frames, whose times are all known."""
        self._count, self.duration = count, self._times[count]

    def _load(self, index: int) -> None:
        self._damaged = False
        delay = DEFAULT_DELAY_MS
        try:
            self._image.seek(index + self._first)
            self._image.load()
            delay = self._image.info.get("duration") or DEFAULT_DELAY_MS
            self._in_a_row = 0
        except (*MALFORMED, MemoryError):  # a frame may declare any size
            self._damaged = True
            self._in_a_row += 1
        if index + 1 == len(self._times):
            self._times.append(self._times[index] + delay / 1e3)
        if self._in_a_row == MAX_DAMAGED_IN_A_ROW:  # the file may declare billions of frames
            self._count = index + 1
            self.duration = min(self.duration, self._times[index + 1])

    def grab(self) -> float | None:
        if self._next >= self._count:
            return None
        self._load(self._next)
        self._next += 1
        return self._times[self._next - 1]

    def decode(self) -> NDArray[np.uint8] | None:
        try:
            return None if self._damaged else to_rgb(self._image)
        except (*MALFORMED, MemoryError):
            return None

    def until(self, seconds: float) -> float:
        following = bisect_right(self._times, seconds + SAME_S)
        return self._times[min(following, len(self._times) - 1)]

    def seek(self, seconds: float) -> None:
        self._next = 0
        while self._next + 1 < self._count:
            if self._next + 1 == len(self._times):
                self._load(self._next)
            if self._times[self._next + 1] > seconds + 1e-6:
                break
            self._next += 1

    def close(self) -> None:
        self._file.close()
