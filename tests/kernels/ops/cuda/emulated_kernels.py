"""A library's kernels on the CPU, thread by thread, compiled for the host with emulator.h."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from ctypes import Structure, byref, c_char_p, c_int
from pathlib import Path
from typing import Any

import pytest

from kernels.driver.compiling import sources_of
from kernels.jit import toolchain
from kernels.jit.errors import BuildError
from kernels.jit.libraries import FOLDER, LIBRARIES
from tests.helpers import native
from tests.helpers.once import kept
from tests.kernels.driver import stubs
from tests.kernels.network.emulated import MAIN, REWRITTEN

HERE = Path(__file__).parent
NETWORK = HERE.parents[1] / "network"  # the folder of emulator.h
HOPPER = "90a"  # the target of Hopper-only kernels, whose instructions no emulator here supports


class EmulatedKernels:
    """A replacement for a DriverLibrary.

    Attributes:
        names: The names of all kernels.
        launched: The names of the kernels that ran.
        in_turn: The order of a block's threads, see emulator.h.
    """

    def __init__(self, built: Path, kernels: Iterable[str], sources: Iterable[str]) -> None:
        self._launch: Callable[..., bytes] = ctypes.CDLL(str(built)).emulated_launch
        self._launch.restype = c_char_p  # pyright: ignore[reportFunctionMemberAccess]
        self._numbers = {name: number for number, name in enumerate(kernels)}
        self.names = frozenset(self._numbers)
        self.sources = frozenset(sources)
        self.launched: set[str] = set()
        self.in_turn = False

    def kernel(
        self, source: str, name: str, threads: int, shared_bytes: int = 0, **_: Any
    ) -> Callable[[tuple[int, int, int], Any, Structure], int]:
        assert source in self.sources
        number = self._numbers[name]

        def launch(grid: tuple[int, int, int], _stream: Any, params: Structure) -> int:
            self.launched.add(name)
            numbers = map(c_int, (*grid, threads, shared_bytes, self.in_turn, False))
            failure = self._launch(number, byref(params), *numbers).decode()
            assert not failure, f"{name}: {failure}"
            return 0

        return launch


def built_or_skipped(
    folder: Path, library: str, headers: Mapping[str, str], *included: str, flag: str = "-O2"
) -> tuple[Mapping[str, Any], EmulatedKernels]:
    """Compile every kernel of a library, once for all runs of the same sources.

    Without a compiler or CUDA's headers, the test is skipped.

    Args:
        folder: This process's folder, from `tmp_path_factory.mktemp`.
        library: Its name.
        headers: Replacements for headers, by their path below `kernels/`.
        included: Headers to include before the sources.
        flag: A compiler flag.

    Returns:
        The library's description of itself, and its kernels.
    """
    described = stubs.description_once(library, folder)
    sources = [s for s in sources_of(LIBRARIES[library], described) if s.target != HOPPER]
    kernels = [name for source in sources for name in source.kernels]
    names = [source.name for source in sources]
    paths = [source.path.relative_to(FOLDER).as_posix() for source in sources]
    cuda = stubs.headers()
    includes = "\n".join(f'#include "{name}"' for name in (*included, *paths))
    launchers = ", ".join(f"launch<&{name}>" for name in kernels)
    text = MAIN.replace('#include "emulated_ptx.h"\n', "")
    text = text.format(includes=includes, launchers=launchers)
    try:
        compiler = toolchain.toolchain().compiler
        digest = native.digest(cuda, text, flag, *headers, *headers.values())
    except BuildError as error:
        pytest.skip(str(error))

    def compiled(to: Path) -> Path:
        _rewrite([*native.headers(), *(source.path for source in sources)], headers, to)
        main, built = to / "main.cpp", to / "emulated.so"
        main.write_text(text)
        flags = ["-std=c++17", flag, "-U_FORTIFY_SOURCE", "-w", "-shared", "-fPIC"]
        folders = [f"-I{path}" for path in (to, HERE, NETWORK, *cuda)]
        command = [compiler, *flags, *folders, "-o", str(built), str(main)]
        ran = subprocess.run(command, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return built

    return described, EmulatedKernels(kept(folder, library, digest, compiled), kernels, names)


def _rewrite(paths: Iterable[Path], headers: Mapping[str, str], to: Path) -> None:
    """Write sources as a host compiler accepts them, and replacements for headers, to a folder."""
    for path in paths:
        text = path.read_text("utf-8")
        for pattern, instead in REWRITTEN.items():
            text = re.sub(pattern, instead, text)
        _write(to / path.relative_to(FOLDER), text)
    for name, text in headers.items():
        _write(to / name, text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
