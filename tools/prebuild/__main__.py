"""`python -m tools.prebuild`: makes the images of the native libraries, and their manifest.

An image is made once for each digest of its sources; others of the folder are removed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kernels.driver import compiling
from kernels.jit.errors import BuildError
from kernels.jit.nvrtc import CompilationError
from kernels.jit.prebuilt import IMAGES, MANIFEST
from tools.prebuild import cpu, cuda
from tools.prebuild.cpu import PrebuildError


def main() -> int:
    """Build the images and the manifest; return 1 if an image could not be built."""
    parser = argparse.ArgumentParser(prog="python -m tools.prebuild", description=__doc__)
    parser.add_argument("--folder", type=Path, default=IMAGES, help=f"default: {IMAGES}")
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    try:
        images = [*cpu.build(folder), *cuda.build(folder)]
    except (PrebuildError, CompilationError, BuildError) as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    write_manifest(folder, images)
    for image in images:
        print(f"{image.stat().st_size:>9,} {image.name}")  # noqa: T201
    return 0


def write_manifest(folder: Path, images: list[Path]) -> None:
    """List the images with their sha256, and remove all other files from the folder."""
    compiling.write_manifest(folder, images)
    kept = {MANIFEST, *(path.name for path in images)}
    for path in folder.iterdir():
        if path.name not in kept:
            path.unlink()


if __name__ == "__main__":
    sys.exit(main())
