"""Encoding of animated WebP files, in which each frame is a complete picture (RFC 9649, 2.7)."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from io import BytesIO
from typing import BinaryIO

import numpy as np
from PIL import Image

from app.export.film.fault import FilmError
from app.export.film.info import StyledFilmFrame
from utils.images.writing import off_white
from utils.translation.texts import tr

MOST_SIDE = 16383  # pixels
LONGEST = (1 << 24) - 1  # of a frame, in milliseconds
MOST_PLAYS = 65535
MOST_BYTES = 1 << 32
_MOVES, _TRANSPARENT = 0x02, 0x10  # flags of the file
_REPLACES = 0x02  # flag of a frame: do not blend it with the canvas
_METHOD = 2  # of libwebp; its default of 4 takes 1.5 times as long to save 2 to 9 %


def coded_frame(frame: StyledFilmFrame, quality: int) -> bytes:
    """Encode a frame; the quality is 0 to 100, as for still pictures.

    Returns:
        A byte that is 1 if the frame has transparency, then the chunks of the picture.
    """
    pixels = frame.pixels
    if frame.alpha is not None:
        pixels = np.dstack([off_white(pixels, frame.alpha), frame.alpha])
    file = BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(
        file, "WEBP", quality=quality, method=_METHOD
    )
    return bytes([frame.alpha is not None]) + _picture(file.getvalue())


def write_file(
    file: BinaryIO, size: tuple[int, int], plays: int, frames: Iterable[tuple[bytes, int]]
) -> None:
    """Write a file of `size` (width, height) with delays in milliseconds.

    `plays` is how often the animation plays; 0 is an endless loop.

    Raises:
        FilmError: If the file is too long.
    """
    file.write(bytes(_head(0, size, 0)))
    file.write(struct.pack("<4sIIH", b"ANIM", 6, 0, min(plays, MOST_PLAYS)))
    transparent = 0
    for coded, delay in frames:
        transparent |= coded[0]
        place = struct.pack("<IIII", 0, 0, size[0] - 1, size[1] - 1)
        sides = place[0:3] + place[4:7] + place[8:11] + place[12:15]
        shown = min(delay, LONGEST).to_bytes(3, "little")
        picture = sides + shown + bytes([_REPLACES]) + coded[1:]
        file.write(struct.pack("<4sI", b"ANMF", len(picture)) + picture)
    length = file.tell()
    if length > MOST_BYTES:
        raise FilmError(tr("it needs more than the 4 GB that a WebP file can hold"))
    file.seek(0)
    file.write(_head(length, size, _TRANSPARENT if transparent else 0))


def _head(length: int, size: tuple[int, int], flags: int) -> bytes:
    """Build the chunks before the first frame; `length` is the whole file's length in bytes."""
    riff = struct.pack("<4sI4s", b"RIFF", max(0, length - 8), b"WEBP")
    sides = b"".join((side - 1).to_bytes(3, "little") for side in size)
    return riff + struct.pack("<4sIB3x", b"VP8X", 10, _MOVES | flags) + sides


def _picture(file: bytes) -> bytes:
    """Extract the picture and transparency chunks of a still file."""
    at, chunks = 12, b""
    while at < len(file):
        name, length = struct.unpack_from("<4sI", file, at)
        end = at + 8 + length + length % 2
        if name in (b"ALPH", b"VP8 ", b"VP8L"):
            chunks += file[at:end]
        at = end
    return chunks
