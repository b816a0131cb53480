"""Opens picture files with Pillow, and describes in one sentence why one cannot be opened."""

from __future__ import annotations

import functools
import logging
import math
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from PIL import Image
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from utils.files.bounded import BoundedFile, TooManyPiecesError
from utils.files.signatures import HEIC, RAW, TIFF, what_is
from utils.images.meaning import MALFORMED as MALFORMED
from utils.images.meaning import settle
from utils.text import printable
from utils.translation.numbers import number
from utils.translation.texts import mark, tr

_HEAD = 512  # bytes that identify the type of a file
MAX_PIXELS = 200_000_000  # 600 MB as RGB, about the largest stitched panorama

Image.MAX_IMAGE_PIXELS = MAX_PIXELS
# Faults that matter raise an ImageError; Pillow's warnings are not shown. The filters apply to the
# whole process, since they cannot be set for one of several threads.
warnings.filterwarnings("ignore", module=r"(PIL|pillow_heif)\.")
logging.getLogger("PIL").setLevel(logging.CRITICAL)

# Formats that Pillow only identifies, that need another program (EPS: Ghostscript), or are video.
_NOT_OURS = {"BUFR", "EPS", "FPX", "GRIB", "HDF5", "MIC", "MPEG", "PDF", "WMF"}
_TOO_LARGE = (Image.DecompressionBombError, Image.DecompressionBombWarning)
_ANIMATED = {"GIF", "WEBP", "PNG", "AVIF"}  # pages of a TIFF or an icon are not an animation
_SUBFILE_TYPE, _REDUCED, _SUB_IFDS, _DNG_VERSION = 254, 1, 330, 50706  # of TIFF
_PHOTOMETRIC, _COLOR_FILTER_ARRAY, _BITS_PER_SAMPLE = 262, 32803, 258
_STARTS, _LENGTHS = (273, 324), (279, 325)  # of strips or tiles
_NOT_BY_NAME = {".eps", ".ps", ".pdf", ".mpg", ".mpeg", ".h5", ".hdf", ".grib", ".bufr", ".wmf"}
_HEIF_ENDINGS = {".heic", ".heif", ".hif"}
A_PICTURE = mark("a picture")  # if the kind is unknown
PATH_LENGTH = 1000  # characters of a full path in a message


class ImageError(ValueError):
    """Raised if a picture cannot be read or written; a sentence with its name and the reason."""


@contextmanager
def opened(path: str | os.PathLike[str], *, played: bool = False) -> Iterator[Image.Image]:
    """Open a picture for the duration of the block, not decoded yet.

    If `played`, the frames of an animation may be read repeatedly, without a limit.

    Raises:
        ImageError: If the file is not a picture, is damaged, or has more than MAX_PIXELS. It also
            replaces every exception that Pillow raises inside the block because of the file.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise ImageError(
                tr("'{file}' is not a file but a device or pipe", file=printable(path.name))
            )
        with BoundedFile(path) as file, Image.open(file, formats=_formats(file, path)) as image:
            if image.width * image.height > MAX_PIXELS:
                raise Image.DecompressionBombError
            if any(tile[0] in Image.DECODERS for tile in getattr(image, "tile", ())):
                file.allow(8 * image.width * image.height)  # these decoders read single bytes
            if played and getattr(image, "n_frames", 1):  # the count of frames is still limited
                file.allow(math.inf)
            settle(image, file)
            yield image
    except ImageError:
        raise
    except _TOO_LARGE:
        raise ImageError(
            tr(
                "'{file}' is too large: more than {n} megapixels",
                file=printable(path.name),
                n=number(MAX_PIXELS // 1_000_000),
            )
        ) from None
    except MemoryError:
        raise ImageError(
            tr("'{file}' does not fit into memory", file=printable(path.name))
        ) from None
    except (*MALFORMED, TooManyPiecesError) as exc:
        raise ImageError(_fault(path, exc)) from exc


def kind_of(path: str | os.PathLike[str]) -> Literal["", "picture", "animation"]:
    """Return "picture", "animation" or "" by a file's first bytes, even if the rest is damaged."""
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
    """Return the extensions of readable formats, in lower case with the dot."""
    Image.init()
    return frozenset((Image.registered_extensions().keys() - _NOT_BY_NAME) | _HEIF_ENDINGS)


