"""Calls the layers of network_cpu.cpp on FP32 activations [H, W, C]."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import Structure, byref, c_double, c_longlong, c_void_p
from enum import IntEnum
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kernels.jit import build
from kernels.jit.errors import BuildError
from kernels.table.names import NETWORK_CPU
from kernels.table.status import use_native
from utils.stop_flag import flag_in_force

CHANNELS = 16  # every width of a layer is a multiple of this
SUMS = 512  # floats of a thread in rate.h


class Kind(IntEnum):
    """The kinds of layers, in the order of network_cpu.cpp."""

    FIRST = 0
    HALVING = 1
    PLAIN = 2
    ENLARGING = 3
    LAST = 4
    VALID = 5
    VALID_HALVING = 6
    VALID_LAST = 7
    VALID_FIRST = 8
    FIRST_OF_BYTES = 9
    LAST_TO_BYTES = 10


class Norm(NamedTuple):
    """A norm, as the scale and the shift [C] of a layer's raw result, in FP32."""

    scale: Tensor
    shift: Tensor


class ValidWeights(NamedTuple):
    """The transformed weights of a convolution without norms, and each filter's sum, [C, K]."""

    transformed: Tensor
    sums: Tensor


class LayerStruct(Structure):
    """Mirror of StyleforgeNetworkLayer in layer.h."""

    _fields_ = [
        *((name, c_longlong) for name in ("height", "width", "result_height", "result_width")),
        *((name, c_longlong) for name in ("inputs", "outputs", "side", "threads")),
        *((name, c_void_p) for name in ("input", "scale", "shift", "residual", "kept")),
        *((name, c_void_p) for name in ("weights", "sums", "result", "range", "gamma", "beta")),
        ("eps", c_double),
        *((name, c_void_p) for name in ("next_scale", "next_shift", "memory", "stop")),
    ]


class FiltersStruct(Structure):
    """Mirror of StyleforgeNetworkFilters in weights.h."""

    _fields_ = [
        *((name, c_longlong) for name in ("outputs", "inputs", "phases", "side", "threads")),
        *((name, c_void_p) for name in ("filters", "rows", "result")),
    ]


