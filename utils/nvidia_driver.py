"""Queries the NVIDIA driver of this machine, also before, without or with a broken PyTorch."""

from __future__ import annotations

import ctypes
import sys
from ctypes import byref, c_int
from dataclasses import dataclass

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"

# Names as in cuda.h.
CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76


@dataclass(frozen=True, slots=True)
class NvidiaDriver:
    """A driver that runs at least one GPU, with the newest CUDA release it supports, as (12, 6).

    `capabilities` are the compute capabilities of the GPUs that report one, such as (8, 6).
    """

    cuda: tuple[int, int]
    capabilities: tuple[tuple[int, int], ...]


def find_driver(library: str = LIBRARY) -> NvidiaDriver | None:
    """Query the driver, which may take a second and allocates nothing on a GPU.

    None without a driver, or if it runs no GPU.
    """
    try:
        driver = ctypes.CDLL(library)
    except OSError:
        return None
    count, version = c_int(), c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(byref(count)):
        return None
    if not count.value or driver.cuDriverGetVersion(byref(version)):
        return None
    found = (_capability(driver, ordinal) for ordinal in range(count.value))
    capabilities = tuple(capability for capability in found if capability)
    return NvidiaDriver((version.value // 1000, version.value % 1000 // 10), capabilities)


def _capability(driver: ctypes.CDLL, ordinal: int) -> tuple[int, int] | None:
    device, major, minor = c_int(), c_int(), c_int()
    asked = (
        (major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        (minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
    )
    if driver.cuDeviceGet(byref(device), ordinal):
        return None
    if any(driver.cuDeviceGetAttribute(byref(value), name, device) for value, name in asked):
        return None
    return major.value, minor.value
