"""The player of a film's sound, which is the film's clock."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.sound.clock import PlaybackClock
from app.sound.device import Fill, Heard, Listener, Output, Samples, SoundError
from app.sound.film_sound import FilmSound
from app.sound.output import RATE, SilentOutput, open_output
from utils.leaving import WAIT_S, BackgroundThread
from utils.translation.texts import mark, tr

AHEAD_S = 0.5  # of sound that is decoded before it is heard
RETRY_S = 10.0  # between attempts to open a device after there was none
LOST = mark("The sound device was unplugged or has failed; the film continues without sound")

OpenOutput = Callable[[Fill, Callable[[], None]], Output]


@dataclass(slots=True, eq=False)
class _Chunk:
    """Decoded samples, and the position of the first one."""

    position: float
    samples: Samples


@dataclass(frozen=True, slots=True)
class _Jump:
    """A position at which the sound continues from another time of the film."""

    position: float
    seconds: float


class Soundtrack:
    """A film's sound, played at its times: sound that is decoded too late is omitted, not delayed.

    One thread opens the device and decodes. The device's thread takes samples and corrects the
    clock by the sound it has played. All other calls come from the thread that plays the picture.
    Positions are the clock's: they keep increasing when the film begins again.

    Attributes:
        clock: Tells when each position is heard.
        silence: Why nothing is heard; "" while sound is heard, and until this is known.
    """

    def __init__(self, where: str, device: OpenOutput | None = None) -> None:
        self.clock, self.silence = PlaybackClock(), ""
        self._where, self._open = where, device or open_output
        self._changed = threading.Condition()
        self._chunks: deque[_Chunk] = deque()
        self._jumps: deque[_Jump] = deque()
        self._seek: float | None = None  # seconds, a request for the decoding thread
        self._position = 0.0  # of the next decoded sample
        self._rate = RATE  # of the chunks
        self._playing = self._lost = self._closed = False
        # The position after the last played sample; None to use the clock.
        self._follows: float | None = None
        self._gain = self._volume = 1.0
        self._listener: Listener | None = None
        self._output: Output | None = None
        self._tried_at = 0.0
        self._thread = BackgroundThread(self._run, "sound of a film")
        self._thread.start()

    # The player's thread

    def start(self, seconds: float, at: float) -> None:
        """Play from the position `seconds` at the time `at`, and start the clock."""
        with self._changed:
            self.clock.start(seconds, at)
            self._chunks.clear()
            self._jumps.clear()
            self._seek = self._position = seconds
            self._playing, self._follows = True, None
            self._changed.notify_all()

    def stop(self) -> None:
        with self._changed:
            self.clock.stop()
            self._chunks.clear()
            self._jumps.clear()
            self._playing = False

    def jump(self, position: float, seconds: float) -> None:
        """Continue from the time `seconds` of the film when `position` is reached."""
        with self._changed:
            self._jumps.append(_Jump(position, seconds))
            self._cut()
            self._changed.notify_all()

    def set_volume(self, volume: float) -> None:
        """Set the perceived volume, 0 to 1; listeners receive the sound unchanged."""
        self._volume = volume**2

    def listen(self, listener: Listener | None) -> None:
        self._listener = listener

    def close(self) -> None:
        with self._changed:
            self._playing, self._closed = False, True
            self._changed.notify_all()
        self._thread.join(WAIT_S)

    # The decoding thread

    def _run(self) -> None:
        sound: FilmSound | None = None
        try:
            while self._wait():
                output = self._opened()
                if sound is not None and (sound.rate, sound.channels) != (
                    output.rate,
                    output.channels,
                ):
                    sound.close()
                    sound = None
                if sound is None:
                    sound = FilmSound(self._where, output.rate, output.channels)
                self._decode(sound)
        except SoundError as exc:
            self.silence = str(exc)
        finally:
            if sound is not None:
                sound.close()
            if self._output is not None:
                self._output.close()

    def _wait(self) -> bool:
        """Wait until there is something to do; return False once closed."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or self._lost or (self._playing and self._wants_more())
            )
            return not self._closed

    def _wants_more(self) -> bool:
        if self._seek is not None or self._output is None:
            return True
        waiting = sum(len(chunk.samples) for chunk in self._chunks)
        return waiting < AHEAD_S * self._output.rate

    def _opened(self) -> Output:
        """Return the device; after a loss, a silent one until the next start."""
        output = self._output
        now = time.monotonic()
        if output is not None and self._lost:
            self._lost = False
            output.close()
            self._tried_at = now
            self._output = SilentOutput(self._fill, tr(LOST), output.rate, output.channels)
        elif output is None or (
            output.silence and self._seek is not None and now - self._tried_at > RETRY_S
        ):
            if output is not None:
                output.close()
            self._tried_at = now
            self._output = self._open(self._fill, self._on_lost)
        assert self._output is not None
        self.silence = self._output.silence
        return self._output

    def _decode(self, sound: FilmSound) -> None:
        with self._changed:
            seek, self._seek = self._seek, None
        if seek is not None:
            sound.seek(seek)
        samples = sound.read()
        if samples is None:
            samples = np.zeros((sound.rate // 10, sound.channels), np.float32)
        with self._changed:
            if self._seek is None and self._playing:  # otherwise it is no longer wanted
                self._chunks.append(_Chunk(self._position, samples))
                self._position += len(samples) / sound.rate
                self._rate = sound.rate
                self._cut()

    def _cut(self) -> None:
        """Carry out the next jump, and drop sound decoded beyond it."""
        if not self._jumps or self._position < self._jumps[0].position:
            return
        jump = self._jumps.popleft()
        while self._chunks and self._chunks[-1].position >= jump.position:
            self._chunks.pop()
        if self._chunks:
            last = self._chunks[-1]
            last.samples = last.samples[: round((jump.position - last.position) * self._rate)]
        self._position, self._seek = jump.position, jump.seconds

    # The device's thread

    def _on_lost(self) -> None:
        with self._changed:
            self._lost = True
            self._changed.notify_all()

    def _fill(self, out: Samples, heard_at: float) -> None:
        out.fill(0)
        with self._changed:
            if not self._playing:
                return
            begins_at = self._take(out, heard_at)
            self._changed.notify_all()
        listener = self._listener
        if listener is not None and begins_at is not None:
            listener(Heard(out.copy(), self._rate, begins_at))
        if self._gain != 1.0 or self._volume != 1.0:  # without a click
            out *= np.linspace(self._gain, self._volume, len(out), dtype=np.float32)[:, None]
        self._gain = self._volume

    def _take(self, out: Samples, heard_at: float) -> float | None:
        """Fill a block with the sound that is due, seamlessly, and correct the clock.

        Return when the block is heard by the clock; None if it is silent.
        """
        chunks, clock, rate = self._chunks, self.clock, self._rate
        done = 0
        if not chunks:
            self._follows = None
            return None
        if self._follows is not None and abs(chunks[0].position - self._follows) * rate < 1:
            clock.correct(self._follows, heard_at)
        else:
            due = clock.position(heard_at)
            while chunks and chunks[0].position + len(chunks[0].samples) / rate <= due:
                chunks.popleft()
            if not chunks:
                return None
            done = round((chunks[0].position - due) * rate)
            if done < 0:
                self._drop(-done)
                done = 0
        if not chunks or done >= len(out):
            return None
        begins_at = clock.when(chunks[0].position) - done / rate
        while chunks and done < len(out):
            piece = chunks[0].samples[: len(out) - done]
            out[done : done + len(piece)] = piece
            done += len(piece)
            self._drop(len(piece))
        return begins_at

    def _drop(self, count: int) -> None:
        first = self._chunks[0]
        first.samples = first.samples[count:]
        first.position += count / self._rate
        self._follows = first.position
        if not len(first.samples):
            self._chunks.popleft()
