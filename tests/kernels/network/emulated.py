"""The mma.sync kernels in every precision on the CPU, compiled for the host with emulator.h.

The network's own launchers launch them as on a GPU, on CPU tensors.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import subprocess
from collections.abc import Callable, Iterable
from ctypes import Structure, byref, c_char_p, c_int
from pathlib import Path
from typing import Any

import pytest

from kernels.jit import toolchain
from kernels.jit.errors import BuildError
from kernels.jit.libraries import FOLDER
from tests.helpers import native
from tests.helpers.once import kept
from tests.kernels.driver import stubs

HERE = Path(__file__).parent
SOURCES = (
    "network_sm80.cu",
    "network_sm80_tf32.cu",
    "network_sm80_fp32.cu",
    "network_sm80_int8.cu",
    "network_sm75.cu",
)
IMMEDIATE = "network_sm75.cu"  # lacks asynchronous copies
# Code that a host compiler rejects, and its replacement.
REWRITTEN = {
    r"extern __shared__ __align__\(\d+\) unsigned char shared\[\];": (
        "unsigned char* const shared = emulator::shared_memory;"
    ),
    r"#ifdef __CUDACC__": "#if 1 //",
}
MAIN = """\
#include "emulated_ptx.h"
{includes}

// A 3x3 layer as a candidate of a tuning may have it.
template <typename Layer>
struct Fp16Sums : Layer {{
    static constexpr bool kFp16Sums = true;
}};

using Launcher = int (*)(const void*, const int (&)[3], int, int, bool, bool);

template <auto kernel>
int launch(const void* params, const int (&grid)[3], int threads, int shared, bool in_turn,
           bool immediate) {{
    return emulator::launch(kernel, params, grid, threads, shared, in_turn, immediate);
}}

static const Launcher launchers[] = {{{launchers}}};

extern "C" const char* emulated_launch(int kernel, const void* params, int x, int y, int z,
                                       int threads, int shared, int in_turn, int immediate) {{
    const int grid[3] = {{x, y, z}};
    launchers[kernel](params, grid, threads, shared, in_turn != 0, immediate != 0);
    return emulator::failure.c_str();
}}
"""


class EmulatedKernels:
    """Kernels, given by their C++ names, that are compiled when the first of their group is needed.

    Each group is compiled once for all runs of the same sources.
    """

    def __init__(self, folder: Path, kernels: Iterable[str]) -> None:
        self._folder, self._headers = folder, stubs.headers()
        self._groups: dict[tuple[str, ...], list[str]] = {}
        for kernel in kernels:
            self._groups.setdefault(group(kernel), []).append(kernel)
        self._built: dict[tuple[str, ...], Callable[..., bytes]] = {}

    def __contains__(self, kernel: str) -> bool:
        return kernel in self._groups.get(group(kernel), ())

    def launch(self, kernel: str, *arguments: Any) -> str:
        """Launch a kernel and return what went wrong, or an empty string."""
        key = group(kernel)
        names = self._groups[key]
        if key not in self._built:
            self._built[key] = self._compiled(tuple(names))
        return self._built[key](names.index(kernel), *arguments).decode()

    def _compiled(self, names: tuple[str, ...]) -> Callable[..., bytes]:
        which = hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
        try:
            built = kept(
                self._folder,
                f"network-{which}",
                native.digest(self._headers, *names),
                lambda to: compiled(to, names, self._headers),
            )
        except BuildError as error:
            pytest.skip(str(error))
        launch: Callable[..., bytes] = ctypes.CDLL(str(built)).emulated_launch
        launch.restype = c_char_p  # pyright: ignore[reportFunctionMemberAccess]
        return launch


class EmulatedLibrary:
    """A replacement for a DriverLibrary.

    Attributes:
        launched: The names of the kernels that ran.
        in_turn: The order of a block's threads, see emulator.h.
        fp16_sums: Whether the 3x3 layers in FP16 accumulate in FP16.
    """

    def __init__(self, kernels: EmulatedKernels) -> None:
        self._kernels = kernels
        self.launched: set[str] = set()
        self.in_turn = False
        self.fp16_sums = False

    def kernel(
        self, source: str, name: str, threads: int, shared_bytes: int = 0, **_: bool
    ) -> Callable[[tuple[int, int, int], Any, Structure], int]:
        assert source in SOURCES
        summed = with_fp16_sums(name)
        name = summed if self.fp16_sums and summed in self._kernels else name
        assert name in self._kernels

        def launch(grid: tuple[int, int, int], _stream: Any, params: Structure) -> int:
            self.launched.add(name)
            immediate = source == IMMEDIATE
            numbers = map(c_int, (*grid, threads, shared_bytes, self.in_turn, immediate))
            failure = self._kernels.launch(name, byref(params), *numbers)
            assert not failure, f"{name}: {failure}"
            return 0

        return launch


def group(kernel: str) -> tuple[str, ...]:
    """Return what a kernel shares with the kernels that are launched along with it.

    That is the type of its operands, its network's layers, and which tiles they have.
    """
    operands, layers, layer = re.findall(r"<(\w+), (?:.* )?(\S+Layers\S*)::(\w+)", kernel)[0]
    return operands, layers, *(word for word in ("Wide", "Small") if word in layer)


def with_fp16_sums(kernel: str) -> str:
    """Return the FP16-accumulating version of a 3x3 layer's kernel; other names stay unchanged."""
    return re.sub(r"(conv3x3<__half, )(\S+Layers<\S+In16Bits>::\w+)", r"\1Fp16Sums<\2>", kernel)


def compiled(folder: Path, kernels: Iterable[str], headers: Iterable[Path]) -> Path:
    """Compile kernels, given by their C++ names, into `folder`.

    Raises:
        BuildError: If there is no compiler.
    """
    for path in (*native.headers(), *map(native.source, SOURCES)):
        text = path.read_text("utf-8")
        for pattern, instead in REWRITTEN.items():
            text = re.sub(pattern, instead, text)
        copy = folder / path.relative_to(FOLDER)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text)
    (folder / "include/common/ptx.cuh").write_text('#include "emulated_ptx.h"\n')
    launchers = ", ".join(f"launch<&{name}>" for name in kernels)
    main, built = folder / "main.cpp", folder / "emulated.so"
    includes = "\n".join(f'#include "network/cuda/{source}"' for source in SOURCES)
    main.write_text(MAIN.format(includes=includes, launchers=launchers))
    flags = ["-std=c++17", "-O1", "-U_FORTIFY_SOURCE", "-w", "-shared", "-fPIC"]
    folders = [f"-I{path}" for path in (folder, HERE, *headers)]
    command = [toolchain.toolchain().compiler, *flags, *folders, "-o", str(built), str(main)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return built
