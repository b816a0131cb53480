"""What every call of the operations' launchers on a GPU needs: types, addresses and buffers."""

from __future__ import annotations

import functools
from collections.abc import Generator
from contextlib import contextmanager
from ctypes import POINTER, c_int, c_longlong, c_void_p
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kernels.ops.structs import (
    StyleforgeConvNormRelu,
    StyleforgeConvolution,
    StyleforgeNorm,
    StyleforgeResidualBlock,
)

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


@dataclass(frozen=True, slots=True)
class Gpu:
    """What the launchers have to know of a GPU."""

    multiprocessors: int
    major: int  # of its compute capability


@dataclass(frozen=True, slots=True)
class Call:
    """A library, and the GPU and stream that a call of it runs on.

    Attributes:
        library: Has the launchers of include/operations.h: `Operations` of images, or a compiled
            library that was passed to `declare`.
        gpu: The GPU.
        stream: A CUstream.
    """

    library: Any
    gpu: Gpu
    stream: int


def declare(library: Any) -> None:
    """Declare the functions of a compiled library, so that structs are passed by address."""
    for name, (struct, more, result) in _SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes = [POINTER(struct), *(() if more is None else (*more, c_void_p))]
        function.restype = result


@contextmanager
def on_gpu(library: Any, device: torch.device) -> Generator[Call]:
    """Run what follows on the GPU of a tensor, on PyTorch's current stream there."""
    with torch.cuda.device(device):
        stream = torch.cuda.current_stream().cuda_stream
        yield Call(library, gpu_of(torch.cuda.current_device()), stream)


@functools.cache
def gpu_of(index: int) -> Gpu:
    """The GPU that PyTorch calls cuda:`index`."""
    cuda: Any = torch.cuda  # PyTorch gives no type to what this returns
    found = cuda.get_device_properties(index)
    return Gpu(found.multi_processor_count, found.major)


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
