"""Kernels of single operations on the CPU, compiled for the host with the network's emulator.h.

An operation's launch function gets a Launcher instead of a CudaLauncher, and CPU tensors.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import subprocess
from ctypes import Structure, byref, c_char_p, c_double, c_int, c_longlong, c_void_p
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from kernels.jit import toolchain
from kernels.jit.errors import BuildError
from kernels.jit.libraries import FOLDER
from kernels.table.launcher import Gpu
from tests.helpers import native
from tests.helpers.once import kept
from tests.kernels.driver import stubs

HERE = Path(__file__).parent
EMULATOR = HERE.parent / "network"
MAIN = """\
#include "emulator.h"
#include "emulated_ptx.h"
#include "emulated_tf32.h"
#include "emulated_cluster.h"
#include "{source}"
{more}
{kernels}"""
KERNEL = """
struct {name}_arguments {{
{fields}
}};
static void run_{name}({name}_arguments a) {{ {name}({arguments}); }}
extern "C" const char* emulated_{name}(const void* arguments, int x, int y, int z, int threads) {{
    const int grid[3] = {{x, y, z}};
    emulator::launch(run_{name}, arguments, grid, threads, 0, false, false);
    return emulator::failure.c_str();
}}
"""
DECLARED = re.compile(
    r'extern\s+"C"\s+__global__\s+void\s+__launch_bounds__\([\w:, ]+\)\s+(\w+)\(([^)]*)\)'
)


class Launcher:
    """A replacement for a CudaLauncher; `launched` has name and arguments of each launch."""

    gpu = Gpu(-1, 2, 9)

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self.launched: list[tuple[str, tuple[Any, ...]]] = []

    def __call__(
        self,
        kernel: str,
        blocks: int | tuple[int, int, int],
        threads: int,
        *arguments: Any,
        overlap: bool = False,  # ignored: kernels run one after another here
        shared: int = 0,  # ignored: the host's memory is large enough
        cooperative: bool = False,
    ) -> None:
        self.launched.append((kernel, arguments))
        values = [_as_c(value) for value in arguments]

        class Arguments(Structure):
            _fields_ = [(f"a{number}", type(value)) for number, value in enumerate(values)]

        grid = (blocks, 1, 1) if isinstance(blocks, int) else blocks
        run = getattr(self._library, f"emulated_{kernel}")
        run.restype = c_char_p
        # Blocks run one after another and cannot wait for later blocks. A second run of a
        # cooperative kernel finds the values that all blocks left in the first.
        for _ in range(1 + cooperative):
            failure = run(byref(Arguments(*values)), *map(c_int, (*grid, threads))).decode()
            assert not failure, f"{kernel}: {failure}"


def built_or_skipped(
    folder: Path, source: str, more: str = "", *, at_once: bool = False
) -> ctypes.CDLL:
    """Compile a source of `kernels/`, once for all runs of the same sources.

    Without a compiler or CUDA's headers, the test is skipped.

    Args:
        folder: The test's own folder.
        source: The name of its file, or a header relative to `kernels/`.
        more: Code to append: kernels that call the source's templates.
        at_once: Whether it is for clusters, whose blocks run at once. Only functions of `more`
            with default visibility can be called.
    """
    path = FOLDER / source if "/" in source else native.source(source)
    text = path.read_text("utf-8") + more
    kernels = [_wrapped(name, arguments) for name, arguments in DECLARED.findall(text)]
    assert kernels
    headers = stubs.headers()
    try:
        compiler = toolchain.toolchain().compiler
        digest = native.digest(headers, source, more)
    except BuildError as error:
        pytest.skip(str(error))

    def compiled(to: Path) -> Path:
        main, built = to / "main.cpp", to / "emulated.so"
        main.write_text(MAIN.format(source=path, more=more, kernels="".join(kernels)))
        flags = ["-std=c++17", "-O1", "-U_FORTIFY_SOURCE", "-w", "-shared", "-fPIC"]
        if at_once:  # other libraries have variables of the same names, which threads share
            flags += ["-DEMULATED_CLUSTER", "-pthread", "-fvisibility=hidden"]
        folders = [f"-I{path}" for path in (FOLDER, EMULATOR, HERE, *headers)]
        command = [compiler, *flags, *folders, "-o", str(built), str(main)]
        ran = subprocess.run(command, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return built

    # Other tests may add other kernels to a source, so its name does not tell the libraries apart.
    which = hashlib.sha256(more.encode()).hexdigest()[:8]
    return ctypes.CDLL(str(kept(folder, f"{source}-{which}", digest, compiled)))


def _wrapped(name: str, declared: str) -> str:
    """Return a kernel that unpacks its arguments from a struct."""
    types = [argument.strip().rpartition(" ")[0] for argument in declared.split(",")]
    names = [f"a{number}" for number in range(len(types))]
    fields = "\n".join(f"    {kind} {name};" for kind, name in zip(types, names, strict=True))
    arguments = ", ".join(f"a.{name}" for name in names)
    return KERNEL.format(name=name, fields=fields, arguments=arguments)


def _as_c(value: Any) -> Any:
    """Convert a value as CudaLauncher does."""
    if isinstance(value, Structure):
        return value
    if value is None or isinstance(value, Tensor):
        return c_void_p(None if value is None else value.data_ptr())
    if isinstance(value, bool):
        return c_int(value)
    return c_longlong(value) if isinstance(value, int) else c_double(value)
