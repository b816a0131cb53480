from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from kernels.driver.driver import Driver
from tests.kernels.driver import stubs


@pytest.fixture(scope="session")
def stub_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CUDA driver that launches nothing."""
    return stubs.driver_stub(tmp_path_factory.mktemp("driver"))


@pytest.fixture
def stub(stub_path: Path) -> ctypes.CDLL:
    """The same, loaded, with nothing written down."""
    library = stubs.loaded(stub_path)
    library.stub_take()
    ctypes.c_int.in_dll(library, "stub_parameter_bytes").value = 0
    ctypes.c_int.in_dll(library, "stub_version").value = 12000
    return library


@pytest.fixture
def driver(stub_path: Path, stub: ctypes.CDLL) -> Driver:
    return Driver(str(stub_path))
