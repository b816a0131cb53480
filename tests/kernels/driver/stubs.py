"""Compiles what CUDA tests without a GPU need: descriptions, and a driver that records launches.

Both need a C++ compiler and CUDA's headers, but neither nvcc nor a GPU.
"""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kernels.driver import compiling
from kernels.jit import cuda_tools, toolchain
from kernels.jit.errors import BuildError
from kernels.jit.libraries import LIBRARIES
from tests.helpers import native
from tests.helpers.once import kept

STUBS = Path(__file__).parent


def headers() -> tuple[Path, ...]:
    """Return the folders of CUDA's headers; skip the test without them."""
    try:
        return cuda_tools.find_headers()
    except BuildError as error:
        pytest.skip(str(error))


def shared_library(folder: Path, name: str, source: Path) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    built = folder / name
    command = [compiler, "-shared", "-fPIC", *(f"-I{path}" for path in (STUBS, *headers()))]
    # The library calls its own functions, whatever else the process has loaded.
    command += ["-Wl,-Bsymbolic", "-o", str(built), str(source)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return built


def description(library: str, folder: Path) -> dict[str, Any]:
    """Return a library's description of itself, compiled in `folder` and run without a GPU."""
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


def description_once(library: str, folder: Path) -> dict[str, Any]:
    """Return a library's description of itself, compiled once for all runs of the same sources.

    Args:
        folder: This process's folder, from `tmp_path_factory.mktemp`.
    """

    def described(to: Path) -> Path:
        path = to / "description.json"
        path.write_text(json.dumps(description(library, to)), "utf-8")
        return path

    try:
        digest = native.digest(headers(), library)
    except BuildError as error:
        pytest.skip(str(error))
    made = kept(folder, f"description-{library}", digest, described)
    return json.loads(made.read_text("utf-8"))


def driver_stub(folder: Path) -> Path:
    return shared_library(folder, "libcuda_stub.so", STUBS / "libcuda_stub.c")


def loaded(built: Path) -> ctypes.CDLL:
    """Load a stub, to read its record."""
    library = ctypes.CDLL(str(built))
    library.stub_take.restype = ctypes.c_char_p
    return library
