"""Folders of images that the driver's stub accepts as compiled ones."""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernels.driver.compiling import architecture_for, sources_of
from kernels.driver.images import Image, ImageList
from kernels.jit.libraries import LIBRARIES

CODE = b"image\0"  # accepted as an image by the stub


def names_of(library: str, description: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return a name for each described kernel, by source: its C++ name without spaces."""
    return {
        source.name: {kernel: kernel.replace(" ", "") for kernel in source.kernels}
        for source in sources_of(LIBRARIES[library], description)
    }


def write_images(library: str, description: Mapping[str, Any], folder: Path) -> ImageList:
    """Write an image of each source that Hopper runs, and their list."""
    digest = hashlib.sha256(CODE).hexdigest()
    rows: list[Image] = []
    for source in sources_of(LIBRARIES[library], description):
        # A source for older GPUs only runs there as PTX.
        architecture = architecture_for(source.target, (9, 0), source.until)
        architecture = architecture or f"compute_{source.target}"
        rows.append(Image(f"{source.name}.xz", source.name, architecture, digest))
        (folder / f"{source.name}.xz").write_bytes(lzma.compress(CODE))
    names = names_of(library, description)
    listed = ImageList(library, "", description, names, tuple(rows))
    (folder / f"{library}.json").write_text(listed.to_json(), "utf-8")
    return listed
