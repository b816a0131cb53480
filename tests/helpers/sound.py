"""Stand-ins for sound: films that flash and beep, a clock that tests move, a device that counts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from app.sound.clock import RealTime
from app.sound.device import Fill, Samples
from tests.helpers.again import written_again
from tests.helpers.fakes import numbered
from utils.pyav import av

BEEP_S = 0.02
SETTLED_S = 5.0  # real seconds that threads have to react to the clock


@written_again
def write_talkie(
    path: Path,
    times: Sequence[float],
    beeps: Sequence[float],
    rate: int = 44_100,
    codec: str = "aac",
    volumes: Sequence[float] = (0.8,),
    default: int = 0,
    starts: float = 0.0,
    seconds: float | None = None,
    hole: tuple[float, float] = (0.0, 0.0),
) -> Path:
    """Write a film of numbered frames with one stream of beeps for each of `volumes`.

    All times are in seconds.

    Args:
        path: The file.
        times: The time of each frame.
        beeps: The start of each beep.
        rate: The sample rate.
        codec: The audio codec.
        volumes: The loudness of each stream.
        default: The number of the default stream.
        starts: The start of the sound.
        seconds: The length of the sound; None for the length of the picture.
        hole: An interval of the sound that the file lacks.
    """
    base = Fraction(1, 90_000)
    length = times[-1] + 0.04 if seconds is None else seconds
    wave = np.zeros(round(length * rate), np.float32)
    for beep in beeps:
        first = round((beep - starts) * rate)
        if 0 <= first < len(wave):
            tone = np.sin(2 * np.pi * 1000 * np.arange(round(BEEP_S * rate)) / rate)
            wave[first : first + len(tone)] = tone[: len(wave) - first]
    with av.open(str(path), "w") as film:
        picture: Any = film.add_stream("libx264", 25)
        picture.width, picture.height, picture.pix_fmt = 160, 120, "yuv420p"
        picture.codec_context.options = {"crf": "10", "g": "20", "bf": "2"}
        picture.codec_context.time_base = picture.time_base = base
        sounds: list[Any] = []
        for number in range(len(volumes)):
            sound: Any = film.add_stream(codec, rate, layout="mono")
            sound.disposition = av.stream.Disposition.default if number == default else 0
            sounds.append(sound)
        for number, at in enumerate(times):
            frame = av.VideoFrame.from_ndarray(numbered(number), format="rgb24")
            frame.pts, frame.time_base = round(at / base), base
            film.mux(picture.encode(frame.reformat(format="yuv420p")))
        film.mux(picture.encode(None))
        for sound, volume in zip(sounds, volumes, strict=True):
            for first in range(0, len(wave), 1024):
                if hole[0] <= first / rate < hole[1]:
                    continue
                piece = volume * wave[None, first : first + 1024]
                block = av.AudioFrame.from_ndarray(
                    np.ascontiguousarray(piece, np.float32), format="fltp", layout="mono"
                )
                block.sample_rate, block.pts = rate, first + round(starts * rate)
                block.time_base = Fraction(1, rate)
                film.mux(sound.encode(block))
            film.mux(sound.encode(None))
    return path


def beginnings(samples: np.ndarray, rate: int) -> list[float]:
    """Return the starts of beeps, in seconds from the first of [samples] or [samples, channels]."""
    loud = np.abs(samples.reshape(len(samples), -1)).max(1) > 0.1
    at = np.flatnonzero(loud)
    first = np.flatnonzero(np.diff(at, prepend=-rate) > BEEP_S * rate)
    return [float(at[each]) / rate for each in first]


class FakeTime(RealTime):
    """A clock that only tests advance."""

    def __init__(self) -> None:
        self._now = 100.0
        self._lock = threading.Lock()
        self._waiting: dict[int, tuple[threading.Condition, float]] = {}

    def now(self) -> float:
        return self._now

    def wait(
        self, changed: threading.Condition, done: Callable[[], object], seconds: float | None
    ) -> bool:
        until = np.inf if seconds is None else self._now + seconds
        me = threading.get_ident()
        with self._lock:
            self._waiting[me] = changed, until
        while not (finished := done()) and self._now < until:
            changed.wait(0.5)
        with self._lock:
            self._waiting.pop(me, None)
        return bool(finished)

    def advance(self, seconds: float) -> None:
        """Advance the clock, then wait until a thread waits for a later time."""
        self._now += seconds
        with self._lock:
            conditions = {changed for changed, _ in self._waiting.values()}
        for changed in conditions:
            with changed:
                changed.notify_all()
        settle(lambda: any(until > self._now for _, until in list(self._waiting.values())))


def settle(done: Callable[[], object]) -> None:
    """Wait for threads, in real time."""
    until = time.monotonic() + SETTLED_S
    while not done():
        assert time.monotonic() < until, "a thread does not do what it should"
        time.sleep(0.0005)


@dataclass(frozen=True)
class Played:
    """A block that a device played, and the time it was heard."""

    samples: Samples
    at: float


class FakeOutput:
    """A device that asks for blocks at the pace of its own crystal and records them.

    Args:
        time: The test's clock.
        latency: Seconds from the request for a block until it is heard.
        drift: Its speed relative to the nominal rate, as a factor.
        jitter: The error of the times it reports, in seconds.
        silence: Why the device plays nothing; "" if it works.
    """

    rate, channels, block = 48_000, 2, 480

    def __init__(
        self,
        time: FakeTime,
        latency: float = 0.05,
        drift: float = 1.0,
        jitter: float = 0.0,
        silence: str = "",
    ) -> None:
        self._time, self._latency, self._drift, self._jitter = time, latency, drift, jitter
        self._rng = np.random.default_rng(3)
        self.silence = silence
        self.played: list[Played] = []
        self.opened = self.closed = 0
        self.fill: Fill | None = None
        self.lost: Callable[[], None] = lambda: None
        self._next = time.now()

    def open(self, fill: Fill, lost: Callable[[], None]) -> FakeOutput:
        self.opened += 1
        self.fill, self.lost = fill, lost
        self._next = self._time.now()
        return self

    def close(self) -> None:
        self.closed += 1
        self.fill = None

    def play(self) -> None:
        """Ask for the blocks that are due."""
        while self.fill is not None and self._next <= self._time.now():
            out = np.zeros((self.block, self.channels), np.float32)
            at = self._next + self._latency
            self.fill(out, at + self._rng.uniform(-1, 1) * self._jitter)
            self.played.append(Played(out, at))
            self._next += self.block / (self.rate * self._drift)

    def beeps(self) -> list[float]:
        whole = np.concatenate([each.samples for each in self.played])
        found = []
        for begins in beginnings(whole, self.rate):
            number, rest = divmod(round(begins * self.rate), self.block)
            found.append(self.played[number].at + rest / (self.rate * self._drift))
        return found
