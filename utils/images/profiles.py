"""Converts pixels between sRGB and the color profile of a file."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms

ROWS = 256  # converted at once
D = TypeVar("D", bound=np.uint8 | np.uint16)
_Floats = NDArray[np.float32]

_NEARLY = 1  # of 255: a profile that differs from sRGB by less is sRGB
_CODES = 65536  # of 16 bits
_FIXED = 65536.0  # one, as a number with 16 fractional bits (s15Fixed16)
_HEADER, _TAG, _MOST_TAGS = 128, 12, 200
_SPACE = slice(16, 20)  # position of the color space in the header
_CONNECTION = slice(20, 24)  # position of the connection space, XYZ or Lab, in the header
# Linear sRGB to XYZ under D50, the white of profiles (IEC 61966-2-1, Bradford).
_SRGB_XYZ = np.array(
    [
        [0.4360747, 0.3850649, 0.1430804],
        [0.2225045, 0.7168786, 0.0606169],
        [0.0139322, 0.0971045, 0.7141733],
    ]
)
_PARAMETERS = (1, 3, 4, 5, 7)  # count of numbers in a parametric curve of each type


@dataclass(frozen=True, slots=True)
class ColorProfile:
    """An RGB profile other than sRGB that supports conversion in both directions.

    `deep` is whether it converts 16 bits per channel; tables for 8 bits cannot.
    """

    data: bytes
    deep: bool

    def to_srgb(self, pixels: NDArray[D]) -> NDArray[D]:
        """Convert pixels [H, W, 3], uint8 or (if `deep`) uint16, to sRGB."""
        return self._converted(pixels, inward=True)

    def from_srgb(self, pixels: NDArray[D]) -> NDArray[D]:
        return self._converted(pixels, inward=False)

    def _converted(self, pixels: NDArray[D], *, inward: bool) -> NDArray[D]:
        out = np.empty_like(pixels)
        for top in range(0, len(pixels), ROWS):
            band = pixels[top : top + ROWS]
            if band.dtype == np.uint8:
                converted = _eight(self.data, inward).apply(np.asarray(band, np.uint8))
            else:
                converted = _sixteen(self.data, inward).apply(np.asarray(band, np.uint16))
            out[top : top + ROWS] = converted
        return out


@lru_cache(maxsize=16)
def color_profile(data: bytes) -> ColorProfile | None:
    """Read an RGB profile; None if it is sRGB, another kind, damaged or not convertible to."""
    steps = np.linspace(0, 255, 9).round().astype(np.uint8)
    colors = np.stack(np.meshgrid(steps, steps, steps), -1).reshape(27, 27, 3)
    try:
        if data[_SPACE] != b"RGB ":
            return None
        inward, outward = _eight(data, True).apply(colors), _eight(data, False).apply(colors)
    except (ImageCms.PyCMSError, OSError, ValueError):
        return None
    if max(np.abs(each.astype(int) - colors).max() for each in (inward, outward)) <= _NEARLY:
        return None
    return ColorProfile(data, _curves(data) is not None)


@dataclass(frozen=True, slots=True, eq=False)
class GrayProfile:
    """A gray profile, which results do not preserve.

    `table` is [65536] uint16, the gray of sRGB for each 16-bit code.
    """

    table: NDArray[np.uint16]
    deep = True

    def to_srgb(self, pixels: NDArray[D]) -> NDArray[D]:
        if pixels.dtype == np.uint16:
            return cast("NDArray[D]", self.table[pixels])
        eight = np.rint(self.table[::257] / 257).astype(np.uint8)
        return cast("NDArray[D]", eight[pixels])


@lru_cache(maxsize=4)
def gray_profile(data: bytes) -> GrayProfile | None:
    """Read a gray profile; return None if it is of another kind or damaged."""
    if data[_SPACE] != b"GRAY":
        return None
    try:
        tags = _tags(data)
        light = np.clip(_curve(tags[b"kTRC"]), 0, 1)
    except (KeyError, IndexError, ValueError, struct.error):
        return None
    if not np.isfinite(light).all():
        return None
    if data[_CONNECTION] == b"Lab ":  # the curve maps to lightness (CIE 1976)
        light = np.where(light > 0.08, ((light + 0.16) / 1.16) ** 3, light / 9.033)
    low, high = light * 12.92, 1.055 * np.maximum(light, 0.0031308) ** (1 / 2.4) - 0.055
    codes = np.where(light <= 0.0031308, low, high) * (_CODES - 1)
    return GrayProfile(np.rint(codes).astype(np.uint16))


def srgb_profile() -> bytes:
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


class _EightBits:
    """A converter of 8 bits per channel, by LittleCMS."""

    def __init__(self, transform: ImageCms.ImageCmsTransform) -> None:
        self._transform = transform

    def apply(self, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        image = Image.fromarray(np.ascontiguousarray(pixels))
        return np.asarray(self._transform.apply(image), np.uint8)


@lru_cache(maxsize=16)
def _eight(data: bytes, inward: bool) -> _EightBits:
    profile, srgb = ImageCms.ImageCmsProfile(io.BytesIO(data)), ImageCms.createProfile("sRGB")
    ends = (profile, srgb) if inward else (srgb, profile)
    return _EightBits(ImageCms.buildTransform(*ends, "RGB", "RGB"))


@dataclass(frozen=True, slots=True, eq=False)
class _SixteenBits:
    """A converter of 16 bits per channel: curves to linear light, a matrix, and curves back.

    Attributes:
        linear: [3, 65536], the light of each code of each channel, 0 to 1.
        matrix: From the light of one profile to the light of the other.
        codes: [3, 65536] uint16, the code for the square of each step of light, which makes the
            steps of dark light small.
    """

    linear: _Floats
    matrix: _Floats  # [3, 3]
    codes: NDArray[np.uint16]

    def apply(self, pixels: NDArray[np.uint16]) -> NDArray[np.uint16]:
        light = np.stack([self.linear[n][pixels[..., n]] for n in range(3)], -1)
        light = np.clip(light @ self.matrix.T, 0, 1, out=light)
        steps = np.rint(np.sqrt(light) * (_CODES - 1)).astype(np.uint16)
        return np.stack([self.codes[n][steps[..., n]] for n in range(3)], -1)


@lru_cache(maxsize=4)
def _sixteen(data: bytes, inward: bool) -> _SixteenBits:
    profile = _curves(data)
    assert profile is not None
    ends = (profile, _srgb()) if inward else (_srgb(), profile)
    (curves, to_xyz), (back, from_xyz) = ends
    steps = np.linspace(0, 1, _CODES) ** 2
    codes = np.stack([np.interp(steps, each, np.arange(_CODES)) for each in back])
    matrix = np.linalg.inv(from_xyz) @ to_xyz
    return _SixteenBits(
        curves.astype(np.float32), matrix.astype(np.float32), np.rint(codes).astype(np.uint16)
    )


def _srgb() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the curves [3, 65536] and the matrix of sRGB."""
    x = np.linspace(0, 1, _CODES)
    curve = np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)
    return np.stack([curve] * 3), _SRGB_XYZ


