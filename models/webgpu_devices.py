"""Names the GPUs that WebGPU reaches as devices, and opens each once per process."""

from __future__ import annotations

import atexit
import threading
from contextlib import suppress
from functools import cache

import torch

from kernels.network.webgpu.adapters import Adapter, adapters, hardware
from kernels.network.webgpu.device import Device
from kernels.network.webgpu.library import WebGpuError
from utils.translation.texts import tr

WEBGPU = "webgpu"  # what users call these devices
# PyTorch's type for extensions. Giving it a name of ours would make PyTorch look for an accelerator
# with random numbers and streams.
_TYPE = "privateuseone"

_lock = threading.Lock()
_opened: dict[int, Device] = {}  # by index
_lost: dict[int, str] = {}  # why a GPU is not used any more, by index


def webgpu_device(index: int) -> torch.device:
    """Return the device of a GPU in `adapters`. It is a name: PyTorch allocates no tensor on it.

    Raises:
        WebGpuError: If an extension of PyTorch has devices of this type.
    """
    device = torch.device(_TYPE, index)
    if device.type != _TYPE:  # an extension has given it another name
        raise WebGpuError(
            tr("another extension of PyTorch names its devices; WebGPU cannot be used beside it")
        )
    return device


def is_webgpu(device: torch.device) -> bool:
    return device.type == _TYPE


def key_of(device: torch.device) -> str:
    """Return the name that users choose a device by: "webgpu:0", "cuda:0", "cpu"."""
    return f"{WEBGPU}:{device.index}" if is_webgpu(device) else str(device)


def host_of(device: torch.device) -> torch.device:
    """Return the device that holds the pictures for a network on `device`: the CPU for WebGPU."""
    return torch.device("cpu") if is_webgpu(device) else device


@cache
def found() -> tuple[Adapter, ...]:
    """Return all GPUs, listed once: a driver takes up to a second.

    Raises:
        WebGpuError: If wgpu is missing or cannot be loaded.
    """
    return adapters()


def first_hardware() -> int:
    """Return the index of the first GPU that is no software.

    Raises:
        WebGpuError: If there is none.
    """
    return found().index(hardware(found()))


def adapter_of(device: torch.device) -> Adapter:
    """Return the GPU of a device.

    Raises:
        WebGpuError: If there is no such GPU.
    """
    index = device.index
    if not 0 <= index < len(found()):
        raise WebGpuError(tr("WebGPU finds no GPU '{name}'", name=index))
    return found()[index]


def opened(device: torch.device) -> Device:
    """Return the open GPU of a device, which all networks and threads share.

    Raises:
        WebGpuError: If it cannot be opened, or was lost; the message says why.
    """
    with _lock:
        if reason := _lost.get(device.index):
            raise WebGpuError(reason)
        if device.index not in _opened:
            _opened[device.index] = Device(adapter_of(device))
            _close_at_exit()
        return _opened[device.index]


@cache
def _close_at_exit() -> None:
    """Register the end of all GPUs once: wgpu polls each on a thread of its own."""
    atexit.register(_close)


def _close() -> None:
    for device in _opened.values():
        with suppress(WebGpuError):  # it was lost before
            device.close()


def give_up(device: torch.device, reason: str) -> None:
    """Let nothing use a GPU that failed, until `try_again`. The first reason counts."""
    with _lock:
        _opened.pop(device.index, None)
        _lost.setdefault(device.index, reason)


def given_up(device: torch.device) -> str:
    """Return why a GPU is not used any more, a sentence; "" if it may be used."""
    return _lost.get(device.index, "")


def try_again() -> None:
    """Let networks open the GPUs again that failed."""
    with _lock:
        _lost.clear()
