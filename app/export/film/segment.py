"""Parts of a film: one file each, into which frames are encoded."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.export.film.codecs import Codec, Encoder
from app.export.film.fault import FAULTS, FilmError, reason
from app.film_frames.color import FULL, LIMITED, Colors
from app.film_frames.converter import Converter
from utils.pyav import av
from utils.scheduling import usual_scheduling
from utils.translation.numbers import number
from utils.translation.texts import tr

MOST_REORDERED = 16  # frames that a codec decodes before a frame that is shown earlier


@dataclass(frozen=True, slots=True)
class Encoding:
    """The encoding of a film; `aspect` is width by height of a pixel, `rate` an average in Hz."""

    codec: Codec
    encoder: Encoder
    quality: str
    width: int
    height: int
    rate: Fraction
    time_base: Fraction
    aspect: Fraction
    colors: Colors


def coded_frame(
    pixels: NDArray[np.uint8], encoding: Encoding, converter: Converter
) -> av.VideoFrame:
    """Convert a frame [H, W, 3] uint8 RGB for the encoder, cutting off what exceeds its size."""
    return converter.from_rgb(pixels[: encoding.height, : encoding.width], encoding.encoder.pixels)


def add_picture(
    container: av.container.OutputContainer, encoding: Encoding, *, reordered: bool = True
) -> av.VideoStream:
    """Open a file's encoder; if `reordered`, decode order may differ from display order."""
    encoder, colors = encoding.encoder, encoding.colors
    stream = container.add_stream(encoder.name, encoding.rate)
    assert isinstance(stream, av.VideoStream)
    context = stream.codec_context
    context.width, context.height = encoding.width, encoding.height
    context.pix_fmt = encoder.pixels
    context.options = encoder.all_options(encoding.quality)
    context.thread_type = "AUTO"  # type: ignore[assignment]
    context.sample_aspect_ratio = encoding.aspect
    context.time_base = stream.time_base = encoding.time_base
    context.colorspace, context.color_range = colors.matrix, FULL if colors.full else LIMITED
    context.color_primaries, context.color_trc = colors.primaries, colors.transfer
    if not reordered:
        context.max_b_frames = 0
    with usual_scheduling():
        context.open()
    return stream


class SegmentWriter:
    """A PartWriter that encodes with FFmpeg.

    Raises:
        FilmError: If the file or the encoder cannot be opened.
    """

    def __init__(self, path: Path, encoding: Encoding) -> None:
        self._encoding, self.path = encoding, path
        self.start = self.duration = 0
        self.times: list[int] = []
        self._given: list[int] = []  # like `times`, but in display order
        self.frames = 0
        encoder = encoding.encoder
        try:
            self._container = av.open(str(path.absolute()), "w", format=encoding.codec.segments)
            self._stream = add_picture(self._container, encoding)
        except FAULTS as exc:
            raise FilmError(
                tr(
                    "the encoder {encoder} cannot be used: {fault}",
                    encoder=encoder.name,
                    fault=reason(exc),
                )
            ) from exc

    def write(self, frame: av.VideoFrame, pts: int, duration: int) -> None:
        if not self.frames:
            self.start = pts
        self._given.append(pts - self.start)
        frame.pts, frame.time_base = pts - self.start, self._encoding.time_base
        try:
            self._mux(frame)
        except FAULTS as exc:
            raise FilmError(
                tr("a part of it cannot be written: {fault}", fault=reason(exc))
            ) from exc
        self.frames += 1
        self.duration = duration

    def close(self) -> None:
        try:
            self._mux(None)
            self._container.close()
        except FAULTS as exc:
            raise FilmError(
                tr("a part of it cannot be written: {fault}", fault=reason(exc))
            ) from exc
        if len(self.times) != self.frames:
            raise FilmError(
                tr(
                    "the encoder made {made} instead of {n} frames for a part of it",
                    made=number(len(self.times)),
                    n=number(self.frames),
                )
            )

    def discard(self) -> None:
        with suppress(*FAULTS):  # the owner deletes files that cannot be completed
            self._container.close()

    def _mux(self, frame: av.VideoFrame | None) -> None:
        base = self._encoding.time_base
        for packet in self._stream.encode(frame):
            assert packet.pts is not None
            number, time = len(self.times), round(packet.pts * packet.time_base / base)
            self.times.append(time)
            packet.time_base, packet.pts = base, time
            # Any valid decode time will do until the film is assembled; x265 sets none for the
            # packets of a short part.
            late = number - MOST_REORDERED
            packet.dts = self._given[late] if late >= 0 else late
            self._container.mux(packet)


def open_segment(path: Path) -> av.container.InputContainer:
    """Open a file that SegmentWriter completed.

    Raises:
        FilmError: If the file is damaged.
    """
    try:
        return av.open(str(path.absolute()))
    except FAULTS as exc:
        raise FilmError(
            tr("a finished part ('{file}') is damaged: {fault}", file=path.name, fault=reason(exc))
        ) from exc