@functools.cache
def _own_formats() -> tuple[str, ...]:
    Image.init()
    return tuple(name for name in Image.ID if name not in _NOT_OURS)


def _formats(file: BoundedFile, path: Path) -> tuple[str, ...]:
    """Return the formats to try for a file that is open at its beginning.

    Raises:
        ImageError: If the file is a camera raw photo, or a HEIC photo without the extra "heif".
    """
    head = file.read(_HEAD)
    kind = what_is(head)
    if kind == TIFF and _is_raw(file, head):
        kind = RAW
    if kind == RAW:
        raise ImageError(
            tr(
                "'{file}' is a camera raw photo, which cannot be read; "
                "develop it to JPEG or TIFF first",
                file=printable(path.name),
            )
        )
    if kind != HEIC:
        return _own_formats()
    try:
        import pillow_heif  # pyright: ignore[reportMissingImports]  (an extra)
    except ImportError:
        raise ImageError(
            tr(
                "'{file}' is a HEIC photo, which needs the extra \"heif\": "
                'pip install "styleforge[heif]"',
                file=printable(path.name),
            )
        ) from None
    pillow_heif.register_heif_opener()
    return ("HEIF",)


def _is_raw(file: BoundedFile, head: bytes) -> bool:
    """Return whether a TIFF file is a camera's raw data; Pillow would read its small preview."""
    try:
        directory = _first_directory(file, head)
        preview = directory.get(_SUBFILE_TYPE) == _REDUCED and _SUB_IFDS in directory
        mosaic = directory.get(_PHOTOMETRIC) == _COLOR_FILTER_ARRAY
        return preview or mosaic or _DNG_VERSION in directory
    except MALFORMED:  # damaged; Pillow will report it
        return False


def _is_whole_tiff(path: Path) -> bool:
    """Return whether the pixels of a TIFF file are present, in a kind unknown to Pillow."""
    try:
        with BoundedFile(path) as file:
            directory = _first_directory(file, file.read(_HEAD))
            starts, lengths = (
                next((directory[tag] for tag in tags if tag in directory), ())
                for tags in (_STARTS, _LENGTHS)
            )
            end = max((a + b for a, b in zip(starts, lengths, strict=True)), default=0)
            return 0 < end <= file.seek(0, os.SEEK_END) and _BITS_PER_SAMPLE in directory
    except (*MALFORMED, TooManyPiecesError):
        return False


def _first_directory(file: BoundedFile, head: bytes) -> ImageFileDirectory_v2:
    directory = ImageFileDirectory_v2(head[:16] if head[2:4] in (b"+\0", b"\0+") else head[:8])
    file.seek(directory.next)
    directory.load(file)
    return directory


def _fault(path: Path, exc: BaseException) -> str:
    name = printable(path.name)
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except (FileNotFoundError, ValueError):  # ValueError: a NUL in the name
        return tr("'{file}' does not exist", file=printable(str(path), PATH_LENGTH))
    except IsADirectoryError:
        return tr("'{file}' is a folder, not a picture", file=name)
    except OSError as unreadable:
        error = unreadable.strerror or unreadable
        return tr("'{file}' cannot be read: {error}", file=name, error=error)
    if not head:
        return tr("'{file}' is empty", file=name)
    kind = what_is(head)
    a_picture = kind if kind.endswith(("picture", "photo")) else A_PICTURE
    named = {"file": name, "kind": tr(a_picture)}
    if isinstance(exc, TooManyPiecesError):
        return tr("'{file}' is {kind} with too many pieces to read", **named)
    unread = isinstance(exc, Image.UnidentifiedImageError) and kind == TIFF and _is_whole_tiff(path)
    if unread or isinstance(exc, NotImplementedError):
        return tr("'{file}' is {kind} of an unsupported type", **named)
    if isinstance(exc, Image.UnidentifiedImageError) and kind != a_picture:
        if kind:
            return tr("'{file}' is not a picture but {kind}", file=name, kind=tr(kind))
        return tr("'{file}' is not a picture", file=name)
    return tr("'{file}' is {kind} that is truncated or damaged", **named)