class CpuNetwork:
    """The functions of the library, and their working memory. Not thread-safe.

    Layers end early within `stopped_by`, and then raise Stopped.

    Raises:
        BuildError: If the library's structs differ from Python's.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        sizes = (c_longlong * 2)()
        _function(library, "styleforge_network_sizes", None, c_void_p)(sizes)
        if list(sizes) != [ctypes.sizeof(LayerStruct), ctypes.sizeof(FiltersStruct)]:
            raise BuildError("the library of the network and launchers.py differ")
        arguments = c_longlong, c_void_p
        self._memory = _function(library, "styleforge_network_memory", c_longlong, *arguments)
        self._run = _function(library, "styleforge_network_layer", ctypes.c_int, *arguments)
        self._multiply = _function(
            library, "styleforge_network_multiply", c_longlong, c_longlong, c_longlong, c_void_p
        )
        self._weights = _function(library, "styleforge_network_weights", ctypes.c_int, c_void_p)
        self._scratch = torch.empty(0, dtype=torch.uint8)

    def transformed(self, filters: Tensor, rows: Tensor) -> Tensor:
        """Transform filters [K, C, 3, 3] in FP64 by `rows` in both dimensions.

        Args:
            filters: In FP32; K is a multiple of CHANNELS.
            rows: [phases, side, 3], FP64, for each phase of the result in a dimension.

        Returns:
            A matrix [C, phases^2 K] for each of side^2 positions, in the panels of columns that
            this processor multiplies at once, flat, in FP32.
        """
        filters, rows = filters.contiguous(), rows.contiguous()
        (outputs, inputs, _, _), (phases, side, _) = filters.shape, rows.shape
        result = filters.new_empty(side**2 * inputs * phases**2 * outputs)
        call = FiltersStruct(outputs, inputs, phases, side, torch.get_num_threads())
        call.filters, call.rows = filters.data_ptr(), rows.data_ptr()
        call.result = result.data_ptr()
        self._transform(call)
        return result

    def layer(
        self,
        kind: Kind,
        x: Tensor,  # [H, W, C], dense
        weights: Tensor,
        to: Tensor,  # [H', W', K], dense
        *,
        side: int = 3,
        norm: Norm | None = None,  # the norm of x; None if x is a picture
        residual: Tensor | None = None,
        kept: Tensor | None = None,
        gamma: Tensor | None = None,
        beta: Tensor | None = None,
        eps: float = 0.0,
        following: Norm | None = None,
        limits: Tensor | None = None,
    ) -> None:
        """Apply a layer to the normalized x, and write its raw result and its norm.

        The first layer pads x by reflection at the right and the bottom to the size of its result;
        the last one crops its result. Both are FP32, unless the kind is one of bytes.

        Args:
            side: Side of the filters.
            residual: An addend for the normalized x, of its shape. Without it, the layer applies a
                ReLU.
            kept: Receives the convolution's input after norm and ReLU or residual; of x's shape.
            gamma: [K], the weight of the result's norm. `beta`, [K], is the bias of this norm or
                of the last layer.
            following: Receives the result's norm.
            limits: [2], FP32: receives the least and the greatest value before it is rounded to a
                byte, or NaN if one is not finite.
        """
        call = _struct(x, weights, to, side)
        call.residual, call.kept, call.range = map(_address, (residual, kept, limits))
        call.gamma, call.beta, call.eps = _address(gamma), _address(beta), eps
        call.scale, call.shift = map(_address, norm or (None, None))
        call.next_scale, call.next_shift = map(_address, following or (None, None))
        self._call(kind, call)

    def convolve(
        self, kind: Kind, x: Tensor, weights: ValidWeights, to: Tensor, *, side: int = 3
    ) -> None:
        """Convolve pictures without padding, norm or bias.

        Args:
            kind: VALID, VALID_HALVING or VALID_FIRST.
            x: [N, C, H, W], channels last.
            to: [N, K, H', W'], channels last.
            side: Of the filters.
        """
        pictures = zip(x.permute(0, 2, 3, 1), to.permute(0, 2, 3, 1), strict=True)
        for picture, result in pictures:
            call = _struct(picture, weights.transformed, result, side)
            call.sums = weights.sums.data_ptr()
            self._call(kind, call)

    def convolve_last(
        self, x: Tensor, weights: Tensor, bias: Tensor, side: int, to: Tensor
    ) -> None:
        """Convolve pictures to three colors, without padding.

        Args:
            x: [N, C, H, W], channels last.
            bias: [3].
            side: Side of the filters.
            to: [N, 3, H - side + 1, W - side + 1], channels last.
        """
        pictures = zip(x.permute(0, 2, 3, 1), to.permute(0, 2, 3, 1), strict=True)
        for picture, result in pictures:
            call = _struct(picture, weights, result, side)
            call.beta = bias.data_ptr()
            self._call(Kind.VALID_LAST, call)

    def multiply(self, steps: int) -> int:
        """Multiply and add in registers alone, on all threads; return the number of products.

        Its time bounds the rate of every layer: `steps` steps of all registers of a product.
        """
        threads = torch.get_num_threads()
        sums = torch.full((threads, SUMS), 0.5)  # 0.5 * x + 0.5 stays below 1
        return int(self._multiply(steps, threads, sums.data_ptr()))

    def _transform(self, call: FiltersStruct) -> None:
        self._weights(byref(call))

    def _call(self, kind: Kind, call: LayerStruct) -> None:
        needed = self._memory(kind, byref(call))
        if self._scratch.numel() < needed:
            with torch.inference_mode(False):
                self._scratch = torch.empty(needed, dtype=torch.uint8)
        call.memory = self._scratch.data_ptr()
        flag = flag_in_force()
        if flag is None:
            self._run(kind, byref(call))
            return
        call.stop = flag.address
        self._run(kind, byref(call))
        flag.check()


def cpu_network() -> CpuNetwork | None:
    """Return the library with its own memory. If it is not in use, warn once and return None.

    Raises:
        BuildError: If the library's structs differ from Python's.
    """
    return CpuNetwork(build.handle(NETWORK_CPU)) if in_use() else None


def in_use() -> bool:
    """Return whether the library is in use; load it if it is built."""
    return not build.reason(NETWORK_CPU) or use_native(NETWORK_CPU)


def _struct(x: Tensor, weights: Tensor, to: Tensor, side: int) -> LayerStruct:
    """Describe a layer from x, [H, W, C], to [H', W', K]."""
    call = LayerStruct(*x.shape[:2], *to.shape[:2], x.shape[2], to.shape[2], side)
    call.threads = torch.get_num_threads()
    call.input, call.weights, call.result = x.data_ptr(), weights.data_ptr(), to.data_ptr()
    return call


def _address(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def _function(library: ctypes.CDLL, name: str, result: Any, *types: Any) -> Callable[..., Any]:
    prototype: Any = ctypes.CFUNCTYPE(result, *types)
    return prototype(ctypes.cast(getattr(library, name), c_void_p).value)
