"""Reads the delays and plays of a GIF, WebP, PNG or AVIF animation, without its pixels."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path

from PIL import Image

from utils.files.bounded import BoundedFile, TooManyPiecesError
from utils.files.boxes import Place, box, content, whole

GIF_UNIT, WEBP_UNIT = Fraction(1, 100), Fraction(1, 1000)  # seconds
PNG_UNIT = WEBP_UNIT  # delays in any fraction of a second are rounded to it
_PNG = b"\x89PNG\r\n\x1a\n"
_MOST_FRAMES = 100_000  # of an AVIF, which may claim any number
_FOREVER = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF  # unknown durations
_GIF_HEAD, _GIF_IMAGE = 13, 9  # bytes of the screen's and of an image's descriptor
_EXTENSION, _IMAGE, _CONTROL, _APPLICATION = 0x21, 0x2C, 0xF9, 0xFF
_LOOPING = (b"NETSCAPE2.0", b"ANIMEXTS1.0")
_MOVES = 2  # bit of the flags of a WebP file


@dataclass(frozen=True, slots=True)
class Animation:
    """The timing of an animation: `delays` in `unit`, itself in seconds; 0 if not stated.

    `plays` is 0 for an endless loop.
    """

    delays: tuple[int, ...]
    unit: Fraction
    plays: int


def read_animation(path: Path) -> Animation | None:
    """Read the timing of a GIF, WebP, PNG or AVIF, up to the point of any damage.

    Return None for other files, and for a single frame.

    Raises:
        OSError: If the file cannot be read.
    """
    return _read(path, None)


def is_animation(path: Path) -> bool:
    """Return whether a file is a GIF, WebP, PNG or AVIF with several frames. Raise OSError."""
    return _read(path, 2) is not None


def first_frame(image: Image.Image) -> int:
    """Return Pillow's number of an animation's first frame.

    A PNG may begin with a picture for programs that do not play animations.
    """
    return int(bool(getattr(image, "default_image", False)))


def _read(path: Path, most: int | None) -> Animation | None:
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
            elif head[:8] == _PNG:
                unit, found = PNG_UNIT, _png_delays(file, plays)
            elif head[4:12] == b"ftypavis":
                unit, found = _avif_delays(file, plays)
            else:
                return None
            for delay in found:
                delays.append(delay)
                if len(delays) == most:
                    break
    except (TooManyPiecesError, struct.error, IndexError):  # the file is damaged from here on
        pass
    return Animation(tuple(delays), unit, plays[0]) if len(delays) > 1 else None


def _gif_delays(file: BoundedFile, plays: list[int]) -> Iterator[int]:
    """Yield the delay of each image of a GIF (GIF89a, 18 to 26)."""
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
            file.seek(1, 1)  # skips the code width
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
    """Yield the delay of each frame of a WebP file (RFC 9649, 2.7.1.1)."""
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


def _png_delays(file: BoundedFile, plays: list[int]) -> Iterator[int]:
    """Yield the delay of each frame of a PNG (third edition, 11.3.6)."""
    file.seek(len(_PNG))
    moves = False
    while head := file.read(8):
        length, name = struct.unpack(">I4s", head)
        begun = file.tell()
        if name == b"acTL":
            count, plays[0] = struct.unpack(">II", file.read(8))
            moves = count > 1
        elif name == b"IEND" or (name == b"IDAT" and not moves):
            return
        elif name == b"fcTL" and moves:
            delay, of_second = struct.unpack(">20xHH", file.read(24))
            yield round(delay / (of_second or 100) / PNG_UNIT)
        file.seek(begun + length + 4)


def _avif_delays(file: BoundedFile, plays: list[int]) -> tuple[Fraction, Iterator[int]]:
    """Return the unit and the delay of each frame of an AVIF (ISO/IEC 14496-12)."""
    track = box(file, whole(file), b"moov", b"trak")
    header = box(file, track, b"mdia", b"mdhd")
    table = box(file, track, b"mdia", b"minf", b"stbl", b"stts")
    if header is None or table is None:
        return WEBP_UNIT, iter(())
    timed, listed = content(file, header), content(file, table)
    (scale,) = struct.unpack_from(">I", timed, 20 if timed[0] else 12)
    if not scale:
        return WEBP_UNIT, iter(())
    plays[0] = _avif_plays(file, track)
    (entries,) = struct.unpack_from(">I", listed, 4)
    delays = (
        delta
        for n in range(entries)
        for count, delta in (struct.unpack_from(">II", listed, 8 + 8 * n),)
        for _ in range(count)
    )
    return Fraction(1, scale), islice(delays, _MOST_FRAMES)


def _avif_plays(file: BoundedFile, track: Place | None) -> int:
    """Return an AVIF's number of plays, by its edit list; 0 if endless or unknown."""
    header, edits = box(file, track, b"tkhd"), box(file, track, b"edts", b"elst")
    if header is None or edits is None:
        return 0
    track_header, listed = content(file, header), content(file, edits)
    (whole_time,) = struct.unpack_from(
        ">Q" if track_header[0] else ">I", track_header, 28 if track_header[0] else 20
    )
    (once,) = struct.unpack_from(">Q" if listed[0] else ">I", listed, 8)
    if not listed[3] & 1:  # it does not repeat
        return 1
    return 0 if whole_time in _FOREVER or not once else max(1, -(-whole_time // once))
