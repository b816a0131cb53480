"""Reads picture files into arrays and writes arrays into picture files."""

from __future__ import annotations

import functools
import io
import json
import logging
import math
import os
import struct
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms
from PIL.PngImagePlugin import PngInfo
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from utils.files.atomic import replacing
from utils.files.bounded import BoundedFile, TooManyPiecesError
from utils.files.signatures import HEIC, RAW, TIFF, what_is
from utils.text import printable

_HEAD = 512  # bytes that tell what a file is
BAND = 1_000_000  # pixels that Pillow converts at once, a few milliseconds' work
MAX_PIXELS = 200_000_000  # as RGB that is 600 MB, about the largest stitched panorama
SAVED = (".png", ".jpg", ".jpeg", ".webp")
KEEPS_ALPHA = (".png", ".webp")

Image.MAX_IMAGE_PIXELS = MAX_PIXELS
# What is wrong with a file is said once, by an ImageError, or not worth saying. For the whole
# process, since filters cannot be set for one of several threads.
warnings.filterwarnings("ignore", module=r"(PIL|pillow_heif)\.")
logging.getLogger("PIL").setLevel(logging.CRITICAL)

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
    RuntimeError,  # of decoders that are not Pillow's own; NotImplementedError is one
    AssertionError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
)
_TOO_LARGE = (Image.DecompressionBombError, Image.DecompressionBombWarning)
_ANIMATED = {"GIF", "WEBP", "PNG", "AVIF"}  # a TIFF's or icon's other pages do not move
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
_SUBFILE_TYPE, _REDUCED, _SUB_IFDS, _DNG_VERSION = 254, 1, 330, 50706  # of TIFF
_PHOTOMETRIC, _COLOR_FILTER_ARRAY = 262, 32803
_NOT_BY_NAME = {".eps", ".ps", ".pdf", ".mpg", ".mpeg", ".h5", ".hdf", ".grib", ".bufr", ".wmf"}
_HEIF_ENDINGS = {".heic", ".heif", ".hif"}
_PATH = 1000  # characters of a whole path in a message


class ImageError(ValueError):
    """A picture that cannot be read or written; one sentence naming the file and the fault."""


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A picture as the program works on it, and what its file has beyond that.

    `pixels` is [H, W, 3] uint8 RGB, laid over white where the picture is transparent; `alpha`
    is [H, W] uint8, None where every pixel is opaque; `bits` is how many bits a channel has in
    the file, 8 where it has fewer.
    """

    pixels: NDArray[np.uint8]
    alpha: NDArray[np.uint8] | None = None
    bits: int = 8

    @property
    def loss(self) -> str:
        """What is not kept of the file, in words; empty where all of it is."""
        return f"its {self.bits} bits per channel became 8" if self.bits > 8 else ""


def load_image(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """The pixels of `load_picture`."""
    return load_picture(path).pixels


def load_picture(path: str | os.PathLike[str]) -> Picture:
    """Read a picture upright and in sRGB.

    Reads whatever Pillow reads, whatever the file is called, and HEIC where pillow-heif is
    installed: 16-bit and float pictures are scaled to 0-255, the first frame stands for an
    animation, colour profiles are applied. Transparency is laid over white: a cut-out is made to
    be seen on paper, and over black its soft edges would get a dark rim that a style network
    turns into an outline. Raises ImageError.
    """
    path = Path(path)
    with opened(path) as image:
        bits = _bits(image)
        image.load()
        orientation = _orientation(image)
        alpha = _alpha(image)
        pixels = np.array(_turn(to_rgb(image), orientation), order="C")
        turned = None if alpha is None else np.array(_turn(alpha, orientation), order="C")
        return Picture(pixels, turned, bits)


@contextmanager
def opened(path: str | os.PathLike[str], *, played: bool = False) -> Iterator[Image.Image]:
    """A picture opened through Pillow and not decoded yet, closed after the block; `played`: an
    animation, whose frames may be read any number of times.

    Raises ImageError, also for one of more than MAX_PIXELS, and for what the block raises where
    the file is to blame.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise ImageError(f"'{printable(path.name)}' is not a file but a device or pipe")
        with BoundedFile(path) as file, Image.open(file, formats=_formats(file, path)) as image:
            if image.width * image.height > MAX_PIXELS:
                raise Image.DecompressionBombError
            if any(tile[0] in Image.DECODERS for tile in getattr(image, "tile", ())):
                file.allow(8 * image.width * image.height)  # a decoder that reads bytes one by one
            if played and getattr(image, "n_frames", 1):  # counting them is still bounded
                file.allow(math.inf)
            yield image
    except ImageError:
        raise
    except _TOO_LARGE:
        raise ImageError(
            f"'{printable(path.name)}' is too large: more than {MAX_PIXELS // 1_000_000} megapixels"
        ) from None
    except MemoryError:
        raise ImageError(f"'{printable(path.name)}' does not fit into memory") from None
    except (*MALFORMED, TooManyPiecesError) as exc:
        raise ImageError(_fault(path, exc)) from exc


