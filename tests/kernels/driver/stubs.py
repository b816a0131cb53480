"""Compiles the stubs: a CUDA runtime and a CUDA driver that only write down each launch."""

from __future__ import annotations

import ctypes
import functools
import subprocess
from pathlib import Path

import pytest

from kernels.jit import toolchain

STUBS = Path(__file__).parent


def nvcc() -> str:
    """nvcc; where there is none, the test is skipped."""
    found = toolchain.nvcc()
    if found is None:
        pytest.skip("there is no nvcc here, whose headers are needed")
    return found


@functools.cache
def quick() -> tuple[str, ...]:
    """The flag that does without optimization, from CUDA 12.8 on: only host code matters here."""
    told = subprocess.run([nvcc(), "--help"], capture_output=True, text=True, check=True)
    return ("--Ofast-compile=max",) if "--Ofast-compile" in told.stdout else ()


def shared_library(folder: Path, name: str, *sources: Path, flags: tuple[str, ...] = ()) -> Path:
    """Compile sources with nvcc, without CUDA's own runtime, into `folder`."""
    built = folder / name
    command = [nvcc(), "-shared", "-cudart", "none", "-Xcompiler", "-fPIC", "-I", str(STUBS)]
    # What the library calls is what it contains, whatever else the process has loaded.
    command += ["-Xlinker", "-Bsymbolic", *flags, "-o", str(built), *map(str, sources)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return built


def driver_stub(folder: Path) -> Path:
    """The driver's stub, compiled into `folder`."""
    return shared_library(folder, "libcuda_stub.so", STUBS / "libcuda_stub.c")


def loaded(built: Path) -> ctypes.CDLL:
    """A stub, to ask what it wrote down."""
    library = ctypes.CDLL(str(built))
    library.stub_take.restype = ctypes.c_char_p
    return library
