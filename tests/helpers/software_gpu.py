"""The software GPU of Mesa, as a device of the engine."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch

from app.engine import webgpu_rates
from kernels.network.webgpu.adapters import Adapter
from kernels.network.webgpu.library import WebGpuError
from models import webgpu_devices
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


@contextmanager
def unmeasured_hardware(monkeypatch: pytest.MonkeyPatch) -> Generator[torch.device]:
    """Let the software GPU pass for hardware that was never measured."""
    software = software_gpu()
    listed = [replace(each, software=False) for each in found()]
    monkeypatch.setattr(webgpu_devices, "adapters", lambda: tuple(listed))
    forget_gpus()
    yield software
    forget_gpus()


def forget_gpus() -> None:
    """Let the next caller list the GPUs, and choose between them and the CPU, again."""
    webgpu_devices.found.cache_clear()
    webgpu_rates._decided.clear()
