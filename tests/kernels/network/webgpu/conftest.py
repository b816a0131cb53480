"""The software GPU that all tests of shaders share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernels.network.webgpu.adapters import Adapter, adapters
from kernels.network.webgpu.device import Device
from kernels.network.webgpu.library import WebGpuError

SOFTWARE = ("llvmpipe", "SwiftShader", "Microsoft Basic Render Driver")


@pytest.fixture(scope="session")
def adapter() -> Adapter:
    try:
        found = adapters()
    except WebGpuError as error:
        pytest.skip(str(error))
    for each in found:
        if any(name in each.name for name in SOFTWARE):
            return each
    pytest.skip("no software GPU: install mesa-vulkan-drivers and libvulkan1")


@pytest.fixture(scope="session")
def device(adapter) -> Iterator[Device]:
    device = Device(adapter)
    yield device
    device.close()
