"""A part of a GPU's multiprocessors, as a stream whose kernels run on no others.

CUDA calls such a part a green context (driver 550 or newer). The kernels use the memory of
PyTorch's context.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import Structure, byref, c_ubyte, c_uint, c_void_p
from typing import Any

import torch

from kernels.driver.driver import LIBRARY

# Names as in cuda.h.
CU_DEV_RESOURCE_TYPE_SM = 1
# Count multiprocessors one by one rather than in clusters, which the network does not use.
CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING = 1
CU_GREEN_CTX_DEFAULT_STREAM = 1
CU_STREAM_NON_BLOCKING = 1


class DevResource(Structure):
    """CUdevResource, with room for the fields that later releases add at its end."""

    _fields_ = [
        ("type", c_uint),
        ("internal", c_ubyte * 92),
        ("multiprocessors", c_uint),
        ("least", c_uint),
        ("alignment", c_uint),
        ("rest", c_ubyte * 148),
    ]


class GreenContextError(RuntimeError):
    """Raised if the driver does not divide the GPU as requested."""


@contextmanager
def part_of_gpu(
    multiprocessors: int, device: int, library: str = LIBRARY
) -> Iterator[tuple[int, c_void_p]]:
    """Reserve some of a GPU's multiprocessors.

    Args:
        multiprocessors: The minimum number; the driver rounds up.
        device: The driver's number of the GPU, on which PyTorch has a context.

    Yields:
        The number of multiprocessors, and a CUstream that is limited to them.

    Raises:
        GreenContextError: If the driver refuses, or returns a number that differs from the request
            by more than its rounding.
    """
    driver: Any = ctypes.CDLL(library)

    def call(name: str, *arguments: Any) -> None:
        if error := getattr(driver, name)(*arguments):
            raise GreenContextError(
                f"{multiprocessors} multiprocessors of GPU {device}: {name} fails with CUDA driver "
                f"error {error}"
            )

    every, part, rest = DevResource(), DevResource(), DevResource()
    groups, description = c_uint(1), c_void_p()
    context, stream = c_void_p(), c_void_p()
    call("cuDeviceGetDevResource", device, byref(every), CU_DEV_RESOURCE_TYPE_SM)
    call(
        "cuDevSmResourceSplitByCount",
        *(byref(part), byref(groups), byref(every), byref(rest)),
        *(c_uint(CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING), c_uint(multiprocessors)),
    )
    if groups.value != 1 or not multiprocessors <= part.multiprocessors < every.multiprocessors:
        raise GreenContextError(
            f"GPU {device} has {every.multiprocessors} multiprocessors, and the driver cannot set "
            f"aside {multiprocessors}"
        )
    call("cuDevResourceGenerateDesc", byref(description), byref(part), c_uint(1))
    call("cuGreenCtxCreate", byref(context), description, device, CU_GREEN_CTX_DEFAULT_STREAM)
    try:
        call("cuGreenCtxStreamCreate", byref(stream), context, c_uint(CU_STREAM_NON_BLOCKING), 0)
        try:
            yield part.multiprocessors, stream
        finally:
            torch.cuda.synchronize(device)
            call("cuStreamDestroy_v2", stream)
    finally:
        call("cuGreenCtxDestroy", context)
