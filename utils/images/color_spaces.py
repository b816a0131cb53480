"""Color spaces that a file names without embedding a profile, as ICC profiles."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PQ, HLG = 16, 18  # transfer characteristics of HDR (ITU-T H.273)
SRGB_CURVE = (2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045)
_FIXED = 65536  # one, as s15Fixed16

Point = tuple[float, float]  # chromaticities x, y
_D65, _C, _D50 = (0.3127, 0.3290), (0.310, 0.316), (0.9642, 1.0, 0.8249)
# Red, green, blue and white, by the code points of ITU-T H.273.
_PRIMARIES: Mapping[int, tuple[Point, Point, Point, Point]] = {
    1: ((0.640, 0.330), (0.300, 0.600), (0.150, 0.060), _D65),
    4: ((0.670, 0.330), (0.210, 0.710), (0.140, 0.080), _C),
    5: ((0.640, 0.330), (0.290, 0.600), (0.150, 0.060), _D65),
    6: ((0.630, 0.340), (0.310, 0.595), (0.155, 0.070), _D65),
    7: ((0.630, 0.340), (0.310, 0.595), (0.155, 0.070), _D65),
    8: ((0.681, 0.319), (0.243, 0.692), (0.145, 0.049), _C),
    9: ((0.708, 0.292), (0.170, 0.797), (0.131, 0.046), _D65),
    11: ((0.680, 0.320), (0.265, 0.690), (0.150, 0.060), (0.314, 0.351)),
    12: ((0.680, 0.320), (0.265, 0.690), (0.150, 0.060), _D65),
    22: ((0.630, 0.340), (0.295, 0.605), (0.155, 0.077), _D65),
}
# The curves of video describe cameras; its numbers are displayed like sRGB's, as in films.
_CURVES: Mapping[int, tuple[float, ...]] = {
    **dict.fromkeys((1, 6, 7, 13, 14, 15), SRGB_CURVE),
    4: (2.2,),
    5: (2.8,),
    8: (1.0,),
}
_BRADFORD = np.array(
    [[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]]
)


@dataclass(frozen=True, slots=True)
class ColorSpace:
    """A color space of three primaries, a white and one curve.

    Attributes:
        primaries: Chromaticities of red, green, blue and white.
        curve: The parameters of an ICC parametric curve: a power, or the five numbers of type 3.
    """

    primaries: tuple[Point, Point, Point, Point]
    curve: tuple[float, ...]

    def profile(self, *, gray: bool) -> bytes | None:
        """Build an ICC profile (ICC.1:2010), RGB or gray; None if the primaries span no space."""
        kind = 3 if len(self.curve) > 1 else 0
        curve = struct.pack(">4s4xH2x", b"para", kind) + _numbers(*self.curve)
        tags = {
            b"desc": _text("Colors of the file"),
            b"cprt": _text("No copyright"),
            b"wtpt": _xyz(_D50),
        }
        if gray:
            tags[b"kTRC"] = curve
        else:
            matrix = self._to_xyz()
            if matrix is None:
                return None
            names = (b"rXYZ", b"gXYZ", b"bXYZ")
            tags |= {name: _xyz(column) for name, column in zip(names, matrix.T, strict=True)}
            tags |= dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), curve)
        return _file(b"GRAY" if gray else b"RGB ", tags)

    def _to_xyz(self) -> NDArray[np.float64] | None:
        """Compute the matrix from linear light to XYZ under D50.

        Return None if the primaries do not span a space, or are too extreme to compute with.
        """
        if min(y for _, y in self.primaries) <= 0:
            return None
        *columns, white = (np.array([x / y, 1, (1 - x - y) / y]) for x, y in self.primaries)
        colors = np.stack(columns, -1)
        if abs(float(np.linalg.det(colors))) < 1e-4:
            return None
        matrix = colors * np.linalg.solve(colors, white)
        ratio = (_BRADFORD @ np.array(_D50)) / (_BRADFORD @ white)
        adapted = np.linalg.inv(_BRADFORD) @ (ratio[:, None] * _BRADFORD) @ matrix
        return adapted if float(np.abs(adapted).max()) < 100 else None


SRGB = ColorSpace(_PRIMARIES[1], SRGB_CURVE)
ADOBE_RGB = ColorSpace(((0.64, 0.33), (0.21, 0.71), (0.15, 0.06), _D65), (563 / 256,))


def from_code_points(primaries: int, transfer: int) -> ColorSpace | None:
    """Return the color space of code points of ITU-T H.273, or None."""
    if primaries not in _PRIMARIES or transfer not in _CURVES:
        return None
    return ColorSpace(_PRIMARIES[primaries], _CURVES[transfer])


def from_gamma(gamma: float, chromaticities: tuple[float, ...] | None) -> ColorSpace:
    """Build the color space of a PNG's gAMA and cHRM.

    Args:
        gamma: The exponent from light to numbers, above 0. Within 5 % of 1/2.2 means sRGB, as in
            browsers.
        chromaticities: x and y of white, red, green and blue; None for sRGB's.
    """
    curve = SRGB_CURVE if abs(gamma * 2.2 - 1) < 0.05 else (1 / gamma,)
    if chromaticities is None:
        return ColorSpace(SRGB.primaries, curve)
    wx, wy, rx, ry, gx, gy, bx, by = chromaticities
    return ColorSpace(((rx, ry), (gx, gy), (bx, by), (wx, wy)), curve)


def _numbers(*values: float) -> bytes:
    return struct.pack(f">{len(values)}i", *(round(float(value) * _FIXED) for value in values))


def _xyz(values: NDArray[np.float64] | tuple[float, ...]) -> bytes:
    return b"XYZ \0\0\0\0" + _numbers(*values)


def _text(text: str) -> bytes:
    data = text.encode("utf-16-be")
    return struct.pack(">4s4xII4sII", b"mluc", 1, 12, b"enUS", len(data), 28) + data


def _file(space: bytes, tags: Mapping[bytes, bytes]) -> bytes:
    start, entries, body = 132 + 12 * len(tags), b"", b""
    for name, data in tags.items():
        entries += struct.pack(">4sII", name, start + len(body), len(data))
        body += data + bytes(-len(data) % 4)
    header = struct.pack(
        ">I4xI4s4s4s6H4s28x",
        start + len(body),
        0x04300000,  # version 4.3
        b"mntr",
        space,
        b"XYZ ",
        *(2026, 1, 1, 0, 0, 0),
        b"acsp",
    )
    header = (header + _numbers(*_D50)).ljust(128, b"\0")
    return header + struct.pack(">I", len(tags)) + entries + body
