"""The operations' launchers on the CPU: they read and write at the addresses they receive.

So the result shows, on any machine, whether a GPU call prepares the right strides, sizes, flags and
buffers. A packed weight is the unchanged weight; statistics are computed from the result.
"""

from __future__ import annotations

import copy
import ctypes
from ctypes import c_void_p

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.driver.sequence import Launch
from kernels.ops.style.structs import (
    StyleforgeConvNormRelu,
    StyleforgeConvolution,
    StyleforgeNorm,
    StyleforgeResidualBlock,
)
from kernels.table.calls import TYPES

DTYPES = {number: dtype for dtype, number in TYPES.items()}
TILE = 64  # pixels
MOMENTS = 16  # bytes


def memory(address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype) -> Tensor:
    """Return a tensor over the memory at an address."""
    reach = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    size = reach * dtype.itemsize
    buffer = (ctypes.c_char * size).from_address(address)
    return torch.frombuffer(buffer, dtype=dtype).as_strided(shape, strides)


class EmulatedKernel:
    """Computes a launcher's kernels on the CPU, from its struct and other arguments."""

    def __init__(self, run) -> None:
        self._run = run

    def bound(self, grid, arguments):
        return lambda stream: self._run(*arguments, stream)


class EmulatedOperations:
    """A stand-in with Operations' names and arguments; `calls` lists the called launchers.

    Launchers only record their arguments; `error` is the result of these calls.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.streams: list[int] = []
        self.error = 0
        self.launches: list[Launch] = []

    def recording(self) -> EmulatedOperations:
        other = copy.copy(self)
        other.launches = []
        return other

    def _submit(self, run, *arguments) -> int:
        def at_once(*given):
            *given, stream = given
            self.streams.append(stream)
            if not self.error:
                run(*given)
            return self.error

        self.launches.append(Launch(EmulatedKernel(at_once), (1, 1, 1), arguments))
        return 0

    def styleforge_packed_bytes(self, p: StyleforgeConvolution) -> int:
        side = 3 if p.phases == 4 else p.kernel
        return p.out_channels * p.in_channels * side * side * DTYPES[p.type].itemsize

    def styleforge_tiles(self, p: StyleforgeConvolution) -> int:
        return p.phases * -(-p.out_height * p.out_width // TILE)

    def styleforge_pack_weight(self, p, weight: int, packed: int, stream: None) -> int:
        size = self.styleforge_packed_bytes(p)

        def pack(weight: c_void_p, packed: c_void_p) -> None:
            ctypes.memmove(packed, weight, size)

        return self._submit(pack, c_void_p(weight), c_void_p(packed))

    def styleforge_convolve(self, p: StyleforgeConvolution, stream: None) -> int:
        def convolve(p: StyleforgeConvolution) -> None:
            self.calls.append("convolve")
            self._convolve(p)

        return self._submit(convolve, p)

    def styleforge_norm_scratch(self, p: StyleforgeNorm) -> int:
        return p.samples * p.channels * MOMENTS

    def styleforge_norm(self, p: StyleforgeNorm, stream: None) -> int:
        def norm(p: StyleforgeNorm) -> None:
            self.calls.append("norm")
            ctypes.memset(p.scratch, 255, self.styleforge_norm_scratch(p))
            self._norm(p)

        return self._submit(norm, p)

    def styleforge_conv_norm_relu(self, p: StyleforgeConvNormRelu, stream: None) -> int:
        def conv_norm_relu(p: StyleforgeConvNormRelu) -> None:
            self.calls.append("conv_norm_relu")
            self._statistics(p.conv)
            self._scratch(p.norm)
            self._convolve(p.conv)
            self._norm(p.norm)

        return self._submit(conv_norm_relu, p)

    def styleforge_residual_block(self, p: StyleforgeResidualBlock, stream: None) -> int:
        def residual_block(p: StyleforgeResidualBlock) -> None:
            self.calls.append("residual_block")
            for conv, norm in ((p.first, p.first_norm), (p.second, p.second_norm)):
                self._statistics(conv)
                ctypes.memset(p.affine, 255, norm.samples * norm.channels * MOMENTS)
            self._scratch(p.second_norm)
            self._convolve(p.first)
            self._norm(p.first_norm)
            self._convolve(p.second)
            self._norm(p.second_norm)

        return self._submit(residual_block, p)

    def _statistics(self, p: StyleforgeConvolution) -> None:
        """Write all that a convolution may, so that a checker finds a buffer that is too small."""
        size = MOMENTS * p.samples * self.styleforge_tiles(p) * p.out_channels
        ctypes.memset(p.parts, 255, size)

    def _scratch(self, p: StyleforgeNorm) -> None:
        ctypes.memset(p.scratch, 255, p.samples * p.channels * MOMENTS)

    def _convolve(self, p: StyleforgeConvolution) -> None:
        dtype, grow = DTYPES[p.type], 2 if p.phases == 4 else 1
        x = memory(p.x, (p.samples, p.in_channels, p.height, p.width), tuple(p.x_strides), dtype)
        shape = (p.samples, p.out_channels, p.out_height * grow, p.out_width * grow)
        y = memory(p.y, shape, tuple(p.y_strides), dtype)
        side = 3 if p.phases == 4 else p.kernel
        weight = memory(
            p.packed,
            (p.out_channels, p.in_channels, side, side),
            (p.in_channels * side * side, side * side, side, 1),
            dtype,
        ).double()
        bias = None
        if p.bias:
            bias = memory(p.bias, (p.out_channels,), (1,), dtype).double()
        wide = x.double()
        if p.phases == 4:
            assert (p.kernel, p.pad, p.border) == (2, 1, 1)
            wide = F.pad(F.interpolate(wide, scale_factor=2), (1,) * 4, mode="replicate")
        else:
            assert p.border == 0
            wide = F.pad(wide, (p.pad,) * 4, mode="reflect") if p.pad else wide
        y.copy_(F.conv2d(wide, weight, bias, (p.stride_h, p.stride_w)))

    def _norm(self, p: StyleforgeNorm) -> None:
        shape = (p.samples, p.channels, p.pixels)
        plane = p.channels * p.pixels
        strides = (plane, 1, p.channels) if p.channels_last else (plane, p.pixels, 1)
        x = memory(p.x, shape, strides, DTYPES[p.type])
        wide = x.double()
        scale = (wide.var(2, correction=0, keepdim=True) + p.eps).rsqrt()
        wide = (wide - wide.mean(2, keepdim=True)) * scale
        if p.gamma:
            wide = wide * self._parameter(p, p.gamma)
        if p.beta:
            wide = wide + self._parameter(p, p.beta)
        if p.residual:
            wide = wide + memory(p.residual, shape, strides, DTYPES[p.type])
        wide = wide.relu() if p.relu else wide
        if p.pad:
            assert p.channels_last
            planes = torch.unflatten(wide, 2, (p.pixels // p.width, p.width))
            mode = ("reflect", "replicate")[p.border]
            wide = F.pad(planes, (p.pad,) * 4, mode=mode).flatten(2)
            plane = p.channels * wide.shape[2]
            strides = plane, 1, p.channels
        memory(p.y, tuple(wide.shape), strides, DTYPES[p.type]).copy_(wide)

    def _parameter(self, p: StyleforgeNorm, address: int) -> Tensor:
        return memory(address, (p.channels, 1), (1, 1), DTYPES[p.parameter_type])
