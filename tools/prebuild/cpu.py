"""CPU libraries for every system, by the cross compiler that `ziglang` brings from PyPI."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kernels.jit.libraries import LIBRARIES, Library, is_exact
from kernels.jit.prebuilt import image_name

# By the name of the target: the compiler's target, and the processor.
#
# glibc 2.17 is what manylinux2014 promises, macOS 11 the first release on arm64. The levels of
# x86-64 are those of the psABI: v2 is any processor since 2009, v3 (AVX2 and FMA) most since 2013.
# The compiler first makes the libraries of each system, which one target at a time can do, so that
# targets of one system are apart.
TARGETS = {
    "windows-x86_64_v2": ("x86_64-windows-gnu", "x86_64_v2"),
    "linux-x86_64_v2": ("x86_64-linux-gnu.2.17", "x86_64_v2"),
    "linux-arm64": ("aarch64-linux-gnu.2.17", "generic"),
    "macos-arm64": ("aarch64-macos.11.0", "apple_m1"),
    "linux-x86_64_v3": ("x86_64-linux-gnu.2.17", "x86_64_v3"),
    "windows-x86_64_v3": ("x86_64-windows-gnu", "x86_64_v3"),
}

# As kernels/jit/toolchain.py has them: the same arithmetic, so that results are bit-equal.
FLAGS = [
    "-std=c++17",
    "-O3",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-exceptions",
    "-fno-rtti",
    "-fvisibility=hidden",
    "-shared",
    "-s",
]


class PrebuildError(RuntimeError):
    """An image cannot be made; the message says which and why."""


def build(folder: Path) -> list[Path]:
    """Compile every CPU library for every target, on as many cores as there are.

    Args:
        folder: Where the images are put; what is there already is not made again.

    Returns:
        The images, whether they were made now or before.

    Raises:
        PrebuildError: The compiler refused a source.
    """
    jobs = [
        (library, target) for target in TARGETS for library in LIBRARIES.values() if library.cpu
    ]

    def make(job: tuple[Library, str]) -> Path:
        image = folder / image_name(*job)
        if not image.exists():
            _compile(*job, image)
        return image

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each waits for a process
        return list(pool.map(make, jobs))


def flags(source: Path) -> list[str]:
    """Those of the compiler for a source."""
    return [*FLAGS, f"-ffp-contract={'off' if is_exact(source) else 'fast'}"]


def _compile(library: Library, target: str, image: Path) -> None:
    triple, processor = TARGETS[target]
    temporary = image.with_suffix(".making")
    position = [] if target.startswith("windows") else ["-fPIC"]
    command = [sys.executable, "-m", "ziglang", "c++", "-target", triple, f"-mcpu={processor}"]
    (source,) = library.sources
    command += [*flags(source), *position, str(source), "-o", str(temporary)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PrebuildError(f"{image.name} could not be compiled:\n{done.stderr.strip()}")
    temporary.replace(image)
