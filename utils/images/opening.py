"""Opens picture files of any kind through Pillow, or says in one sentence why it cannot."""

from __future__ import annotations

import functools
import logging
import math
import os
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from PIL import Image
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from utils.files.bounded import BoundedFile, TooManyPiecesError
from utils.files.signatures import HEIC, RAW, TIFF, what_is
from utils.text import printable

_HEAD = 512  # bytes that tell what a file is
MAX_PIXELS = 200_000_000  # as RGB that is 600 MB, about the largest stitched panorama

Image.MAX_IMAGE_PIXELS = MAX_PIXELS
# What is wrong with a file is said once, by an ImageError, or not worth saying. For the whole
# process, since filters cannot be set for one of several threads.
warnings.filterwarnings("ignore", module=r"(PIL|pillow_heif)\.")
logging.getLogger("PIL").setLevel(logging.CRITICAL)

# Formats that Pillow only recognizes, cannot draw itself (EPS runs Ghostscript) or reads as video.
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
_SUBFILE_TYPE, _REDUCED, _SUB_IFDS, _DNG_VERSION = 254, 1, 330, 50706  # of TIFF
_PHOTOMETRIC, _COLOR_FILTER_ARRAY = 262, 32803
_NOT_BY_NAME = {".eps", ".ps", ".pdf", ".mpg", ".mpeg", ".h5", ".hdf", ".grib", ".bufr", ".wmf"}
_HEIF_ENDINGS = {".heic", ".heif", ".hif"}
PATH_LENGTH = 1000  # characters of a whole path in a message


class ImageError(ValueError):
    """A picture that cannot be read or written; one sentence naming the file and the fault."""


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


def _fault(path: Path, exc: BaseException) -> str:
    """One sentence on why `path` could not be read; what Pillow says of it is for programmers."""
    name = f"'{printable(path.name)}'"
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except (FileNotFoundError, ValueError):  # no file has a NUL in its name
        return f"'{printable(str(path), PATH_LENGTH)}' does not exist"
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
