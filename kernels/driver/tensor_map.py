"""Tensor maps: how a GPU's tensor memory accelerator (sm_90) finds boxes of a tensor."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_uint, c_ulonglong, c_void_p
from typing import Any

from kernels.driver.driver import Driver
from kernels.jit.errors import BuildError

BYTES, ALIGNMENT = 128, 64  # of a CUtensorMap
STRIDE_ALIGNMENT = 16  # bytes: of the address and of every stride

# Names as in cuda.h.
CU_TENSOR_MAP_DATA_TYPE = {"float16": 6, "bfloat16": 9}
CU_TENSOR_MAP_SWIZZLE = {32: 1, 64: 2, 128: 3}  # by the bytes of a box's row
CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2

_Map = c_ulonglong * (BYTES // 8)


class TensorMap(ctypes.Structure):
    """A CUtensorMap, passed to a kernel by value."""

    _fields_ = [("words", _Map)]


def encode(
    driver: Driver,
    dtype: str,
    address: int,
    sizes: Sequence[int],
    strides: Sequence[int],
    box: Sequence[int],
) -> TensorMap:
    """Describe a float16 or bfloat16 tensor whose boxes a kernel copies into shared memory.

    Rows of a box are swizzled by their number, so that wgmma reads them without bank conflicts.
    Elements outside of the tensor arrive as zeros.

    Args:
        address: The address of the first element, a multiple of 16.
        sizes: The tensor's sizes, the dimension of contiguous elements first.
        strides: The strides of the other dimensions in bytes; multiples of 16.
        box: Elements of a box along each dimension; the first makes 32, 64 or 128 bytes.

    Raises:
        BuildError: If the driver refuses the description.
    """
    rank = len(sizes)
    room = ctypes.create_string_buffer(BYTES + ALIGNMENT)
    aligned = -ctypes.addressof(room) % ALIGNMENT
    error: int = _function(driver)(
        ctypes.addressof(room) + aligned,
        CU_TENSOR_MAP_DATA_TYPE[dtype],
        rank,
        address,
        (c_ulonglong * rank)(*sizes),
        (c_ulonglong * (rank - 1))(*strides),
        (c_uint * rank)(*box),
        (c_uint * rank)(*(1,) * rank),
        0,  # not interleaved
        CU_TENSOR_MAP_SWIZZLE[2 * box[0]],
        CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        0,  # zeros outside
    )
    if error:
        raise BuildError(f"the driver cannot encode a tensor map of {list(sizes)}: error {error}")
    return TensorMap.from_buffer_copy(room, aligned)


def _function(driver: Driver) -> Any:
    function = driver.function("cuTensorMapEncodeTiled")
    function.argtypes = [
        *(c_void_p, c_uint, c_uint, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p),
        *(c_uint, c_uint, c_uint, c_uint),
    ]
    return function
