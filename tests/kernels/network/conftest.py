from __future__ import annotations

import ctypes
import subprocess

import pytest

from kernels.jit import toolchain
from kernels.jit.libraries import FOLDER
from kernels.network import abi


@pytest.fixture(scope="session")
def described_library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The part of the network's library that describes it; compiled by nvcc, run without a GPU."""
    nvcc = toolchain.nvcc()
    if nvcc is None:
        pytest.skip("there is no nvcc here")
    built = tmp_path_factory.mktemp("abi") / "network_abi.so"
    flags = ["-std=c++17", "-arch=sm_80", "-shared", "-cudart=static", "-Xcompiler", "-fPIC"]
    command = [nvcc, *flags, "-o", str(built), str(FOLDER / "network_abi.cu")]
    subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(str(built))


@pytest.fixture(scope="session")
def described(described_library: ctypes.CDLL) -> abi.Abi:
    """What the library says of itself."""
    return abi.describe(described_library)
