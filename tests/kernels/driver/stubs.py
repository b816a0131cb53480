"""Compiles what the tests of CUDA code run without a GPU: descriptions, and a CUDA driver that only
writes down each launch. Both need a C++ compiler and CUDA's headers, and neither nvcc nor a GPU."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kernels.driver import compiling
from kernels.jit import cuda_tools, toolchain
from kernels.jit.errors import BuildError
from kernels.jit.libraries import LIBRARIES

STUBS = Path(__file__).parent


def headers() -> tuple[Path, ...]:
    """The folders of CUDA's headers; where there are none, the test is skipped."""
    try:
        return cuda_tools.find_headers()
    except BuildError as error:
        pytest.skip(str(error))


def shared_library(folder: Path, name: str, source: Path) -> Path:
    """Compile a C source into `folder`."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    built = folder / name
    command = [compiler, "-shared", "-fPIC", *(f"-I{path}" for path in (STUBS, *headers()))]
    # What the library calls is what it contains, whatever else the process has loaded.
    command += ["-Wl,-Bsymbolic", "-o", str(built), str(source)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return built


def description(library: str, folder: Path) -> dict[str, Any]:
    """What a library says of itself; compiled into `folder`, run without a GPU."""
    try:
        compiler = toolchain.toolchain().compiler
    except BuildError as error:
        pytest.skip(str(error))
    built = folder / f"{library}_abi{toolchain.SUFFIX}"
    command = toolchain.description_command(
        *(compiler, str(LIBRARIES[library].abi), str(built), headers()),
        f"styleforge_{library}_abi",
    )
    return compiling.describe(LIBRARIES[library], command, built, folder=folder)


def driver_stub(folder: Path) -> Path:
    """The driver's stub, compiled into `folder`."""
    return shared_library(folder, "libcuda_stub.so", STUBS / "libcuda_stub.c")


def loaded(built: Path) -> ctypes.CDLL:
    """A stub, to ask what it wrote down."""
    library = ctypes.CDLL(str(built))
    library.stub_take.restype = ctypes.c_char_p
    return library
