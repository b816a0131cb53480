"""Lists the devices that networks paint on: PyTorch's, and GPUs that WebGPU reaches."""

from __future__ import annotations

import torch

from app.engine.webgpu_rates import kept_choice
from app.parameters import AUTO
from kernels.network.webgpu.library import WebGpuError
from models.webgpu_devices import (
    WEBGPU,
    adapter_of,
    first_hardware,
    found,
    is_webgpu,
    key_of,
    webgpu_device,
)
from utils import devices
from utils.devices import DeviceChoice
from utils.translation.texts import tr


def painting_devices(named: str = AUTO) -> tuple[DeviceChoice, ...]:
    """Return the devices to choose from. A software GPU is one of them only if `named` is its key.

    Args:
        named: The key in use. A key that names no listed device, such as "webgpu", comes last.
    """
    try:
        gpus = [
            DeviceChoice(f"{WEBGPU}:{n}", f"{each.name} ({each.backend})")
            for n, each in enumerate(found())
            if not each.software
        ]
    except WebGpuError:
        gpus = []  # `doctor` says why
    listed = (*devices.devices(), *gpus)
    if named in {each.key for each in listed}:
        return listed
    try:
        return (*listed, DeviceChoice(named, painting_title(painting_device(named))))
    except ValueError:
        return listed  # it is gone


def painting_device(key: str) -> torch.device:
    """Convert "auto", "cpu", "cuda:N" or "webgpu:N" to a device.

    "auto" is a CUDA device, or else the WebGPU device that was measured to be faster than the CPU
    here, or else the CPU. "webgpu" is the first GPU that is no software.

    Raises:
        ValueError: If the device does not exist; the message is one sentence.
    """
    kind, _, number = key.partition(":")
    if kind != WEBGPU:
        device = devices.resolve(key)
        return kept_choice() or device if key == "auto" and device.type == "cpu" else device
    try:
        if not number:
            return webgpu_device(first_hardware())
        if not (number.isascii() and number.isdigit()):
            raise ValueError(tr("there is no device '{name}'", name=key))
        device = webgpu_device(int(number))
        adapter_of(device)
    except WebGpuError as error:
        raise ValueError(
            tr("there is no device '{name}': {reason}", name=key, reason=str(error))
        ) from error
    return device


def painting_title(device: torch.device) -> str:
    """Return the label of a device: "CPU", or the GPU's name with its index."""
    if not is_webgpu(device):
        return devices.title(device)
    adapter = adapter_of(device)
    return f"{adapter.name} ({key_of(device)})"


def pytorch_key(key: str) -> str:
    """Return the key of a device for training, which PyTorch computes: "auto" for WebGPU."""
    return "auto" if key.partition(":")[0] == WEBGPU else key
