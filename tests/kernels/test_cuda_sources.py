"""Every CUDA source compiles, without a warning, for every architecture the toolkit knows."""

from __future__ import annotations

import functools
import subprocess

import pytest

from kernels.jit import toolchain
from kernels.jit.libraries import FOLDER, LIBRARIES

SOURCES = [source for library in LIBRARIES.values() for source in library.cuda]
NVCC = toolchain.nvcc()


def architectures() -> list[str]:
    """sm_75 and up, and Hopper with its own instructions."""
    if NVCC is None:
        return []
    told = subprocess.run([NVCC, "--list-gpu-arch"], capture_output=True, text=True, check=True)
    return [*(line.removeprefix("compute_") for line in told.stdout.split()), "90a"]


@functools.cache
def quick() -> list[str]:
    """The flag that does without optimization, from CUDA 12.8 on: this is about the sources."""
    told = subprocess.run([str(NVCC), "--help"], capture_output=True, text=True, check=True)
    return ["--Ofast-compile=max"] if "--Ofast-compile" in told.stdout else []


@pytest.mark.skipif(NVCC is None, reason="there is no nvcc here")
@pytest.mark.parametrize("architecture", architectures())
@pytest.mark.parametrize("source", SOURCES)
def test_a_cuda_source_compiles_without_a_warning(source, architecture, tmp_path):
    target = f"-gencode=arch=compute_{architecture},code=sm_{architecture}"
    flags = ["-std=c++17", *quick(), "-Werror", "all-warnings", "-Xcompiler", "-Wall"]
    command = [str(NVCC), *flags, target, "-cubin", "-o", str(tmp_path / "out.cubin")]
    ran = subprocess.run([*command, str(FOLDER / source)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_no_cuda_source_needs_a_torch_header():
    cuda = [library for library in LIBRARIES.values() if library.cuda]
    headers = {header for library in cuda for header in library.headers}
    assert headers
    for path in (*headers, *(FOLDER / source for source in SOURCES)):
        assert "torch" not in path.read_text("utf-8"), path
