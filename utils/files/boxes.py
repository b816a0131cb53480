"""Finds boxes in files of the ISO base media file format: AVIF, HEIC, MP4."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

Place = tuple[int, int]  # start and end of the content of a box


def boxes(file: BinaryIO, place: Place) -> Iterator[tuple[bytes, Place]]:
    """Yield each box's kind and place; raise struct.error if the file ends within a box's head."""
    start, end = place
    while start + 8 <= end:
        file.seek(start)
        length, kind = struct.unpack(">I4s", file.read(8))
        head = 8
        if length == 1:
            (length,), head = struct.unpack(">Q", file.read(8)), 16
        length = length or end - start
        if length < head:
            return
        yield kind, (start + head, min(start + length, end))
        start += length


def box(file: BinaryIO, place: Place | None, *kinds: bytes, skip: int = 0) -> Place | None:
    """Return the place of a box's content, by the kinds from the outermost box to itself, or None.

    The first box of each kind is entered. `skip` is the bytes of `place` before its first box.
    """
    for kind in kinds:
        if place is None:
            return None
        inside = boxes(file, (place[0] + skip, place[1]))
        place, skip = next((found for name, found in inside if name == kind), None), 0
    return place


def whole(file: BinaryIO) -> Place:
    return 0, file.seek(0, 2)


def content(file: BinaryIO, place: Place) -> bytes:
    file.seek(place[0])
    return file.read(place[1] - place[0])
