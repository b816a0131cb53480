"""Decides once how to interpret the numbers of a picture file, for every reader of them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

from PIL import Image

from utils.files.boxes import box, boxes, content, whole
from utils.images.color_spaces import (
    ADOBE_RGB,
    HLG,
    PQ,
    SRGB,
    ColorSpace,
    from_code_points,
    from_gamma,
)

# Exceptions that Pillow's readers may raise for a malformed file, since they do not check every
# field.
MALFORMED = (
    OSError,
    SyntaxError,
    ValueError,
    ArithmeticError,
    LookupError,
    TypeError,
    EOFError,
    RuntimeError,  # of decoders other than Pillow's own; includes NotImplementedError
    AssertionError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
)
_COLOR_SPACE, _EXIF_IFD, _INTEROPERABILITY = 0xA001, 0x8769, 0xA005
_ADOBE_RGB, _UNCALIBRATED = 2, 0xFFFF  # values of EXIF's ColorSpace
_BITS_PER_SAMPLE, _PHOTOMETRIC, _WHITE_IS_ZERO = 258, 262, 0  # of TIFF
_GRAY_MODES = ("1", "L", "LA", "La", "I", "F")
_MOST_CHUNKS = 1000  # before the pixels of a PNG
_NAME = "styleforge_meaning"


@dataclass(frozen=True, slots=True)
class Meaning:
    """The interpretation of a file's numbers.

    Attributes:
        bits: Bits per channel, at least 8.
        profile: The ICC profile of its colors, embedded or built from other statements, or None.
        hdr: Whether its colors are HDR colors, which no profile describes.
        key: The 16-bit gray or color of its transparent pixels, or None.
        premultiplied: Whether its 16-bit colors are multiplied by alpha.
        inverted: Whether 0 is the white of its 16-bit gray; otherwise `most` is.
    """

    bits: int = 8
    profile: bytes | None = None
    hdr: bool = False
    key: tuple[int, ...] | None = None
    premultiplied: bool = False
    inverted: bool = False
    most: int = 65535


def settle(image: Image.Image, file: BinaryIO) -> None:
    """Decide how to interpret the numbers of an open, unloaded picture, for `meaning_of`.

    A 16-bit transparent color is reduced to 8 bits in `image.info`, since Pillow compares it with
    8-bit pixels. The position of `file` is preserved.
    """
    bits, key = _bits(image), image.info.get("transparency")
    deep_key: tuple[int, ...] | None = None
    if bits == 16 and isinstance(key, int | tuple):
        deep_key = (key,) if isinstance(key, int) else tuple(int(n) for n in key)
        if len(deep_key) == 3:
            image.info["transparency"] = tuple(n >> 8 for n in deep_key)
    profile, hdr = _colors(image, file)
    tags = getattr(image, "tag_v2", {})
    sample = tags.get(_BITS_PER_SAMPLE, (16,))[0] if image.mode.startswith("I;16") else 16
    meaning = Meaning(
        bits,
        profile,
        hdr,
        deep_key,
        any("RGBa;16" in str(tile[3]) for tile in getattr(image, "tile", ())),
        tags.get(_PHOTOMETRIC) == _WHITE_IS_ZERO,
        (1 << sample) - 1,
    )
    vars(image)[_NAME] = meaning


def meaning_of(image: Image.Image) -> Meaning:
    """Return the decision of `settle`; for an image without a file, the profile decides."""
    known = vars(image).get(_NAME)
    return known if isinstance(known, Meaning) else Meaning(profile=image.info.get("icc_profile"))


def _bits(image: Image.Image) -> int:
    arguments = [tile[3] for tile in getattr(image, "tile", ())]
    if image.mode.startswith("I;16") or any(";16" in str(argument) for argument in arguments):
        return 16
    if image.format == "PPM" and any(a[1] > 255 for a in arguments if isinstance(a, tuple)):
        return 16
    if image.mode in ("I", "F"):
        return 32
    return max(8, int(image.info.get("bit_depth", 8)))  # of HEIC


def _colors(image: Image.Image, file: BinaryIO) -> tuple[bytes | None, bool]:
    """Return the profile, and whether the colors are HDR colors.

    The precedence follows PNG (third edition, section 4.3) and HEIF, whose profile precedes its
    code points; EXIF comes last.
    """
    embedded: bytes | None = image.info.get("icc_profile") or None
    points = _code_points(image, file)
    hdr = points is not None and points[1] in (PQ, HLG) and embedded is None
    named = None if points is None else from_code_points(*points)
    if embedded is not None and not (named is not None and image.format == "PNG"):
        return embedded, False
    if hdr:
        return None, True
    space = named or _by_gamma(image) or _by_exif(image)
    gray = image.mode in _GRAY_MODES or image.mode.startswith("I;16")
    return (None if space in (None, SRGB) else space.profile(gray=gray)), False


def _code_points(image: Image.Image, file: BinaryIO) -> tuple[int, int] | None:
    place = file.tell()
    try:
        if image.format == "PNG":
            found = _chunk(file, b"cICP")
            return (found[0], found[1]) if found is not None and len(found) == 4 else None
        if image.format == "HEIF":
            nclx = image.info.get("nclx_profile") or {}
            return (
                (int(nclx["color_primaries"]), int(nclx["transfer_characteristics"]))
                if "color_primaries" in nclx and "transfer_characteristics" in nclx
                else None
            )
        return _nclx(file) if image.format == "AVIF" else None
    except (struct.error, LookupError, ValueError, TypeError):  # damaged
        return None
    finally:
        file.seek(place)


def _chunk(file: BinaryIO, name: bytes) -> bytes | None:
    """Read a chunk that precedes the pixels of a PNG."""
    file.seek(8)
    for _ in range(_MOST_CHUNKS):
        length, kind = struct.unpack(">I4s", file.read(8))
        if kind == name:
            return file.read(length)
        if kind in (b"IDAT", b"IEND"):
            return None
        file.seek(length + 4, 1)
    return None


def _by_gamma(image: Image.Image) -> ColorSpace | None:
    if "srgb" in image.info:
        return SRGB
    gamma = image.info.get("gamma")
    if image.format != "PNG" or not gamma or not 0.01 < gamma < 100:
        return None
    space = from_gamma(gamma, image.info.get("chromaticity"))
    return space if space.profile(gray=False) else from_gamma(gamma, None)


def _by_exif(image: Image.Image) -> ColorSpace | None:
    """Return Adobe RGB if EXIF declares it: ColorSpace 2, or an uncalibrated one with R03."""
    try:
        if image.format in ("TIFF", "MPO"):
            exif = image.getexif()
        elif data := image.info.get("exif"):
            exif = Image.Exif()
            exif.load(data)
        else:
            return None
        space = exif.get_ifd(_EXIF_IFD).get(_COLOR_SPACE)
        index = str(exif.get_ifd(_INTEROPERABILITY).get(1, ""))
    except MALFORMED:  # `kept_exif` reports damage
        return None
    wide = space == _ADOBE_RGB or (space in (None, _UNCALIBRATED) and index.startswith("R03"))
    return ADOBE_RGB if wide else None


def _nclx(file: BinaryIO) -> tuple[int, int] | None:
    """Read the code points of the primary picture of an AVIF file (ISO/IEC 23008-12)."""
    meta = box(file, whole(file), b"meta")
    primary = box(file, meta, b"pitm", skip=4)
    container = box(file, meta, b"iprp", b"ipco", skip=4)
    association = box(file, meta, b"iprp", b"ipma", skip=4)
    if primary is None or container is None or association is None:
        return None
    named = content(file, primary)
    item = int.from_bytes(named[4:6] if named[0] == 0 else named[4:8])
    known = list(boxes(file, container))
    for number in _properties_of(content(file, association), item):
        kind, place = known[number - 1]
        stated = content(file, place)
        if kind == b"colr" and stated[:4] == b"nclx":
            return cast("tuple[int, int]", struct.unpack_from(">HH", stated, 4))
    return None


def _properties_of(listed: bytes, item: int) -> Iterator[int]:
    """Yield the numbers of the properties of an item, from the content of `ipma`."""
    version, wide = listed[0], listed[3] & 1
    (entries,) = struct.unpack_from(">I", listed, 4)
    at = 8
    for _ in range(entries):
        (found,) = struct.unpack_from(">H" if version == 0 else ">I", listed, at)
        at += 2 if version == 0 else 4
        count = listed[at]
        numbers = struct.unpack_from(f">{count}{'H' if wide else 'B'}", listed, at + 1)
        at += 1 + count * (2 if wide else 1)
        if found == item:
            yield from (number & (0x7FFF if wide else 0x7F) for number in numbers)
