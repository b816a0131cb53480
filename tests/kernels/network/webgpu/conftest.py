"""The software GPU that all tests of shaders share."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from kernels.network.webgpu.adapters import Adapter, adapters
from kernels.network.webgpu.device import Device
from kernels.network.webgpu.library import WebGpuError

SOFTWARE = ("llvmpipe", "SwiftShader", "Microsoft Basic Render Driver")


@pytest.fixture(scope="session")
def adapter() -> Adapter:
    """Return a GPU that computes on the processor; on Linux, its absence is a failure."""
    try:
        found = adapters()
    except WebGpuError as error:
        if sys.platform.startswith("linux"):
            pytest.fail(str(error))
        pytest.skip(str(error))
    for each in found:
        if any(name in each.name for name in SOFTWARE):
            return each
    if not sys.platform.startswith("linux"):
        pytest.skip("this system has no software GPU")
    pytest.fail("no software GPU; `make test` installs Mesa's on Debian as root")


@pytest.fixture(scope="session")
def device(adapter) -> Iterator[Device]:
    device = Device(adapter)
    yield device
    device.close()
