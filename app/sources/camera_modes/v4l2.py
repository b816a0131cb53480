"""A camera's sizes and rates on Linux, by linux/videodev2.h."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from collections.abc import Iterator

Sizes = dict[tuple[int, int], tuple[float, ...]]  # a size, and its rates in frames per second

_FORMAT = struct.Struct("=3I32s5I")  # v4l2_fmtdesc: index, type, flags, description, format, ...
_SIZE = struct.Struct("=3I6I2I")  # v4l2_frmsizeenum: index, format, type, a union, reserved
_RATE = struct.Struct("=5I6I2I")  # v4l2_frmivalenum: index, format, size, type, a union, reserved
_CAPTURE = 1  # V4L2_BUF_TYPE_VIDEO_CAPTURE
_DISCRETE = 1  # V4L2_FRMSIZE_TYPE_DISCRETE and V4L2_FRMIVAL_TYPE_DISCRETE
_MOST = 256  # answers of one kind, in case a driver never ends


def _request(number: int, content: struct.Struct) -> int:
    """Return _IOWR('V', number, content)."""
    return 3 << 30 | content.size << 16 | ord("V") << 8 | number


ENUM_FORMATS = _request(2, _FORMAT)
ENUM_SIZES = _request(74, _SIZE)
ENUM_RATES = _request(75, _RATE)


def sizes_of(device: str, usual: tuple[tuple[int, int], ...]) -> Sizes:
    """Return the sizes of "/dev/video0" with their rates.

    MJPG is requested first: its sizes if the camera has it, otherwise the sizes for all formats. If
    a driver reports a range, the result has the `usual` [width, height] within it.

    Raises:
        OSError: If the device cannot be opened, or is not a camera.
    """
    file = os.open(device, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        formats = list(_formats(file))
        mjpg = int.from_bytes(b"MJPG", "little")
        found: dict[tuple[int, int], set[float]] = {}
        for each in [mjpg] if mjpg in formats else formats:
            for size in _sizes(file, each, usual):
                found.setdefault(size, set()).update(_rates(file, each, size))
    finally:
        os.close(file)
    return {size: tuple(sorted(rates)) for size, rates in sorted(found.items())}


def _answers(file: int, request: int, content: struct.Struct, *asked: int) -> Iterator[list[int]]:
    """Yield the fields of every answer of an enumeration, from the first index on."""
    for index in range(_MOST):
        words = [index, *asked]
        answer = bytearray(struct.pack(f"={len(words)}I", *words).ljust(content.size, b"\0"))
        try:
            fcntl.ioctl(file, request, answer)
        except OSError as exc:
            if exc.errno in (errno.EINVAL, errno.ENOTTY):  # no more, or none at all
                return
            raise
        yield list(content.unpack(answer))


def _formats(file: int) -> Iterator[int]:
    for answer in _answers(file, ENUM_FORMATS, _FORMAT, _CAPTURE):
        yield answer[4]


def _sizes(file: int, form: int, usual: tuple[tuple[int, int], ...]) -> Iterator[tuple[int, int]]:
    for answer in _answers(file, ENUM_SIZES, _SIZE, form):
        if answer[2] == _DISCRETE:
            yield answer[3], answer[4]
            continue
        least_w, most_w, step_w, least_h, most_h, step_h = answer[3:9]
        for width, height in usual:
            if _within(width, least_w, most_w, step_w) and _within(height, least_h, most_h, step_h):
                yield width, height
        return  # a range is the only answer


def _within(side: int, least: int, most: int, step: int) -> bool:
    return least <= side <= most and (side - least) % (step or 1) == 0


def _rates(file: int, form: int, size: tuple[int, int]) -> Iterator[float]:
    for answer in _answers(file, ENUM_RATES, _RATE, form, *size):
        if answer[4] != _DISCRETE:
            return  # a range of rates: the driver accepts any
        numerator, denominator = answer[5:7]  # of a frame's duration, in seconds
        if numerator and denominator:
            yield round(denominator / numerator, 2)
