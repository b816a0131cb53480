"""Decodes the frames of films, past damaged packets, and says what went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from utils.pyav import av
from utils.text import printable

# What reading and writing films raises: PyAV's errors, among them OSErrors of FFmpeg, and those of
# the system.
FAULTS = (av.error.FFmpegError, OSError, ValueError)


TIMEOUTS_S = [5.0, 5.0]  # to open an address, and to read from it

# Decoders that read the transparency of these codecs, which FFmpeg's own leave out.
_TRANSPARENT = {"vp8": "libvpx", "vp9": "libvpx-vp9"}


@dataclass(slots=True)
class Damage:
    """What went wrong while a film was decoded.

    Attributes:
        damaged: How many packets could not be decoded.
        fault: Why decoding ended before the film did; "" if it did not.
    """

    damaged: int = 0
    fault: str = ""


def reason(exc: Exception) -> str:
    """What went wrong, without the path that PyAV adds."""
    text = getattr(exc, "strerror", None) or str(exc)
    return printable(text[:1].lower() + text[1:] if text else type(exc).__name__)


def open_container(where: str) -> av.container.InputContainer:
    """Open what FFmpeg plays: an absolute path, or an address. Raises one of FAULTS."""
    opening, reading = TIMEOUTS_S
    return av.open(where, timeout=(opening, reading) if "://" in where else None)


def decoded(
    container: av.container.InputContainer, stream: av.VideoStream, damage: Damage
) -> Iterator[av.VideoFrame]:
    """Decode from where the container is; a fault of the file ends it, one of a packet does not.

    Args:
        container: The film.
        stream: Its picture.
        damage: Receives what goes wrong.
    """
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
    if damage.fault:  # otherwise the last packet has emptied the decoder
        try:
            yield from decoder.decode(None)
        except av.error.FFmpegError:
            damage.damaged += 1


def _decoder_of(stream: av.VideoStream) -> av.VideoCodecContext:
    """Return the decoder of a stream; for WebM's transparency a new one, since FFmpeg has it in a
    decoder that it does not choose by itself."""
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