def to_rgb(image: Image.Image) -> NDArray[np.uint8]:
    """A loaded picture of any mode as uint8 [H, W, 3], as `load_image` promises, not turned."""
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        grey = _eight_bits(_array(image))
        return np.repeat(grey[..., None], 3, axis=2)
    profile = image.info.get("icc_profile")
    if image.has_transparency_data:
        image = _in_bands(image, _on_paper)
    return _array(_in_srgb(image, profile)).astype(np.uint8, copy=False)


def _on_paper(image: Image.Image) -> Image.Image:
    image = image.convert("RGBA")
    paper = Image.new("RGBA", image.size, "white")
    paper.alpha_composite(image)
    return paper.convert("RGB")


def _bands(image: Image.Image) -> Iterator[tuple[int, int, int, int]]:
    """Boxes that make up `image`. Pillow keeps every other thread waiting, the window's too, for
    as long as one call takes, so what is asked of it at once is bounded."""
    rows = max(1, BAND // max(1, image.width))
    for top in range(0, image.height, rows):
        yield 0, top, image.width, min(top + rows, image.height)


def _in_bands(image: Image.Image, convert: Callable[[Image.Image], Image.Image]) -> Image.Image:
    """`image` converted to RGB, band by band."""
    done = Image.new("RGB", image.size)
    for box in _bands(image):
        done.paste(convert(image.crop(box)), box)
    return done


def _array(image: Image.Image) -> NDArray[np.generic]:
    """Its pixels, copied band by band."""
    return np.concatenate([np.asarray(image.crop(box)) for box in _bands(image)])


def kind_of(path: str | os.PathLike[str]) -> Literal["", "picture", "animation"]:
    """What the file's first bytes make of it, also where it cannot be read further; "" if it is
    no picture."""
    path = Path(path)
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            if what_is(file.read(_HEAD)) in (HEIC, RAW):
                return "picture"
        with BoundedFile(path) as file, Image.open(file, formats=_own_formats()) as image:
            moving = image.format in _ANIMATED and getattr(image, "is_animated", False)
            return "animation" if moving else "picture"
    except (*_TOO_LARGE, TooManyPiecesError, MemoryError):
        return "picture"
    except MALFORMED:
        return ""


@functools.cache
def picture_endings() -> frozenset[str]:
    """How the names of files that can be read end, in lower case: ".jpg"."""
    Image.init()
    return frozenset((Image.registered_extensions().keys() - _NOT_BY_NAME) | _HEIF_ENDINGS)


def save_image(
    path: str | os.PathLike[str],
    pixels: NDArray[np.uint8],  # [H, W, 3] RGB
    metadata: Mapping[str, str] | None = None,
    quality: int = 95,
    alpha: NDArray[np.uint8] | None = None,  # [H, W]
) -> None:
    """Write PNG, JPEG or WebP, as the name ends: all of it or nothing, never half a file.

    With `alpha`, what is saved looks like `pixels` when it is laid over white; an ending that is
    not in KEEPS_ALPHA, JPEG's, stores `pixels` as they are.

    `metadata` becomes PNG text chunks, otherwise JSON in the EXIF UserComment with a readable
    ImageDescription beside it; its "Software" also the EXIF Software. `read_metadata` reads it
    back. `quality` (0-100) is that of JPEG and WebP. Raises ImageError.
    """
    path = Path(path)
    ending, name = path.suffix.lower(), printable(path.name)
    if ending not in SAVED:
        raise ImageError(f"cannot save '{name}': its name must end in {', '.join(SAVED)}")
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8:
        raise ImageError(f"cannot save '{name}': not (H, W, 3) uint8 but {pixels.shape}")
    side, largest = max(pixels.shape[:2]), {".png": 2**31 - 1, ".webp": 16383}.get(ending, 65500)
    if side > largest:
        raise ImageError(
            f"cannot save '{name}': {ending[1:]} holds {largest} pixels a side, not {side}"
        )
    if alpha is not None and ending in KEEPS_ALPHA:
        pixels = np.dstack([_off_white(pixels, alpha), alpha])
    image = Image.fromarray(np.ascontiguousarray(pixels))
    metadata = metadata or {}
    try:
        with replacing(path) as temporary:
            if ending == ".png":
                image.save(temporary, "PNG", pnginfo=_png_info(metadata))
            elif ending == ".webp":
                image.save(temporary, "WEBP", quality=quality, exif=_exif(metadata))
            else:  # full chroma: styled pictures live on sharp coloured edges
                image.save(temporary, "JPEG", quality=quality, subsampling=0, exif=_exif(metadata))
    except OSError as exc:
        raise ImageError(
            f"cannot save '{printable(str(path), _PATH)}': {exc.strerror or exc}"
        ) from exc


def read_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """The metadata that `save_image` wrote; empty for a picture without. Raises ImageError."""
    with opened(path) as image:
        image.load()  # text chunks may follow the pixels
        if image.format == "PNG":
            text = getattr(image, "text", {})
            return {str(key): str(value) for key, value in text.items()}
        comment = image.getexif().get_ifd(_EXIF_IFD).get(_USER_COMMENT, b"")
    if not isinstance(comment, bytes) or not comment.startswith(_ASCII):
        return {}
    try:
        stored = json.loads(comment[len(_ASCII) :])
    except ValueError:  # somebody else's comment
        return {}
    return {str(k): str(v) for k, v in stored.items()} if isinstance(stored, dict) else {}


@functools.cache
def _own_formats() -> tuple[str, ...]:
    Image.init()
    return tuple(name for name in Image.ID if name not in _NOT_OURS)


def _formats(file: BoundedFile, path: Path) -> tuple[str, ...]:
    """The formats that `file`, open at its beginning, may have; ImageError where it is one that
    cannot be read."""
    head = file.read(_HEAD)
    kind = what_is(head)
    if kind == TIFF and _is_raw(file, head):
        kind = RAW
    if kind == RAW:
        raise ImageError(
            f"'{printable(path.name)}' is {RAW}, which cannot be read; "
            "develop it to JPEG or TIFF first"
        )
    if kind != HEIC:
        return _own_formats()
    try:
        import pillow_heif  # pyright: ignore[reportMissingImports]  (an extra)
    except ImportError:
        raise ImageError(
            f"'{printable(path.name)}' is {HEIC}, which needs the extra \"heif\": "
            'pip install "styleforge[heif]"'
        ) from None
    pillow_heif.register_heif_opener()
    return ("HEIF",)


def _is_raw(file: BoundedFile, head: bytes) -> bool:
    """Whether a TIFF file is what a camera's sensor saw, with a small preview in front of it that
    Pillow would take for the picture."""
    try:
        directory = ImageFileDirectory_v2(head[:16] if head[2:4] in (b"+\0", b"\0+") else head[:8])
        file.seek(directory.next)
        directory.load(file)
        preview = directory.get(_SUBFILE_TYPE) == _REDUCED and _SUB_IFDS in directory
        mosaic = directory.get(_PHOTOMETRIC) == _COLOR_FILTER_ARRAY
        return preview or mosaic or _DNG_VERSION in directory
    except MALFORMED:  # no TIFF after all, as Pillow will find
        return False


def _bits(image: Image.Image) -> int:
    """How many bits a channel has in the file; to be asked before the picture is loaded, as
    Pillow makes 8 of 16 in colour pictures."""
    arguments = [tile[3] for tile in getattr(image, "tile", ())]
    if image.mode.startswith("I;16") or any(";16" in str(argument) for argument in arguments):
        return 16
    if image.format == "PPM" and any(a[1] > 255 for a in arguments if isinstance(a, tuple)):
        return 16
    if image.mode in ("I", "F"):
        return 32
    return max(8, int(image.info.get("bit_depth", 8)))  # of HEIC


def _alpha(image: Image.Image) -> NDArray[np.uint8] | None:
    """The alpha [H, W] of a loaded picture, not turned; None where all of it is opaque."""
    if not image.has_transparency_data or image.mode.startswith("I"):
        return None
    bands = (image.crop(box).convert("RGBA").getchannel("A") for box in _bands(image))
    alpha = np.concatenate([np.asarray(band) for band in bands])
    return None if alpha.min() == 255 else alpha


def _off_white(pixels: NDArray[np.uint8], alpha: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The colours that look like `pixels` when they are laid over white with `alpha`, or as
    nearly as they can."""
    soft = (alpha > 0) & (alpha < 255)
    share = alpha[soft, None].astype(np.float32) / 255
    colors = pixels.copy()
    colors[soft] = np.rint(np.clip(255 - (255 - pixels[soft]) / share, 0, 255))
    return colors


def _in_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    if image.mode == "P":
        image = _in_bands(image, lambda band: band.convert("RGB"))
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
    return image if image.mode == "RGB" else _in_bands(image, lambda band: band.convert("RGB"))


def _eight_bits(grey: NDArray[np.generic]) -> NDArray[np.uint8]:
    """16-bit by its full range; wider integers and floats by the range that they occupy."""
    if grey.dtype == np.uint16:
        return ((grey.astype(np.uint32) + 128) // 257).astype(np.uint8)
    with np.errstate(invalid="ignore"):  # of which NaN it is, nothing depends
        values = np.nan_to_num(grey.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    low, high = float(values.min()), float(values.max())
    if low >= 0 and high <= 1 and grey.dtype.kind == "f":
        low, high = 0.0, 1.0
    elif low >= 0 and high <= 255:
        low, high = 0.0, 255.0
    elif low >= 0 and high <= 65535 and grey.dtype.kind != "f":
        low, high = 0.0, 65535.0
    return np.rint((values - low) * (255.0 / ((high - low) or 1.0))).astype(np.uint8)


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
    """One sentence on why `path` could not be read; what Pillow says of it is for programmers."""
    name = f"'{printable(path.name)}'"
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except (FileNotFoundError, ValueError):  # no file has a NUL in its name
        return f"'{printable(str(path), _PATH)}' does not exist"
    except IsADirectoryError:
        return f"{name} is a folder, not a picture"
    except OSError as unreadable:
        return f"{name} cannot be read: {unreadable.strerror or unreadable}"
    if not head:
        return f"{name} is empty"
    kind = what_is(head)
    a_picture = kind if kind.endswith(("picture", "photo")) else "a picture"
    if isinstance(exc, TooManyPiecesError):
        return f"{name} is {a_picture} that is made of too many pieces to be read"
    if isinstance(exc, NotImplementedError):
        return f"{name} is {a_picture} of a kind that cannot be read"
    if isinstance(exc, Image.UnidentifiedImageError) and kind != a_picture:
        return f"{name} is not a picture" + (f" but {kind}" if kind else "")
    return f"{name} is {a_picture} that is truncated or damaged"


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
