"""Decodes the frames of films, past damaged packets, and says what went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from utils.pyav import av
from utils.text import printable

# What reading and writing films raises: PyAV's errors, among them OSErrors of FFmpeg, and those of
# the system.
FAULTS = (av.error.FFmpegError, OSError, ValueError)


TIMEOUTS_S = [5.0, 5.0]  # to open an address, and to read from it


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


def moving_picture(container: av.container.InputContainer) -> av.VideoStream | None:
    """The picture of a film: its first video stream that is no cover and whose codec is known; None
    where there is none."""
    for stream in container.streams.video:
        cover = stream.disposition & av.stream.Disposition.attached_pic
        if not cover and stream.codec_context is not None:
            stream.thread_type = "AUTO"  # type: ignore[assignment]
            return stream
    return None


def decoded(
    container: av.container.InputContainer, stream: av.VideoStream, damage: Damage
) -> Iterator[av.VideoFrame]:
    """Decode from where the container is; a fault of the file ends it, one of a packet does not.

    Args:
        container: The film.
        stream: Its picture.
        damage: Receives what goes wrong.
    """
    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets, None)
        except FAULTS as exc:
            damage.fault = reason(exc)
            packet = None
        if packet is None:
            break
        try:
            frames = stream.decode(packet)
        except av.error.FFmpegError:
            damage.damaged += 1
            continue
        yield from frames
    if damage.fault:  # otherwise the last packet has emptied the decoder
        try:
            yield from stream.decode(None)
        except av.error.FFmpegError:
            damage.damaged += 1
