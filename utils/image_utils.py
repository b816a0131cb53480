"""Reads picture files into arrays and writes arrays into picture files."""

from __future__ import annotations

import codecs
import functools
import io
import json
import os
import struct
import threading
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms
from PIL.PngImagePlugin import PngInfo

MAX_PIXELS = 200_000_000  # as RGB that is 600 MB, about the largest stitched panorama
SAVED = (".png", ".jpg", ".jpeg", ".webp")

Image.MAX_IMAGE_PIXELS = MAX_PIXELS

# Formats that Pillow only recognises, cannot draw itself (EPS runs Ghostscript) or reads as video.
_NOT_OURS = {"BUFR", "EPS", "FPX", "GRIB", "HDF5", "MIC", "MPEG", "PDF", "WMF"}
# Everything Pillow's readers raise on a malformed file; they parse it without checking every field.
MALFORMED = (
    OSError,
    SyntaxError,
    ValueError,
    ArithmeticError,
    LookupError,
    TypeError,
    EOFError,
    struct.error,
    zlib.error,
)
_ANIMATED = {"GIF", "WEBP", "PNG", "AVIF"}  # a TIFF's or icon's other pages do not move
_SIGNATURES = (
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive (or an office document or checkpoint)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"%!PS", "a PostScript document"),
    (b"ID3", "a sound file"),
    (b"fLaC", "a sound file"),
    (b"OggS\x00\x02", "an Ogg file"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"\x80\x02", "a Python pickle"),
    (b"SQLite format 3", "a database"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"II*\x00", "a TIFF picture"),
    (b"MM\x00*", "a TIFF picture"),
    (b"\x1aE\xdf\xa3", "a Matroska or WebM video"),
)
# EXIF orientation -> how to turn the array upright (transpose rows and columns, then flip axes).
_UPRIGHT: Mapping[int, tuple[bool, tuple[int, ...]]] = {
    2: (False, (1,)),
    3: (False, (0, 1)),
    4: (False, (0,)),
    5: (True, ()),
    6: (True, (1,)),
    7: (True, (0, 1)),
    8: (True, (0,)),
}
_ORIENTATION, _DESCRIPTION, _SOFTWARE = 0x0112, 0x010E, 0x0131
_EXIF_IFD, _USER_COMMENT = 0x8769, 0x9286
_ASCII = b"ASCII\0\0\0"  # the character code that begins an EXIF UserComment


class ImageError(ValueError):
    """A picture that cannot be read or written; one sentence naming the file and the fault."""


