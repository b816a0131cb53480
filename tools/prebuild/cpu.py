"""Builds CPU libraries for every system, with the cross compiler of `ziglang` from PyPI."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kernels.jit.libraries import FOLDER, LIBRARIES, Library, is_exact
from kernels.jit.prebuilt import image_name
from kernels.table.names import NETWORK_CPU

# By the name of the target: the compiler's target, and the processor.
#
# manylinux2014 promises glibc 2.17, and macOS 11 is the first release on arm64. The psABI names the
# levels of x86-64: v2 is any processor since 2009, v3 (AVX2 and FMA) most since 2013, v4 those with
# AVX-512.
# The compiler builds each system's C library once, in one process at a time.
TARGETS = {
    "linux-x86_64_v2": ("x86_64-linux-gnu.2.17", "x86_64_v2"),
    "linux-x86_64_v3": ("x86_64-linux-gnu.2.17", "x86_64_v3"),
    "linux-x86_64_v4": ("x86_64-linux-gnu.2.17", "x86_64_v4"),
    "linux-arm64": ("aarch64-linux-gnu.2.17", "generic"),
    "macos-arm64": ("aarch64-macos.11.0", "apple_m1"),
    "windows-x86_64_v2": ("x86_64-windows-gnu", "x86_64_v2"),
    "windows-x86_64_v3": ("x86_64-windows-gnu", "x86_64_v3"),
    "windows-x86_64_v4": ("x86_64-windows-gnu", "x86_64_v4"),
}

# The libraries that choose their own vectors. Others gain nothing from v4, and would round
# differently there.
WIDE = (NETWORK_CPU,)

# The compiler builds a C library for each processor that it links for. The object file has all code
# of a kernel, so one C library serves all levels of x86-64.
LINKED_FOR = {"x86_64_v3": "x86_64_v2", "x86_64_v4": "x86_64_v2"}

# The same arithmetic as in kernels/jit/toolchain.py, so that results are bit-equal.
FLAGS = [
    "-std=c++17",
    "-O3",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-exceptions",
    "-fno-rtti",
    "-fvisibility=hidden",
]


class PrebuildError(RuntimeError):
    """Raised if an image cannot be built; the message names it and the reason."""


def build(folder: Path) -> list[Path]:
    """Compile every CPU library for every target, on all cores.

    Args:
        folder: The folder for the images; existing ones are not built again.

    Returns:
        The images, new and existing.

    Raises:
        PrebuildError: If the compiler rejects a source.
    """

    def make(job: tuple[Library, str]) -> Path:
        image = folder / image_name(*job)
        if not image.exists():
            _compile(*job, image)
        return image

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each waits for a process
        return list(pool.map(make, _jobs()))


def targets_of(library: Library) -> list[str]:
    """List the targets that a CPU library has an image for."""
    return [name for name in TARGETS if library.name in WIDE or not name.endswith("_v4")]


def _jobs() -> list[tuple[Library, str]]:
    """List the images in an order in which no process waits for another one's C library.

    One process builds the C library of Windows for three minutes. Meanwhile the others compile for
    the other systems.
    """
    jobs = [
        (library, target)
        for target in TARGETS
        for library in LIBRARIES.values()
        if library.cpu and target in targets_of(library)
    ]
    first, *windows = (job for job in jobs if job[1].startswith("windows"))
    return [first, *(job for job in jobs if not job[1].startswith("windows")), *windows]


def flags(source: Path) -> list[str]:
    """Return the compiler flags for a source."""
    return [*FLAGS, f"-ffp-contract={'off' if is_exact(source) else 'fast'}", f"-I{FOLDER}"]


def _compile(library: Library, target: str, image: Path) -> None:
    """Compile a library's source and link it into `image`.

    The C compiler links in a separate step. `c++ -shared` would first build the system's C++
    library, for minutes, but the kernels use nothing from it.
    """
    triple, processor = TARGETS[target]
    (source,) = library.sources
    position = [] if target.startswith("windows") else ["-fPIC"]
    compiled, linked = image.with_suffix(".o"), image.with_suffix(".making")
    linked_for = LINKED_FOR.get(processor, processor)
    steps = (
        ["c++", f"-mcpu={processor}", *flags(source), *position, "-c", source, "-o", compiled],
        ["cc", f"-mcpu={linked_for}", "-shared", "-s", compiled, "-o", linked],
    )
    for compiler, *arguments in steps:
        command = [sys.executable, "-m", "ziglang", compiler, "-target", triple, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PrebuildError(f"{image.name} could not be compiled:\n{done.stderr.strip()}")
    compiled.unlink()
    linked.replace(image)
