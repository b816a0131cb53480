"""The file of a recording: frames and sound with their times.

Fragments of one second stay readable even if the file is never closed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.export.film.codecs import CODECS, QUALITIES, choose_encoder
from app.export.film.segment import Encoding, add_picture, coded_frame
from app.film_frames.color import BT709, Colors
from app.film_frames.converter import Converter
from app.sound.device import Heard
from utils.pyav import av

FPS = 30  # nominal rate for the encoder; frames have the times at which they arrive
BASE = Fraction(1, 90_000)
RATE = 48_000  # of the sound, in samples per second
BLOCK = 1024  # samples per AAC block
PRIMING = 1024  # samples that AAC puts before the first one: these 21 ms have no sound
STEP_S = 0.03  # tolerated offset of sound before samples are dropped or silence is inserted
# Fragmented MP4: each fragment of one second is readable once written. The finished file is an
# ordinary MP4.
OPTIONS = {"movflags": "+hybrid_fragmented+frag_keyframe", "frag_duration": "1000000"}


class _Disk:
    """A file that FFmpeg writes to; it ends at a failed write, as completing it would spoil it."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb", buffering=0)
        self.failed: OSError | None = None
        self.size = 0  # bytes

    def write(self, data: bytes) -> int:
        rest = memoryview(data)
        while rest and self.failed is None:
            try:
                rest = rest[self._file.write(rest) :]
            except OSError as exc:
                self.failed = exc
        if self.failed is None:
            self.size = max(self.size, self._file.tell())
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence) if self.failed is None else offset

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()


class RecordingFile:
    """An MP4 file with H.264 and optionally AAC, of even `size` (width, height). For one thread.

    Raises:
        FilmError: If no encoder is available.
        OSError, av.error.FFmpegError: If the file cannot be written.
    """

    def __init__(self, path: Path, size: tuple[int, int], *, sound: bool) -> None:
        codec, colors = CODECS["h264"], Colors(BT709, False, BT709, BT709)
        encoder = choose_encoder(codec, "auto", size).encoder
        self._encoding = Encoding(
            codec, encoder, QUALITIES[1], *size, Fraction(FPS), BASE, Fraction(1), colors
        )
        self._converter = Converter(colors)
        self._disk = _Disk(path)
        self._container = av.open(self._disk, "w", "mp4", container_options=OPTIONS)
        self._picture = add_picture(self._container, self._encoding, reordered=False)
        self._sound: av.AudioStream | None = None
        if sound:
            self._sound = self._container.add_stream("aac", RATE, layout="stereo")
            self._sound.codec_context.bit_rate = 192_000
        self._last = -1  # time of the last frame, in BASE
        self._written = PRIMING  # samples of sound
        self._resampler: av.AudioResampler | None = None
        self._rate = 0  # sample rate of the input

    def write_frame(self, pixels: NDArray[np.uint8], seconds: float) -> None:
        """Write a frame, [H, W, 3] uint8 RGB, at its time or right after the previous frame."""
        frame = coded_frame(pixels, self._encoding, self._converter)
        self._last = max(self._last + 1, round(seconds / BASE))
        frame.pts, frame.time_base = self._last, BASE
        self._mux(self._picture.encode(frame))

    def write_sound(self, heard: Heard, seconds: float) -> None:
        """Write sound right after the last piece if it follows, else at its time; cut before 0."""
        samples = self._resampled(heard)
        first = round(seconds * RATE)
        off = first - self._written
        if off > STEP_S * RATE:
            self.write_silence(seconds)
        elif off < (0 if self._written == PRIMING else -STEP_S * RATE):
            samples = samples[-off:]
        self._encode(samples)

    def write_silence(self, until: float) -> None:
        """Fill the time from the end of the sound until `until`, in seconds, with silence."""
        while (lacking := round(until * RATE) - self._written) > 0:
            self._encode(np.zeros((min(lacking, RATE), 2), np.float32))

    @property
    def size(self) -> int:
        """The current size of the file, in bytes."""
        return self._disk.size

    def close(self) -> None:
        """Complete the file; after a failed write, leave it as it is and raise the error."""
        try:
            if self._disk.failed is None:
                self._mux(self._picture.encode(None))
                if self._sound is not None:
                    self._mux(self._sound.encode(None))
        finally:
            self._container.close()
            self._disk.close()
        self._check()

    def _mux(self, packets: Sequence[av.Packet]) -> None:
        self._container.mux(packets)
        self._check()

    def _check(self) -> None:
        if self._disk.failed is not None:
            raise self._disk.failed

    def _resampled(self, heard: Heard) -> NDArray[np.float32]:
        """Return the samples, [samples, 2] at RATE."""
        channels = heard.samples.shape[1]
        layout = "mono" if channels == 1 else "stereo"
        if self._resampler is None or heard.rate != self._rate:
            self._resampler = av.AudioResampler("flt", "stereo", RATE)
            self._rate = heard.rate
        frame = av.AudioFrame.from_ndarray(
            np.ascontiguousarray(heard.samples).reshape(1, -1), format="flt", layout=layout
        )
        frame.sample_rate = heard.rate
        pieces = [each.to_ndarray().reshape(-1, 2) for each in self._resampler.resample(frame)]
        return np.concatenate([np.zeros((0, 2), np.float32), *pieces], dtype=np.float32)

    def _encode(self, samples: NDArray[np.float32]) -> None:
        assert self._sound is not None
        for first in range(0, len(samples), BLOCK):
            piece = np.ascontiguousarray(samples[first : first + BLOCK])
            frame = av.AudioFrame.from_ndarray(piece.reshape(1, -1), format="flt", layout="stereo")
            frame.sample_rate, frame.pts = RATE, self._written
            frame.time_base = Fraction(1, RATE)
            self._written += len(piece)
            self._mux(self._sound.encode(frame))
