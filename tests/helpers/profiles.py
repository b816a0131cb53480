"""Handmade color profiles with curves and a matrix."""

from __future__ import annotations

import struct

import numpy as np

# Linear light to XYZ under D50: Display P3 and Adobe RGB (1998).
P3 = ((0.51512, 0.29198, 0.15710), (0.24120, 0.69225, 0.06657), (-0.00105, 0.04189, 0.78407))
ADOBE = ((0.60974, 0.20528, 0.14919), (0.31111, 0.62567, 0.06322), (0.01947, 0.06087, 0.74457))
SRGB = ((0.4360747, 0.3850649, 0.1430804), (0.2225045, 0.7168786, 0.0606169),
        (0.0139322, 0.0971045, 0.7141733))  # fmt: skip


def gamma(value: float) -> bytes:
    return struct.pack(">4s4xIH2x", b"curv", 1, round(value * 256))


def srgb_curve() -> bytes:
    """Return the curve of sRGB and Display P3, as parameters."""
    numbers = (2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045)
    return struct.pack(">4s4xH2x5i", b"para", 3, *(round(n * 65536) for n in numbers))


def table(points: int) -> bytes:
    """Return a table of points on a power curve of 1.8."""
    values = (np.linspace(0, 1, points) ** 1.8 * 65535).round().astype(int)
    data = struct.pack(f">4s4xI{points}H", b"curv", points, *values)
    return data + bytes(-len(data) % 4)


def profile(
    matrix: tuple[tuple[float, float, float], ...],
    curve: bytes,
    space: bytes = b"RGB ",
    further: dict[bytes, bytes] | None = None,
) -> bytes:
    """Return a display profile in the form that files embed."""

    def xyz(*values: float) -> bytes:
        return struct.pack(">4s4x3i", b"XYZ ", *(round(value * 65536) for value in values))

    name = b"made by hand\0"
    described = struct.pack(">4s4xI", b"desc", len(name)) + name + bytes(4 + 4 + 2 + 1 + 67)
    columns = zip(*matrix, strict=True)
    tags = {
        b"desc": described + bytes(-len(described) % 4),
        b"wtpt": xyz(0.9642, 1.0, 0.8249),
        **{
            name: xyz(*column)
            for name, column in zip((b"rXYZ", b"gXYZ", b"bXYZ"), columns, strict=True)
        },
        **dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), curve),
        **(further or {}),
    }
    offset, entries, body = 128 + 4 + 12 * len(tags), b"", b""
    for name, data in tags.items():
        entries += struct.pack(">4sII", name, offset + len(body), len(data))
        body += data
    head = struct.pack(
        ">I4sI4s4s4s12s4s4sI4s4s8sI3i4s16s28x", offset + len(body), bytes(4), 0x02400000, b"mntr",
        space, b"XYZ ", struct.pack(">6H", 2026, 1, 1, 0, 0, 0), b"acsp", bytes(4), 0, bytes(4),
        bytes(4), bytes(8), 0, 63190, 65536, 54061, bytes(4), bytes(16),
    )  # fmt: skip
    return head + struct.pack(">I", len(tags)) + entries + body
