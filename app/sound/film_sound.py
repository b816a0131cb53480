"""The sound of a film, decoded and resampled without gaps from any time on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from app.film_frames.decoding import FAULTS, open_container, reason
from app.film_frames.streams import moving_picture, sound_stream
from app.sound.device import Samples, SoundError
from utils.pyav import av
from utils.translation.texts import tr

GAP_S = 0.03  # smaller differences from the expected time are rounding errors
EARLIER_S = 0.15  # codecs need a block or two before their output is correct


class FilmSound:
    """A reader of a film's sound, by default the default stream. For one thread.

    Times count from the film's first frame, like the times of its picture. `where` is for FFmpeg,
    `rate` in samples per second, `channels` 1 or 2.

    Raises:
        SoundError: If the film has no readable sound.
    """

    def __init__(self, where: str, rate: int, channels: int) -> None:
        self.rate, self._layout = rate, "mono" if channels == 1 else "stereo"
        self.channels = channels
        try:
            self._container = open_container(where)
            stream = sound_stream(self._container)
        except FAULTS as exc:
            raise SoundError(
                tr("The sound of the film cannot be read: {error}", error=reason(exc))
            ) from exc
        if stream is None:
            raise SoundError(tr("The film has no sound"))
        self._stream = stream
        picture = moving_picture(self._container)
        begins = picture.start_time if picture is not None else None
        self._start = (begins or 0) * (picture.time_base or Fraction(0)) if picture else Fraction(0)
        self.seek(0.0)

    def seek(self, seconds: float) -> None:
        """Make the next `read` begin at a time, exact to the sample."""
        base = self._stream.time_base or Fraction(1, self.rate)
        enter = (seconds - EARLIER_S + self._start) / base
        try:
            self._container.seek(math.floor(enter), stream=self._stream, backward=True)
        except FAULTS:  # not every container can seek, but each can be reread from the start
            self._container.seek(0)
        self._next = seconds  # the time of the next sample
        self._exact = True  # whether even a small gap counts, as at the start
        self._skip = 0  # samples to omit before that
        self._resampler = self._new_resampler()
        self._pieces = self._contiguous()

    def read(self) -> Samples | None:
        """Return the next samples, without gaps; None after the last one."""
        for piece in self._pieces:
            skipped = min(self._skip, len(piece))
            self._skip -= skipped
            if skipped < len(piece):
                return piece[skipped:]
        return None

    def close(self) -> None:
        self._container.close()

    def _decoded(self) -> Iterator[av.AudioFrame]:
        """Decode from the container's position; damaged packets are omitted and become silence."""
        try:
            for packet in self._container.demux(self._stream):
                try:
                    frames = self._stream.decode(packet)
                except av.error.FFmpegError:
                    continue
                yield from frames
        except FAULTS:
            return  # the file ends here

    def _contiguous(self) -> Iterator[Samples]:
        """Yield samples, with silence before a late frame; skip samples of an early frame."""
        for frame in self._decoded():
            gap = self._gap(frame)
            if gap:
                yield from self._resampled(None)
                self._next += gap
                self._skip += max(0, round(-gap * self.rate))
                silent = max(0, round(gap * self.rate))
                while silent > 0:
                    yield np.zeros((min(silent, self.rate), self.channels), np.float32)
                    silent -= self.rate
            yield from self._resampled(frame)
            self._next += frame.samples / frame.sample_rate
        yield from self._resampled(None)

    def _gap(self, frame: av.AudioFrame) -> float:
        """Return how many seconds a frame is later than the end of the sound before it, or 0."""
        if frame.pts is None:
            return 0.0
        base = frame.time_base or self._stream.time_base or Fraction(1, frame.sample_rate)
        gap = float(frame.pts * base - self._start) - self._next
        tolerance, self._exact = 0.0 if self._exact else GAP_S, False
        return gap if abs(gap) > tolerance else 0.0

    def _resampled(self, frame: av.AudioFrame | None) -> list[Samples]:
        """Return the samples of a frame; for None, the last ones before a new stretch."""
        if frame is not None:
            frame.pts = None  # the resampler counts for itself
        try:
            made = self._resampler.resample(frame)
        except FAULTS:  # a frame of another format than the resampler's first
            self._resampler = self._new_resampler()
            made = self._resampler.resample(frame) if frame is not None else []
        if frame is None:
            self._resampler = self._new_resampler()
        pieces = (each.to_ndarray().reshape(-1, self.channels) for each in made)
        return [np.asarray(piece, np.float32) for piece in pieces]

    def _new_resampler(self) -> av.AudioResampler:
        return av.AudioResampler(format="flt", layout=self._layout, rate=self.rate)
