from __future__ import annotations

import ctypes

import pytest

from kernels.network import abi
from tests.kernels.driver import stubs


@pytest.fixture(scope="session")
def described_library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The part of the network's library that describes it."""
    return stubs.description_library("network", tmp_path_factory.mktemp("abi"))


@pytest.fixture(scope="session")
def described(described_library: ctypes.CDLL) -> abi.Abi:
    """What the library says of itself."""
    return abi.describe(described_library)
