"""Folders of images that the driver's stub takes in place of compiled ones."""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernels.driver.images import Image, ImageList
from tools.prebuild.cuda import kernels_of

CODE = b"image\0"  # what the stub takes for an image


def names_of(description: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """By source, a name of each kernel that is described: that of C++, without spaces."""
    return {
        source: {kernel: kernel.replace(" ", "") for kernel in kernels}
        for source, (_, kernels) in kernels_of(description).items()
    }


def write_images(library: str, description: Mapping[str, Any], folder: Path) -> ImageList:
    """Write an image of each source for Hopper, and their list."""
    names = names_of(description)
    rows: list[Image] = []
    for source, (target, _) in kernels_of(description).items():
        architecture = f"sm_{target}" if target.endswith("a") else "sm_90"
        digest = hashlib.sha256(CODE).hexdigest()
        rows.append(Image(f"{source}.xz", source, architecture, digest))
        (folder / f"{source}.xz").write_bytes(lzma.compress(CODE))
    listed = ImageList(library, "", description, names, tuple(rows))
    (folder / f"{library}.json").write_text(listed.to_json(), "utf-8")
    return listed
