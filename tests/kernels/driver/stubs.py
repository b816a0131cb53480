"""Compiles the stubs: a CUDA runtime and a CUDA driver that only write down each launch."""

from __future__ import annotations

import ctypes
import functools
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kernels.jit import toolchain
from kernels.jit.libraries import FOLDER

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


def description_library(library: str, folder: Path) -> ctypes.CDLL:
    """The part of a library that describes it; compiled into `folder`, run without a GPU."""
    built = folder / f"{library}_abi.so"
    flags = ["-std=c++17", "-arch=sm_80", "-shared", "-cudart=static", "-Xcompiler", "-fPIC"]
    command = [nvcc(), *flags, "-o", str(built), str(FOLDER / f"{library}_abi.cu")]
    subprocess.run(command, check=True, capture_output=True)
    loaded = ctypes.CDLL(str(built))
    getattr(loaded, f"styleforge_{library}_abi").restype = ctypes.c_char_p
    return loaded


def description(library: str, folder: Path) -> dict[str, Any]:
    """What a library says of itself; compiled into `folder`, run without a GPU."""
    return json.loads(getattr(description_library(library, folder), f"styleforge_{library}_abi")())


def driver_stub(folder: Path) -> Path:
    """The driver's stub, compiled into `folder`."""
    return shared_library(folder, "libcuda_stub.so", STUBS / "libcuda_stub.c")


def loaded(built: Path) -> ctypes.CDLL:
    """A stub, to ask what it wrote down."""
    library = ctypes.CDLL(str(built))
    library.stub_take.restype = ctypes.c_char_p
    return library
