"""`python -m tools.prebuild`: makes the images of the native libraries, and their manifest.

An image is made once for each digest of its sources; others of the folder are removed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

from kernels.jit.prebuilt import IMAGES, MANIFEST
from tools.prebuild import cpu, cuda
from tools.prebuild.cpu import PrebuildError
from tools.prebuild.nvrtc import CompilationError


def main() -> int:
    """Returns 1 where an image could not be made."""
    parser = argparse.ArgumentParser(prog="python -m tools.prebuild", description=__doc__)
    parser.add_argument("--folder", type=Path, default=IMAGES, help=f"default: {IMAGES}")
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    try:
        images = [*cpu.build(folder), *cuda.build(folder)]
    except (PrebuildError, CompilationError) as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    write_manifest(folder, images)
    for image in images:
        print(f"{image.stat().st_size:>9,} {image.name}")  # noqa: T201
    return 0


def write_manifest(folder: Path, images: list[Path]) -> None:
    """Name the images with their sha256, and remove what else is in the folder."""
    made = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in images}
    text = json.dumps({"images": made}, indent=1) + "\n"
    (folder / MANIFEST).write_text(text, "utf-8")
    for path in folder.iterdir():
        if path.name not in made and path.name != MANIFEST:
            path.unlink()


if __name__ == "__main__":
    sys.exit(main())
