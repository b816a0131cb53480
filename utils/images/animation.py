"""Reads how a GIF or WebP file moves, its delays and how often it is played, without its pixels."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from utils.files.bounded import BoundedFile, TooManyPiecesError

GIF_UNIT, WEBP_UNIT = Fraction(1, 100), Fraction(1, 1000)  # seconds
_GIF_HEAD, _GIF_IMAGE = 13, 9  # bytes of the screen's descriptor, and of that of an image
_EXTENSION, _IMAGE, _CONTROL, _APPLICATION = 0x21, 0x2C, 0xF9, 0xFF
_LOOPING = (b"NETSCAPE2.0", b"ANIMEXTS1.0")
_MOVES = 2  # of the flags of a WebP file


@dataclass(frozen=True, slots=True)
class Animation:
    """How a file moves.

    Attributes:
        delays: For how long each frame is shown, in `unit`; 0 where the file does not tell.
        unit: In seconds.
        plays: How often it is played; 0 for ever.
    """

    delays: tuple[int, ...]
    unit: Fraction
    plays: int


def read_animation(path: Path) -> Animation | None:
    """Read how a file moves, up to where it is damaged.

    Args:
        path: Any file.

    Returns:
        None of a file that is no GIF or WebP, and of one with a single frame.

    Raises:
        OSError: It cannot be read.
    """
    return _read(path, None)


def is_animation(path: Path) -> bool:
    """Whether a file is a GIF or WebP with several frames. Raises OSError."""
    return _read(path, 2) is not None


def _read(path: Path, most: int | None) -> Animation | None:
    """Read no more than `most` frames."""
    delays: list[int] = []
    plays, unit = [1], GIF_UNIT
    try:
        with BoundedFile(path) as file:
            head = file.read(_GIF_HEAD)
            file.seek(0)
            if head[:4] == b"GIF8":
                found = _gif_delays(file, plays)
            elif head[:4] == b"RIFF" and head[8:12] == b"WEBP":
                unit, found = WEBP_UNIT, _webp_delays(file, plays)
            else:
                return None
            for delay in found:
                delays.append(delay)
                if len(delays) == most:
                    break
    except (TooManyPiecesError, struct.error, IndexError):  # it is damaged from here on
        pass
    return Animation(tuple(delays), unit, plays[0]) if len(delays) > 1 else None


def _gif_delays(file: BoundedFile, plays: list[int]) -> Iterator[int]:
    """The delay of each image of a GIF (GIF89a, 18 to 26)."""
    flags = file.read(_GIF_HEAD)[10]
    _skip_palette(file, flags)
    delay = 0
    while kind := file.read(1):
        if kind[0] == _EXTENSION:
            label = file.read(1)[0]
            first = _block(file)
            if label == _CONTROL:
                _, delay, _ = struct.unpack("<BHB", first)
            elif label == _APPLICATION and first in _LOOPING:
                _, again = struct.unpack("<BH", _block(file))
                plays[0] = again + 1 if again else 0
            _skip_blocks(file, ended=not first)
        elif kind[0] == _IMAGE:
            yield delay
            delay = 0
            _skip_palette(file, file.read(_GIF_IMAGE)[8])
            file.seek(1, 1)  # the width of codes
            _skip_blocks(file)
        else:  # the trailer, or damage
            return


def _skip_palette(file: BoundedFile, flags: int) -> None:
    if flags & 0x80:
        file.seek(3 << ((flags & 7) + 1), 1)


def _block(file: BoundedFile) -> bytes:
    return file.read(file.read(1)[0])


def _skip_blocks(file: BoundedFile, *, ended: bool = False) -> None:
    while not ended:
        length = file.read(1)[0]
        file.seek(length, 1)
        ended = not length


def _webp_delays(file: BoundedFile, plays: list[int]) -> Iterator[int]:
    """The delay of each frame of a WebP file (RFC 9649, 2.7.1.1)."""
    file.seek(12)
    while head := file.read(8):
        name, length = struct.unpack("<4sI", head)
        begun = file.tell()
        if name == b"VP8X" and not file.read(1)[0] & _MOVES:
            return
        if name == b"ANIM":
            _, plays[0] = struct.unpack("<IH", file.read(6))
        elif name == b"ANMF":
            (delay,) = struct.unpack("<12x3sx", file.read(16))
            yield int.from_bytes(delay, "little")
        elif name in (b"VP8 ", b"VP8L"):
            return
        file.seek(begun + length + length % 2)
