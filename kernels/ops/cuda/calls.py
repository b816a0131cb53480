"""What every call of the operations' launchers on a GPU needs: types, addresses and buffers."""

from __future__ import annotations

import ctypes
import json
from ctypes import POINTER, c_char_p, c_int, c_longlong, c_void_p
from typing import Any

import torch
from torch import Tensor

from kernels.driver.layouts import check
from kernels.jit import build
from kernels.ops.cuda.structs import (
    STRUCTURES,
    StyleforgeConvNormRelu,
    StyleforgeConvolution,
    StyleforgeNorm,
    StyleforgeResidualBlock,
)
from kernels.ops.registry import OPERATIONS

# As include/common/data_type.h numbers them; other types run on PyTorch.
TYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}
MOMENTS_BYTES = 16  # of the statistics of a channel, and of its affine

# Of each function of operations.h: its struct, the types of its other arguments before the stream
# (None where it takes no stream), and its result's.
_SIGNATURES: dict[str, tuple[type[Any], tuple[Any, ...] | None, type[Any]]] = {
    "styleforge_packed_bytes": (StyleforgeConvolution, None, c_longlong),
    "styleforge_tiles": (StyleforgeConvolution, None, c_int),
    "styleforge_pack_weight": (StyleforgeConvolution, (c_void_p, c_void_p), c_int),
    "styleforge_convolve": (StyleforgeConvolution, (), c_int),
    "styleforge_norm_scratch": (StyleforgeNorm, None, c_longlong),
    "styleforge_norm": (StyleforgeNorm, (), c_int),
    "styleforge_conv_norm_relu": (StyleforgeConvNormRelu, (), c_int),
    "styleforge_residual_block": (StyleforgeResidualBlock, (), c_int),
}


def declare(library: Any) -> None:
    """Declare the functions of a compiled library, so that structs are passed by address.

    What was made of images needs none of it.

    Raises:
        BuildError: The library's structs differ from those of this program.
    """
    if not isinstance(library, ctypes.CDLL):
        return
    describe = library.styleforge_operations_abi
    describe.restype = c_char_p
    check(json.loads(describe())["structs"], STRUCTURES, "kernels/ops/cuda/structs.py")
    for name, (struct, more, result) in _SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes = [POINTER(struct), *(() if more is None else (*more, c_void_p))]
        function.restype = result


build.on_load(OPERATIONS, declare)


def launched(error: int, what: str) -> None:
    """Raise RuntimeError if a launcher of the operation `what` returned an error."""
    if error:
        raise RuntimeError(f"{what} could not be launched: CUDA error {error}")


def address(x: Tensor | None) -> int | None:
    """Of the first element; None, a null pointer, of no tensor."""
    return None if x is None else x.data_ptr()


def bytes_beside(x: Tensor, count: int) -> Tensor:
    """An uninitialized buffer of `count` bytes on the device of `x`."""
    return torch.empty(count, dtype=torch.uint8, device=x.device)
