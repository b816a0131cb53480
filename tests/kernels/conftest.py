from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest

from kernels.driver.driver import Driver
from kernels.jit import cuda_tools
from kernels.jit.errors import BuildError
from kernels.jit.nvrtc import Toolkit
from kernels.network import abi
from tests.kernels.driver import stubs
from tools.prebuild import cuda


@pytest.fixture(scope="session")
def stub_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile a CUDA driver that launches nothing and return its path."""
    return stubs.driver_stub(tmp_path_factory.mktemp("driver"))


@pytest.fixture
def stub(stub_path: Path) -> ctypes.CDLL:
    """Load the stub driver with an empty record."""
    library = stubs.loaded(stub_path)
    library.stub_take()
    ctypes.c_int.in_dll(library, "stub_parameter_bytes").value = 0
    ctypes.c_int.in_dll(library, "stub_version").value = 12000
    return library


@pytest.fixture
def driver(stub_path: Path, stub: ctypes.CDLL) -> Driver:
    return Driver(str(stub_path))


@pytest.fixture(scope="session")
def description(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the network library's description of itself."""
    return stubs.description_once("network", tmp_path_factory.mktemp("abi"))


@pytest.fixture(scope="session")
def described(description: dict[str, Any]) -> abi.Abi:
    return abi.parse(description)


@pytest.fixture(scope="session")
def toolkit() -> Toolkit:
    """Return NVRTC and CUDA's headers, from this machine or from `make prebuild`."""
    try:
        return cuda_tools.find_toolkit()[0]
    except BuildError as error:
        release = next(iter(cuda.ARCHITECTURES))
        if not cuda.is_unpacked(release, cuda.TOOLS):
            pytest.skip(str(error))
        return cuda.unpacked(release, cuda.TOOLS)
