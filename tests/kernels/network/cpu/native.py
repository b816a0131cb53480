"""The library of the network on the CPU, compiled for the levels of x86-64 that run here."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import platform
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from kernels.jit import toolchain
from kernels.jit.errors import BuildError
from kernels.jit.libraries import LIBRARIES
from kernels.jit.openmp import use_openmp
from kernels.network.cpu.launchers import CpuNetwork
from kernels.table.names import NETWORK_CPU
from tests.helpers import native
from tests.helpers.once import kept

# By level: PyTorch's names of the processors that have it.
LEVELS = {
    "x86-64-v2": ("DEFAULT", "AVX2", "AVX512"),
    "x86-64-v3": ("AVX2", "AVX512"),
    "x86-64-v4": ("AVX512",),
}


@functools.cache
def library(level: str) -> ctypes.CDLL:
    """Load the library for a level of x86-64, compiled once for all runs, or skip the test."""
    if level not in available():
        pytest.skip(f"this processor is no {level}")
    try:
        compiler = toolchain.toolchain().compiler
    except BuildError as error:
        pytest.skip(str(error))

    def compiled(to: Path) -> Path:
        path = to / f"{level}.so"
        (source,) = LIBRARIES[NETWORK_CPU].sources
        command = toolchain.cpu_command(compiler, str(source), str(path))
        own = [f"-march={level}" if flag.startswith("-march=") else flag for flag in command]
        subprocess.run(own, check=True)
        return path

    with tempfile.TemporaryDirectory() as folder:
        made = kept(Path(folder) / "run", f"network-{level}", native.digest(()), compiled)
        loaded = ctypes.CDLL(str(made))
    use_openmp(loaded)
    return loaded


def available() -> list[str]:
    """Return the levels of this processor; skip the test on other processors than x86-64."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        pytest.skip("this processor is no x86-64")
    capability = torch.backends.cpu.get_cpu_capability()
    return [level for level, processors in LEVELS.items() if capability in processors]


def network(level: str) -> CpuNetwork:
    return CpuNetwork(library(level))


@contextlib.contextmanager
def threads_of_torch(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
