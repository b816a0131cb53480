"""The software GPU of Mesa, as a device of the engine."""

from __future__ import annotations

import pytest
import torch

from kernels.network.webgpu.adapters import Adapter
from kernels.network.webgpu.library import WebGpuError
from models.webgpu_devices import found, webgpu_device

SOFTWARE = ("llvmpipe", "SwiftShader", "Microsoft Basic Render Driver")


def software_gpu() -> torch.device:
    """Return the device of the software GPU; skip the test if there is none."""
    try:
        listed = found()
    except WebGpuError as error:
        pytest.skip(str(error))
    for index, adapter in enumerate(listed):
        if is_software(adapter):
            return webgpu_device(index)
    pytest.skip("no software GPU: install mesa-vulkan-drivers and libvulkan1")


def is_software(adapter: Adapter) -> bool:
    return any(name in adapter.name for name in SOFTWARE)
