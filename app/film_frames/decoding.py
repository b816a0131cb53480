"""Decoding of film frames past damaged packets, with a record of the faults."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from utils.pyav import av
from utils.text import printable

# Exceptions of reading and writing films: PyAV's errors, some of which are OSErrors, and the
# system's.
FAULTS = (av.error.FFmpegError, OSError, ValueError)


TIMEOUTS_S = [5.0, 5.0]  # to open an address, and to read from it

# Decoders that read the transparency of these codecs, which FFmpeg's own decoders omit.
_TRANSPARENT = {"vp8": "libvpx", "vp9": "libvpx-vp9"}


@dataclass(slots=True)
class Damage:
    """Faults found while decoding a film.

    Attributes:
        damaged: How many packets could not be decoded.
        fault: Why decoding ended before the film did; "" if it did not.
    """

    damaged: int = 0
    fault: str = ""


def reason(exc: Exception) -> str:
    """Return the fault without the path that PyAV adds."""
    text = getattr(exc, "strerror", None) or str(exc)
    return printable(text[:1].lower() + text[1:] if text else type(exc).__name__)


def open_container(where: str) -> av.container.InputContainer:
    """Open an absolute path or an address with FFmpeg; raises one of FAULTS."""
    opening, reading = TIMEOUTS_S
    return av.open(where, timeout=(opening, reading) if "://" in where else None)


def decoded(
    container: av.container.InputContainer, stream: av.VideoStream, damage: Damage
) -> Iterator[av.VideoFrame]:
    """Decode from the container's position; only a fault of the file ends it, not of a packet."""
    packets, decoder = container.demux(stream), _decoder_of(stream)
    while True:
        try:
            packet = next(packets, None)
        except FAULTS as exc:
            damage.fault = reason(exc)
            packet = None
        if packet is None:
            break
        try:
            frames = decoder.decode(packet)
        except av.error.FFmpegError:
            damage.damaged += 1
            continue
        yield from frames
    if damage.fault:  # otherwise the last packet has flushed the decoder
        try:
            yield from decoder.decode(None)
        except av.error.FFmpegError:
            damage.damaged += 1


def _decoder_of(stream: av.VideoStream) -> av.VideoCodecContext:
    """Return the decoder of a stream.

    WebM's transparency needs a new one: FFmpeg supports it only in a decoder of the caller's
    choice.
    """
    usual = stream.codec_context
    name = _TRANSPARENT.get(usual.name)
    tags = {key.lower(): value for key, value in stream.metadata.items()}
    if name is None or tags.get("alpha_mode") != "1":
        return usual
    decoder: Any = av.VideoCodecContext.create(name, "r")
    decoder.extradata, decoder.options = usual.extradata, usual.options
    decoder.thread_type, decoder.thread_count = usual.thread_type, usual.thread_count
    decoder.colorspace, decoder.color_range = usual.colorspace, usual.color_range
    decoder.color_primaries, decoder.color_trc = usual.color_primaries, usual.color_trc
    return decoder
