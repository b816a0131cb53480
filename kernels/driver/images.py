"""The images of a library: the contents of a folder, and the images that a GPU runs.

An image is one CUDA source compiled for one architecture, as machine code (a cubin) or as PTX that
the driver compiles. `<library>.json` is next to the images; compiling.py writes both.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kernels.jit.errors import Damaged
from utils.files import small_json
from utils.translation.texts import tr

OLDEST = (7, 5)  # minimum compute capability of any image
MOST_BYTES = 1 << 28  # of a decompressed image


@dataclass(frozen=True, slots=True)
class Image:
    """A file in a folder of images, compressed with xz.

    Attributes:
        source: Its CUDA source, relative to `kernels/`.
        architecture: "sm_90a", or "compute_90" for PTX.
        sha256: The hash of the decompressed image.
    """

    file: str
    source: str
    architecture: str
    sha256: str

    @property
    def is_ptx(self) -> bool:
        """Whether the driver has to compile it."""
        return self.architecture.startswith("compute_")

    def runs_on(self, capability: tuple[int, int]) -> bool:
        """Return whether a GPU of this compute capability runs it.

        Machine code runs on GPUs of the same generation that are as new or newer; with "a", only on
        its own architecture. PTX runs on every GPU that is as new or newer.
        """
        number = self.architecture.partition("_")[2]
        if number.endswith("a"):
            return _pair(number[:-1]) == capability
        least = _pair(number)
        return least <= capability and (self.is_ptx or least[0] == capability[0])


@dataclass(frozen=True, slots=True)
class ImageList:
    """The contents of `<library>.json`.

    Attributes:
        digest: The digest of its sources, see `Library.digest`.
        description: The library's description, the JSON of its `<library>_abi.cu`.
        kernels: Each kernel's name in its images, by source and C++ name.
    """

    library: str
    digest: str
    description: Mapping[str, Any]
    kernels: Mapping[str, Mapping[str, str]]
    images: tuple[Image, ...]

    @classmethod
    def read(cls, folder: Path, library: str) -> ImageList:
        """Read the list of a folder.

        Raises:
            Damaged: If the list is missing or cannot be read.
        """
        path = folder / f"{library}.json"
        try:
            told = small_json.load(path)
            rows = tuple(Image(**row) for row in told.pop("images"))
            return cls(**told, images=rows)
        except OSError as error:
            fault = error.strerror or error
            raise Damaged(tr("cannot read {path}: {error}", path=path, error=fault)) from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise Damaged(tr("the list of images {path} is damaged", path=path)) from error

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    def image_for(self, source: str, capability: tuple[int, int]) -> Image | None:
        """Return the image of a source that a GPU runs fastest; None if it runs none.

        Its own architecture comes first, then the newest code of its generation, then PTX.
        """
        found = [
            image for image in self.images if image.source == source and image.runs_on(capability)
        ]
        return max(found, key=_preference, default=None)

    def load(self, folder: Path, image: Image) -> bytes:
        """Read and decompress an image.

        Raises:
            Damaged: If the image is missing, truncated or altered.
        """
        path = folder / image.file
        try:
            # One byte more reveals an image that is too large, without decompressing all of it.
            with lzma.open(path) as file:
                data = file.read(MOST_BYTES + 1)
        except (EOFError, lzma.LZMAError) as error:
            raise Damaged(tr("the image {path} is truncated or damaged", path=path)) from error
        except OSError as error:
            fault = error.strerror or error
            raise Damaged(
                tr("cannot read the image {path}: {error}", path=path, error=fault)
            ) from error
        if hashlib.sha256(data).hexdigest() != image.sha256:
            raise Damaged(
                tr(
                    "the image {path} does not match its entry in {list}",
                    path=path,
                    list=f"{self.library}.json",
                )
            )
        return data


def too_old(capability: tuple[int, int]) -> str:
    """Return why a GPU of this compute capability runs none of our images, or ""."""
    if capability >= OLDEST:
        return ""
    return tr(
        "this GPU has compute capability {capability}; the native kernels need {needed} or newer",
        capability=".".join(map(str, capability)),
        needed=".".join(map(str, OLDEST)),
    )


def _preference(image: Image) -> tuple[bool, tuple[int, int], bool]:
    number = image.architecture.partition("_")[2]
    return not image.is_ptx, _pair(number.rstrip("a")), number.endswith("a")


def _pair(number: str) -> tuple[int, int]:
    """Convert "86" to (8, 6), "120" to (12, 0)."""
    return int(number[:-1]), int(number[-1])
