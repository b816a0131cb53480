"""The native sources and headers of `kernels/`, by file name, and the digest of all."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from kernels.jit import toolchain
from kernels.jit.libraries import FOLDER, LIBRARIES
from tests.helpers.once import made_of

SOURCES = {".c", ".cpp", ".cu", ".cuh", ".h"}
COMPILERS = {"emulated", "emulated_kernels", "stubs", "toolchain"}  # modules with the commands
OF_TESTS = Path(__file__).parents[1] / "kernels"


def source(name: str) -> Path:
    """Return the source with this file name, such as "loss.cu"."""
    (found,) = (path for each in LIBRARIES.values() for path in each.sources if path.name == name)
    return found


def headers() -> list[Path]:
    """Return every header of ours."""
    return [path for path in FOLDER.rglob("*") if path.suffix in (".h", ".cuh")]


def digest(cuda: Iterable[Path], *parts: str) -> str:
    """Return a digest of all that a library depends on which the tests compile.

    Args:
        cuda: The folders of CUDA's headers.
        parts: Its name, and the flags and sources that are made for it alone.

    Raises:
        BuildError: If the compiler is missing or does not run.
    """
    return made_of(toolchain.toolchain().digest, _of_all_sources(tuple(cuda)), *parts)


@cache
def _of_all_sources(cuda: tuple[Path, ...]) -> str:
    """Return a digest of our files by contents, and of CUDA's headers by date and size."""
    files = {
        path.relative_to(root).as_posix(): path
        for root in (FOLDER, OF_TESTS)
        for path in sorted(root.rglob("*"))
        if path.suffix in SOURCES or (path.suffix == ".py" and path.stem in COMPILERS)
    }
    stats = ((path, path.stat()) for folder in cuda for path in sorted(folder.glob("*.h*")))
    dated = (f"{path} {found.st_size} {found.st_mtime_ns}" for path, found in stats)
    return made_of(*files, *files.values(), *dated)
