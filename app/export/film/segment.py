"""One part of a film in a file of its own: frames are encoded into it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.export.film.codecs import Codec, Encoder
from app.export.film.color import FULL, LIMITED, Colors, Converter
from app.export.film.fault import FAULTS, FilmError, reason
from utils.pyav import av


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a film is encoded.

    Attributes:
        codec: The codec.
        encoder: Its encoder.
        quality: One of app.export.film.codecs.QUALITIES.
        width: In pixels.
        height: In pixels.
        rate: Frames a second, on average.
        time_base: The unit of the times of its frames, in seconds.
        aspect: How many times a pixel is wider than high.
        colors: What its numbers mean.
    """

    codec: Codec
    encoder: Encoder
    quality: str
    width: int
    height: int
    rate: Fraction
    time_base: Fraction
    aspect: Fraction
    colors: Colors


class SegmentWriter:
    """Encodes frames into a file, which is whole once `close` has returned. For one thread.

    Args:
        path: The file.
        encoding: How.

    Attributes:
        start: When the first frame is shown, in the film's time base.
        times: When each frame is shown after that, in the order in which they are decoded.
        duration: For how long the last one is.

    Raises:
        FilmError: The file or the encoder cannot be opened.
    """

    def __init__(self, path: Path, encoding: Encoding) -> None:
        self._encoding = encoding
        self._converter = Converter(encoding.colors)
        self.start = self.duration = 0
        self.times: list[int] = []
        self.frames = 0
        encoder, colors = encoding.encoder, encoding.colors
        try:
            self._container = av.open(str(path.absolute()), "w", format=encoding.codec.segments)
            stream = self._container.add_stream(encoder.name, encoding.rate)
            assert isinstance(stream, av.VideoStream)
            self._stream, context = stream, stream.codec_context
            context.width, context.height = encoding.width, encoding.height
            context.pix_fmt = encoder.pixels
            context.options = encoder.all_options(encoding.quality)
            context.thread_type = "AUTO"  # type: ignore[assignment]
            context.sample_aspect_ratio = encoding.aspect
            context.time_base = stream.time_base = encoding.time_base
            context.colorspace, context.color_range = (
                colors.matrix,
                FULL if colors.full else LIMITED,
            )
            context.color_primaries, context.color_trc = colors.primaries, colors.transfer
            context.open()
        except FAULTS as exc:
            raise FilmError(f"the encoder {encoder.name} cannot be used: {reason(exc)}") from exc

    def write(self, pixels: NDArray[np.uint8], pts: int, duration: int) -> None:
        """Encode a frame.

        Args:
            pixels: [H, W, 3] uint8 RGB; what is beyond the size of the encoding is cut off.
            pts: When it is shown, in the film's time base; later than the one before.
            duration: For how long, in the film's time base.

        Raises:
            FilmError: It cannot be encoded or written.
        """
        encoding = self._encoding
        if not self.frames:
            self.start = pts
        try:
            frame = self._converter.from_rgb(
                pixels[: encoding.height, : encoding.width], encoding.encoder.pixels
            )
            frame.pts, frame.time_base = pts - self.start, encoding.time_base
            self._mux(frame)
        except FAULTS as exc:
            raise FilmError(f"a part of it cannot be written: {reason(exc)}") from exc
        self.frames += 1
        self.duration = duration

    def close(self) -> None:
        """Complete the file.

        Raises:
            FilmError: It cannot be written, or the encoder has lost a frame.
        """
        try:
            self._mux(None)
            self._container.close()
        except FAULTS as exc:
            raise FilmError(f"a part of it cannot be written: {reason(exc)}") from exc
        if len(self.times) != self.frames:
            raise FilmError(
                f"the encoder made {len(self.times)} frames of {self.frames} of a part of it"
            )

    def discard(self) -> None:
        """Give the file up."""
        with suppress(*FAULTS):  # its owner deletes what cannot be completed
            self._container.close()

    def _mux(self, frame: av.VideoFrame | None) -> None:
        for packet in self._stream.encode(frame):
            assert packet.pts is not None
            self.times.append(round(packet.pts * packet.time_base / self._encoding.time_base))
            self._container.mux(packet)


def open_segment(path: Path) -> av.container.InputContainer:
    """Open a file that SegmentWriter has completed.

    Raises:
        FilmError: It is damaged.
    """
    try:
        return av.open(str(path.absolute()))
    except FAULTS as exc:
        raise FilmError(f"a finished part of it ('{path.name}') is damaged: {reason(exc)}") from exc