@lru_cache(maxsize=16)
def _curves(data: bytes) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the curves [3, 65536] and the matrix to XYZ of a matrix profile (ICC.1:2010, 8.3.3).

    None for any other profile, or a damaged one.
    """
    try:
        tags = _tags(data)
        if b"A2B0" in tags:  # tables, which take precedence
            return None
        columns = [_xyz(tags[name]) for name in (b"rXYZ", b"gXYZ", b"bXYZ")]
        curves = np.stack([_curve(tags[name]) for name in (b"rTRC", b"gTRC", b"bTRC")])
    except (KeyError, IndexError, ValueError, struct.error):
        return None
    matrix = np.array(columns).T
    sound = np.isfinite(curves).all() and (np.diff(curves) >= 0).all()
    if not sound or abs(float(np.linalg.det(matrix))) < 1e-4:
        return None
    return np.clip(curves, 0, 1), matrix


def _tags(data: bytes) -> Mapping[bytes, bytes]:
    (count,) = struct.unpack_from(">I", data, _HEADER)
    if count > _MOST_TAGS:
        raise ValueError
    entries = (struct.unpack_from(">4sII", data, _HEADER + 4 + _TAG * n) for n in range(count))
    return {name: data[start : start + length] for name, start, length in entries}


def _xyz(tag: bytes) -> tuple[float, float, float]:
    x, y, z = struct.unpack_from(">3i", tag, 8)
    return x / _FIXED, y / _FIXED, z / _FIXED


def _curve(tag: bytes) -> NDArray[np.float64]:
    """Return the light of each code, from a `curv` or a `para` tag (ICC.1:2010, 10.6 and 10.18)."""
    x = np.linspace(0, 1, _CODES)
    if tag[:4] == b"curv":
        (count,) = struct.unpack_from(">I", tag, 8)
        if count > _CODES:
            raise ValueError
        points = np.array(struct.unpack_from(f">{count}H", tag, 12), np.float64)
        if count == 0:
            return x
        if count == 1:
            return x ** (points[0] / 256)
        return np.interp(x, np.linspace(0, 1, count), points / (_CODES - 1))
    if tag[:4] != b"para":
        raise ValueError
    (kind,) = struct.unpack_from(">H", tag, 8)
    numbers = [n / _FIXED for n in struct.unpack_from(f">{_PARAMETERS[kind]}i", tag, 12)]
    g, a, b, c, d, e, f = (numbers + [0.0] * 7)[:7]
    if kind == 0:
        return x**g
    if a == 0:
        raise ValueError
    if kind < 3:  # a power above -b/a, and a constant below
        power = np.maximum(a * x + b, 0) ** g
        return np.where(x >= -b / a, power, 0) + (c if kind == 2 else 0)
    power = np.maximum(a * x + b, 0) ** g + e
    return np.where(x >= d, power, c * x + f)