def load_image(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Read a picture as uint8 [H, W, 3] RGB, upright, in sRGB.

    Reads whatever Pillow reads, whatever the file is called: 16-bit and float pictures are
    scaled to 0-255, the first frame stands for an animation, colour profiles are applied.
    Transparency is laid over white: a cut-out is made to be seen on paper, and over black its
    soft edges would get a dark rim that a style network turns into an outline.
    Raises ImageError.
    """
    path = Path(path)
    try:
        with open_image(path) as image:
            image.load()
            return np.array(_turn(to_rgb(image), _orientation(image)), order="C")
    except MemoryError:
        raise ImageError(f"'{path.name}' does not fit into memory") from None
    except MALFORMED as exc:
        raise ImageError(_fault(path, exc)) from exc


def open_image(path: str | os.PathLike[str]) -> Image.Image:
    """Open a picture through Pillow without decoding it yet; close it after use.

    Raises ImageError, also for one of more than MAX_PIXELS.
    """
    path = Path(path)
    try:
        image = Image.open(path, formats=_formats())
        if image.width * image.height <= MAX_PIXELS:
            return image
        image.close()
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        pass  # below, like one that is only a little too large
    except MALFORMED as exc:
        raise ImageError(_fault(path, exc)) from exc
    raise ImageError(f"'{path.name}' is too large: more than {MAX_PIXELS // 1_000_000} megapixels")


def to_rgb(image: Image.Image) -> NDArray[np.uint8]:
    """A loaded picture of any mode as uint8 [H, W, 3], as `load_image` promises, not turned."""
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        grey = _eight_bits(np.asarray(image))
        return np.repeat(grey[..., None], 3, axis=2)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        paper = Image.new("RGBA", image.size, "white")
        paper.alpha_composite(image)
        return np.asarray(_in_srgb(paper.convert("RGB"), image.info.get("icc_profile")))
    return np.asarray(_in_srgb(image, image.info.get("icc_profile")))


def kind_of(path: str | os.PathLike[str]) -> Literal["", "picture", "animation"]:
    """What Pillow makes of the file's first bytes; "" if it is no picture or unreadable."""
    try:
        with Image.open(path, formats=_formats()) as image:
            moving = image.format in _ANIMATED and getattr(image, "is_animated", False)
            return "animation" if moving else "picture"
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        return "picture"
    except MALFORMED:
        return ""


def what_is(head: bytes) -> str:
    """Name a file by its first bytes (some 512 of them): "an HTML page"; "" if unknown."""
    for signature, name in _SIGNATURES:
        if head.startswith(signature):
            return name
    if head[4:8] == b"ftyp":
        heic = head[8:12] in (b"heic", b"heix", b"heim", b"heis", b"mif1", b"msf1")
        return "a HEIC photo" if heic else "an MP4 or QuickTime file"
    if head[:4] == b"RIFF":
        return {b"WEBP": "a WebP picture", b"AVI ": "an AVI video", b"WAVE": "a sound file"}.get(
            head[8:12], "a RIFF file"
        )
    try:  # incrementally, since the end of `head` may cut a character in two
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return ""
    if not text or not all(c.isprintable() or c in "\t\r\n\f\x1b\ufeff" for c in text):
        return ""
    start = text.lstrip("\ufeff \t\r\n").lower()
    if start.startswith(("<!doctype html", "<html", "<head", "<body")):
        return "an HTML page"
    if "<svg" in start:
        return "an SVG drawing"
    return "a text file"


def save_image(
    path: str | os.PathLike[str],
    pixels: NDArray[np.uint8],  # [H, W, 3] RGB
    metadata: Mapping[str, str] | None = None,
    quality: int = 95,
) -> None:
    """Write PNG, JPEG or WebP, as the name ends: all of it or nothing, never half a file.

    `metadata` becomes PNG text chunks, otherwise JSON in the EXIF UserComment with a readable
    ImageDescription beside it; its "Software" also the EXIF Software. `read_metadata` reads it
    back. `quality` (0-100) is that of JPEG and WebP. Raises ImageError.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in SAVED:
        raise ImageError(f"cannot save '{path.name}': its name must end in {', '.join(SAVED)}")
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8:
        raise ImageError(f"cannot save '{path.name}': not (H, W, 3) uint8 but {pixels.shape}")
    side, largest = max(pixels.shape[:2]), {".png": 2**31 - 1, ".webp": 16383}.get(ending, 65500)
    if side > largest:
        raise ImageError(
            f"cannot save '{path.name}': {ending[1:]} holds {largest} pixels a side, not {side}"
        )
    image = Image.fromarray(np.ascontiguousarray(pixels))
    metadata = metadata or {}
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        if ending == ".png":
            image.save(temporary, "PNG", pnginfo=_png_info(metadata))
        elif ending == ".webp":
            image.save(temporary, "WEBP", quality=quality, exif=_exif(metadata))
        else:  # full chroma: styled pictures live on sharp coloured edges
            image.save(temporary, "JPEG", quality=quality, subsampling=0, exif=_exif(metadata))
        temporary.replace(path)
    except OSError as exc:
        raise ImageError(f"cannot save '{path}': {exc.strerror or exc}") from exc
    finally:
        temporary.unlink(missing_ok=True)


def read_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """The metadata that `save_image` wrote; empty for a picture without. Raises ImageError."""
    path = Path(path)
    try:
        with Image.open(path, formats=_formats()) as image:
            image.load()  # text chunks may follow the pixels
            if image.format == "PNG":
                text = getattr(image, "text", {})
                return {str(key): str(value) for key, value in text.items()}
            comment = image.getexif().get_ifd(_EXIF_IFD).get(_USER_COMMENT, b"")
    except MALFORMED as exc:
        raise ImageError(_fault(path, exc)) from exc
    if not isinstance(comment, bytes) or not comment.startswith(_ASCII):
        return {}
    try:
        stored = json.loads(comment[len(_ASCII) :])
    except ValueError:  # somebody else's comment
        return {}
    return {str(k): str(v) for k, v in stored.items()} if isinstance(stored, dict) else {}


@functools.cache
def _formats() -> tuple[str, ...]:
    Image.init()
    return tuple(name for name in Image.ID if name not in _NOT_OURS)


def _in_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    if image.mode == "P":
        image = image.convert("RGB")
    srgb = ImageCms.createProfile("sRGB")
    if profile and image.mode in ("RGB", "CMYK", "L"):
        try:
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            converted = ImageCms.profileToProfile(image, source, srgb, outputMode="RGB")
        except (ImageCms.PyCMSError, OSError):  # a damaged profile costs only itself
            converted = None
        if converted is not None:
            return converted
    if image.mode == "LAB":
        lab = ImageCms.createProfile("LAB")
        converted = ImageCms.profileToProfile(image, lab, srgb, outputMode="RGB")
        assert converted is not None  # it returns None only when told to work in place
        return converted
    return image.convert("RGB")


def _eight_bits(grey: NDArray[np.generic]) -> NDArray[np.uint8]:
    """16-bit by its full range; wider integers and floats by the range that they occupy."""
    if grey.dtype == np.uint16:
        return ((grey.astype(np.uint32) + 128) // 257).astype(np.uint8)
    values = np.nan_to_num(grey.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    low, high = float(values.min()), float(values.max())
    if low >= 0 and high <= 1 and grey.dtype.kind == "f":
        low, high = 0.0, 1.0
    elif low >= 0 and high <= 255:
        low, high = 0.0, 255.0
    elif low >= 0 and high <= 65535 and grey.dtype.kind != "f":
        low, high = 0.0, 65535.0
    return np.rint((values - low) * (255.0 / (high - low))).astype(np.uint8)


def _orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(_ORIENTATION, 1))
    except MALFORMED:  # damaged EXIF costs only itself
        return 1


def _turn(pixels: NDArray[np.uint8], orientation: int) -> NDArray[np.uint8]:
    transpose, flips = _UPRIGHT.get(orientation, (False, ()))
    return (
        np.flip(pixels.swapaxes(0, 1) if transpose else pixels, flips)
        if (transpose or flips)
        else pixels
    )


def _fault(path: Path, exc: BaseException) -> str:
    """One sentence on why `path` could not be read."""
    if isinstance(exc, ImageError):
        return str(exc)
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except FileNotFoundError:
        return f"'{path}' does not exist"
    except IsADirectoryError:
        return f"'{path.name}' is a folder, not a picture"
    except OSError as unreadable:
        return f"'{path.name}' cannot be read: {unreadable.strerror or unreadable}"
    if not head:
        return f"'{path.name}' is empty"
    kind = what_is(head)
    if kind == "a HEIC photo":
        return f"'{path.name}' is a HEIC photo, which cannot be read; save it as JPEG first"
    if kind.endswith("picture"):
        return f"'{path.name}' is {kind} that is truncated or damaged"
    if isinstance(exc, Image.UnidentifiedImageError):
        return f"'{path.name}' is not a picture" + (f" but {kind}" if kind else "")
    return f"'{path.name}' is a damaged picture ({exc})"


def _png_info(metadata: Mapping[str, str]) -> PngInfo:
    info = PngInfo()
    for key, value in metadata.items():
        info.add_text(key, value)
    return info


def _exif(metadata: Mapping[str, str]) -> Image.Exif:
    exif = Image.Exif()
    if metadata:
        exif[_DESCRIPTION] = "; ".join(f"{key}: {value}" for key, value in metadata.items())
        exif[_SOFTWARE] = metadata.get("Software", "")
        exif.get_ifd(_EXIF_IFD)[_USER_COMMENT] = _ASCII + json.dumps(dict(metadata)).encode()
    return exif
