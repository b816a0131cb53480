"""The plan for any GPU of compute capability 8.0 or more: a block a tile, network_sm80.cu."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping
from ctypes import POINTER, Structure, byref, c_float, c_int, c_void_p
from functools import partial
from typing import Any

import torch
from torch import Tensor

from kernels.network.plan import EPS, NetworkPlan, norm_after
from kernels.weight_transforms import phase_weight

DTYPES = {torch.float16: 0, torch.bfloat16: 1}

# What launch_kind in network_sm80.cu calls the layers, and the channels in one slice of weights.
DOWN_1, DOWN_2, SAME, UP_1, UP_2, SAME_WIDE, DOWN_2_SMALL, SAME_SMALL = range(8)
KINDS = {(32, 64): DOWN_1, (64, 128): DOWN_2, (128, 64): UP_1, (64, 32): UP_2}
SLICE = {DOWN_1: 32, DOWN_2_SMALL: 32, SAME_SMALL: 32}  # 64 for the others
# Height and width of what one block computes.
TILE, FIRST_TILE, SMALL_TILE = (8, 16), (8, 32), (8, 8)
# Shared memory of a block, in bytes, that the layers need, and that the small ones do.
SHARED, SHARED_SMALL = 150_000, 101_000


class _Tiling(Structure):
    _fields_ = [
        (name, c_int)
        for name in ("height", "width", "tile_h", "tile_w", "rows", "columns", "copies")
    ]


class _Statistics(Structure):
    _fields_ = [
        *((name, c_void_p) for name in ("tiles", "groups", "tickets")),
        ("group", c_int),
    ]


class _Norm(Structure):
    _fields_ = [
        *((name, c_void_p) for name in ("groups", "gamma", "beta")),
        ("count", c_int),
        ("eps", c_float),
    ]


class _Conv(Structure):
    _fields_ = [
        ("x", c_void_p),
        ("norm", _Norm),
        *((name, c_void_p) for name in ("residual", "activated", "weight", "y")),
        ("statistics", _Statistics),
        ("tiling", _Tiling),
        *((name, c_int) for name in ("height", "width", "relu")),
    ]


class _First(Structure):
    _fields_ = [
        *((name, c_void_p) for name in ("x", "weight", "y")),
        ("statistics", _Statistics),
        ("tiling", _Tiling),
        *((name, c_int) for name in ("height", "width")),
        ("range", c_void_p),
    ]


class _Last(Structure):
    _fields_ = [
        ("x", c_void_p),
        ("norm", _Norm),
        *((name, c_void_p) for name in ("weight", "bias", "y")),
        *((name, c_int) for name in ("height", "width", "padded_h", "padded_w")),
        ("range", c_void_p),
    ]


class Sm80Plan(NetworkPlan):
    """In FP16 and BF16; a block for each tile. `small` is for GPUs with little shared memory, and
    chosen there."""

    def __init__(
        self,
        weights: Mapping[str, Tensor],
        num_residual_blocks: int,
        shape: tuple[int, int, int],
        dtype: torch.dtype,
        device: torch.device,
        library: ctypes.CDLL,
        small: bool = False,
    ) -> None:
        self._library = _declared(library)
        self._code = DTYPES[dtype]
        properties = torch.cuda.get_device_properties(device)
        self._blocks = properties.multi_processor_count
        self._small = small or properties.shared_memory_per_block_optin < SHARED
        self._norms: dict[str, _Norm] = {}
        super().__init__(weights, num_residual_blocks, shape, dtype, device)

    def _first(self, y: Tensor, size: tuple[int, int], padded: tuple[int, int]) -> None:
        weight = self._filled("conv1.conv2d.weight", _first_weight, (32, 368), self.dtype)
        statistics, tiling = self._statistics("in1", 32, padded, FIRST_TILE, 1)
        arguments = [
            _First(x.data_ptr(), weight.data_ptr(), y.data_ptr(), statistics, tiling, *size,
                   self.ranges.data_ptr())
            for x in (self._x, self.frames)
        ]  # fmt: skip
        launch, dtype, samples = self._library.styleforge_conv_first, self._code, self.samples
        self._launch(
            lambda stream, in_bytes: launch(
                dtype, in_bytes, byref(arguments[in_bytes]), samples, stream
            )
        )

    def _layer(
        self,
        conv: str,
        norm: str,
        x: Tensor,
        y: Tensor,
        *,
        stride: int = 1,
        enlarge: int = 1,
        residual: Tensor | None = None,
        activated: Tensor | None = None,
    ) -> None:
        into, out = x.shape[-1], y.shape[-1]
        size, tiled = (x.shape[1], x.shape[2]), (x.shape[1] // stride, x.shape[2] // stride)
        kind = KINDS.get((into, out))
        if kind is None:
            kind = self._residual_kind(size)
        elif kind == DOWN_2 and self._small:
            kind = DOWN_2_SMALL
        tile = SMALL_TILE if kind == DOWN_2_SMALL else TILE
        phases = enlarge * enlarge
        taps = 4 if enlarge > 1 else 9
        weight = self._filled(
            f"{conv}.conv2d.weight", partial(_sliced_weight, kind=kind),
            (phases * taps * into * out,), self.dtype,
        )  # fmt: skip
        statistics, tiling = self._statistics(norm_after(conv), out, tiled, tile, phases)
        arguments = _Conv(
            x.data_ptr(),
            self._norms[norm],
            None if residual is None else residual.data_ptr(),
            None if activated is None else activated.data_ptr(),
            weight.data_ptr(),
            y.data_ptr(),
            statistics,
            tiling,
            *size,
            int(residual is None),
        )
        launch, dtype, samples = self._library.styleforge_conv, self._code, self.samples
        self._launch(lambda stream, _: launch(kind, dtype, byref(arguments), samples, stream))

    def _last(self, norm: str, x: Tensor, size: tuple[int, int]) -> None:
        weight = self._filled("deconv3.conv2d.weight", _last_weight, (32, 288), self.dtype)
        bias = self._filled("deconv3.conv2d.bias", lambda b: b, (3,))
        arguments = [
            _Last(x.data_ptr(), self._norms[norm], weight.data_ptr(), bias.data_ptr(),
                  y.data_ptr(), *size, x.shape[1], x.shape[2], self.ranges.data_ptr())
            for y in (self._y, self.pictures)
        ]  # fmt: skip
        launch, dtype, samples = self._library.styleforge_conv_last, self._code, self.samples
        self._launch(
            lambda stream, in_bytes: launch(
                dtype, in_bytes, byref(arguments[in_bytes]), samples, stream
            )
        )

    def _residual_kind(self, size: tuple[int, int]) -> int:
        """Where a single wave of blocks does it all, one block to a multiprocessor is faster;
        beyond that, two."""
        if self._small:
            return SAME_SMALL
        tiles = -(-size[0] // TILE[0]) * -(-size[1] // TILE[1]) * self.samples
        return SAME_WIDE if tiles > self._blocks else SAME

    def _statistics(
        self, name: str, channels: int, size: tuple[int, int], tile: tuple[int, int], copies: int
    ) -> tuple[_Statistics, _Tiling]:
        rows, columns = -(-size[0] // tile[0]), -(-size[1] // tile[1])
        tiles = rows * columns * copies
        group = math.ceil(math.sqrt(tiles))
        groups, n, device = -(-tiles // group), self.samples, self.device
        of_tiles = self._keep(torch.zeros(n, tiles, channels, 2, device=device))
        of_groups = self._keep(torch.zeros(n, groups, channels, 4, device=device))
        tickets = self._keep(torch.zeros(n, groups, dtype=torch.int32, device=device))
        gamma, beta = (
            self._filled(f"{name}.{part}", lambda w: w, (channels,)) for part in ("weight", "bias")
        )
        self._norms[name] = _Norm(
            of_groups.data_ptr(), gamma.data_ptr(), beta.data_ptr(), groups, EPS
        )
        pointers = of_tiles.data_ptr(), of_groups.data_ptr(), tickets.data_ptr()
        return _Statistics(*pointers, group), _Tiling(*size, *tile, rows, columns, copies)


def _sliced_weight(weight: Tensor, kind: int) -> Tensor:
    """[Cout, Cin, k, k] in the order the kernel reads: phase, tap, slice, Cout, channel."""
    phases = 1
    if kind in (UP_1, UP_2):
        weight, phases = phase_weight(weight), 4
    out, channels, high, wide = weight.shape
    slice_ = SLICE.get(kind, 64)
    sliced = weight.view(phases, out // phases, channels // slice_, slice_, high, wide)
    return sliced.permute(0, 4, 5, 2, 1, 3).contiguous()


def _first_weight(weight: Tensor) -> Tensor:
    """[32, 3, 9, 9] to [32, 368]: row, column padded to 10, colour padded to 4, then padded."""
    padded = weight.new_zeros(32, 9, 10, 4)
    padded[:, :, :9, :3] = weight.permute(0, 2, 3, 1)
    return torch.nn.functional.pad(padded.view(32, 360), (0, 8))


def _last_weight(weight: Tensor) -> Tensor:
    """[3, 32, 9, 9] to [32, 288]: column times 3 plus colour, padded to 32; row, channel."""
    padded = weight.new_zeros(32, 9, 32)
    padded[:27] = weight.permute(3, 0, 2, 1).reshape(27, 9, 32)
    return padded.view(32, 288)


def _declared(library: ctypes.CDLL) -> Any:
    for name, arguments in (
        ("styleforge_conv", _Conv),
        ("styleforge_conv_first", _First),
        ("styleforge_conv_last", _Last),
    ):
        function = getattr(library, name)
        function.restype = c_int
        function.argtypes = [c_int, c_int, POINTER(arguments), c_int, c_void_p]
    return library
