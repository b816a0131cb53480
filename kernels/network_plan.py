"""Runs the whole image transformation network on a CUDA device as fused convolutions.

A plan is made once for a size: it owns every buffer, holds the weights in the order the kernels
read them, and replays one CUDA graph, or one for each group of layers where those are timed. The
kernels are in conv_fusion.cu; docs/performance.md tells what they gain.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping
from ctypes import POINTER, Structure, byref, c_float, c_int, c_void_p
from typing import Any

import torch
from torch import Tensor

from kernels import build
from kernels.convolution import phase_weight
from kernels.registry import NETWORK

DTYPES = {torch.float16: 0, torch.bfloat16: 1}
EPS = 1e-5

# What launch_kind in conv_fusion.cu calls the layers, and the channels in one slice of weights.
DOWN_1, DOWN_2, SAME, UP_1, UP_2, SAME_WIDE, SAME_GROUPS, SAME_GROUPS_WIDE = range(8)
SLICE = {DOWN_1: 32}  # 64 for the others
# Height and width of what one block computes.
TILE, GROUPS_TILE, FIRST_TILE = (8, 16), (16, 8), (8, 32)


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
    ]


class _Last(Structure):
    _fields_ = [
        ("x", c_void_p),
        ("norm", _Norm),
        *((name, c_void_p) for name in ("weight", "bias", "y")),
        *((name, c_int) for name in ("height", "width", "padded_h", "padded_w")),
    ]


def why_not(device: torch.device, dtype: torch.dtype) -> str:
    """Why the native network cannot run there, in words; empty if it can. Builds nothing."""
    if device.type != "cuda":
        return f"no native network for the {device.type.upper()}"
    if dtype not in DTYPES:
        return "no native CUDA kernels for FP32 and AMP yet; runs on PyTorch"
    properties = torch.cuda.get_device_properties(device)
    if (properties.major, properties.minor) < (8, 0):
        return "the native kernels need a GPU of compute capability 8.0; runs on PyTorch"
    if properties.shared_memory_per_block_optin < build.LIBRARIES[NETWORK].shared_bytes:
        return "the native kernels need more shared memory than this GPU has; runs on PyTorch"
    return build.reason(NETWORK)


class NetworkPlan:
    """The network for pictures [N, 3, H, W] of one size, dtype and device.

    `weights` are a published state dict on any device. For one thread, in inference mode.
    """

    def __init__(
        self,
        weights: Mapping[str, Tensor],
        num_residual_blocks: int,
        shape: tuple[int, int, int],  # N, H, W
        dtype: torch.dtype,
        device: torch.device,
        library: ctypes.CDLL | None = None,
    ) -> None:
        self._library = _declared(library or build.handle(NETWORK))
        self._samples, height, width = shape
        self._dtype, self._code, self._device = dtype, DTYPES[dtype], device
        self._kept: list[Tensor] = []  # the kernels know addresses only
        self._refill: list[Callable[[Mapping[str, Tensor]], None]] = []
        self._groups: dict[str, list[Callable[[c_void_p], None]]] = {}
        with torch.cuda.device(device):
            self._frame = self._buffer(height, width, 3)
            self._picture = self._buffer(height, width, 3)
            self._lay_out(num_residual_blocks, height, width)
            self.set_weights(weights)
            self._graphs = {name: self._captured(steps) for name, steps in self._groups.items()}
            self._whole = self._captured(
                [step for steps in self._groups.values() for step in steps]
            )

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Take on the weights of another network of the same shape."""
        for refill in self._refill:
            refill(weights)

    def __call__(self, x: Tensor, mark: Callable[[str], None] | None = None) -> Tensor:
        """[N, 3, H, W] to the same, channels last; `mark` as TransformerNetBaseline.forward."""
        with torch.cuda.device(self._device):
            self._frame.copy_(x.permute(0, 2, 3, 1))
            if mark is None:
                self._whole.replay()
            else:
                for name, graph in self._graphs.items():
                    graph.replay()
                    mark(name)
            return self._picture.clone().permute(0, 3, 1, 2)

    # Layout

    def _lay_out(self, blocks: int, height: int, width: int) -> None:
        full = (-(-height // 4) * 4, -(-width // 4) * 4)
        half, quarter = (full[0] // 2, full[1] // 2), (full[0] // 4, full[1] // 4)
        large, middle = self._buffer(*full, 32), self._buffer(*half, 64)
        small, inside, outside = (self._buffer(*quarter, 128) for _ in range(3))
        sums = [self._buffer(*quarter, 128) for _ in range(2)]
        same = self._residual_kind(quarter)

        self._begin("encoder")
        norm = self._first(large, (height, width), full)
        norm = self._conv(DOWN_1, "conv2", "in2", large, norm, middle, full, half)
        norm = self._conv(DOWN_2, "conv3", "in3", middle, norm, small, half, quarter)

        self._begin("residual blocks")
        x, residual = small, None
        for number in range(1, blocks + 1):
            keep = sums[number % 2]
            name = f"res{number}"
            # The first block's input has passed a ReLU; the later ones are sums, without.
            norm = self._conv(
                same, f"{name}.conv1", f"{name}.in1", x, norm, inside, quarter, quarter,
                residual=residual, activated=keep, relu=number == 1,
            )  # fmt: skip
            norm = self._conv(
                same, f"{name}.conv2", f"{name}.in2", inside, norm, outside, quarter, quarter
            )
            x, residual = outside, keep

        self._begin("decoder")
        norm = self._conv(
            UP_1, "deconv1", "in4", x, norm, middle, quarter, quarter,
            residual=residual, relu=False,
        )  # fmt: skip
        norm = self._conv(UP_2, "deconv2", "in5", middle, norm, large, half, half)
        self._last(large, norm, (height, width), full)

    def _residual_kind(self, size: tuple[int, int]) -> int:
        """By warpgroups where the GPU has them. Where a single wave of blocks does it all, one
        block to a multiprocessor is faster; beyond that, two."""
        properties = torch.cuda.get_device_properties(self._device)
        tiles = -(-size[0] // TILE[0]) * -(-size[1] // TILE[1]) * self._samples
        wide = tiles > properties.multi_processor_count
        if (properties.major, properties.minor) == (9, 0):
            return SAME_GROUPS_WIDE if wide else SAME_GROUPS
        return SAME_WIDE if wide else SAME

    def _begin(self, group: str) -> None:
        self._steps = self._groups.setdefault(group, [])

    def _first(self, y: Tensor, size: tuple[int, int], padded: tuple[int, int]) -> _Norm:
        weight = self._keep(torch.zeros(32, 368, dtype=self._dtype, device=self._device))
        self._fill("conv1.conv2d.weight", weight, _first_weight)
        statistics, tiling, norm = self._statistics("in1", 32, padded, FIRST_TILE, 1)
        arguments = _First(
            self._frame.data_ptr(), weight.data_ptr(), y.data_ptr(), statistics, tiling, *size
        )
        launch, dtype, samples = self._library.styleforge_conv_first, self._code, self._samples
        self._launch(lambda stream: launch(dtype, 0, byref(arguments), samples, stream))
        return norm

    def _conv(
        self,
        kind: int,
        conv: str,
        norm_name: str,
        x: Tensor,
        norm: _Norm,
        y: Tensor,
        size: tuple[int, int],
        tiled: tuple[int, int],
        *,
        residual: Tensor | None = None,
        activated: Tensor | None = None,
        relu: bool = True,
    ) -> _Norm:
        channels, phases = y.shape[-1], 4 if kind in (UP_1, UP_2) else 1
        taps = 4 if phases == 4 else 9
        weight = self._keep(
            torch.empty(phases * taps * x.shape[-1] * channels, dtype=self._dtype,
                        device=self._device)
        )  # fmt: skip
        self._fill(f"{conv}.conv2d.weight", weight, lambda w: _sliced_weight(w, kind))
        tile = GROUPS_TILE if kind in (SAME_GROUPS, SAME_GROUPS_WIDE) else TILE
        statistics, tiling, next_norm = self._statistics(norm_name, channels, tiled, tile, phases)
        arguments = _Conv(
            x.data_ptr(),
            norm,
            None if residual is None else residual.data_ptr(),
            None if activated is None else activated.data_ptr(),
            weight.data_ptr(),
            y.data_ptr(),
            statistics,
            tiling,
            *size,
            int(relu),
        )
        launch, dtype, samples = self._library.styleforge_conv, self._code, self._samples
        self._launch(lambda stream: launch(kind, dtype, byref(arguments), samples, stream))
        return next_norm

    def _last(self, x: Tensor, norm: _Norm, size: tuple[int, int], padded: tuple[int, int]) -> None:
        weight = self._keep(torch.zeros(32, 288, dtype=self._dtype, device=self._device))
        self._fill("deconv3.conv2d.weight", weight, _last_weight)
        bias = self._keep(torch.zeros(3, device=self._device))
        self._fill("deconv3.conv2d.bias", bias, lambda b: b)
        arguments = _Last(
            x.data_ptr(), norm, weight.data_ptr(), bias.data_ptr(), self._picture.data_ptr(),
            *size, *padded,
        )  # fmt: skip
        launch, dtype, samples = self._library.styleforge_conv_last, self._code, self._samples
        self._launch(lambda stream: launch(dtype, 0, byref(arguments), samples, stream))

    def _statistics(
        self, name: str, channels: int, size: tuple[int, int], tile: tuple[int, int], copies: int
    ) -> tuple[_Statistics, _Tiling, _Norm]:
        rows, columns = -(-size[0] // tile[0]), -(-size[1] // tile[1])
        tiles = rows * columns * copies
        group = math.ceil(math.sqrt(tiles))
        groups = -(-tiles // group)
        n, device = self._samples, self._device
        of_tiles = self._keep(torch.empty(n, tiles, channels, 2, device=device))
        of_groups = self._keep(torch.empty(n, groups, channels, 4, device=device))
        tickets = self._keep(torch.zeros(n, groups, dtype=torch.int32, device=device))
        gamma, beta = (self._keep(torch.empty(channels, device=device)) for _ in range(2))
        self._fill(f"{name}.weight", gamma, lambda w: w)
        self._fill(f"{name}.bias", beta, lambda b: b)
        pointers = of_tiles.data_ptr(), of_groups.data_ptr(), tickets.data_ptr()
        return (
            _Statistics(*pointers, group),
            _Tiling(*size, *tile, rows, columns, copies),
            _Norm(of_groups.data_ptr(), gamma.data_ptr(), beta.data_ptr(), groups, EPS),
        )

    # Small parts. What they make holds no reference to the plan: a plan that is dropped gives its
    # memory back at once, not when garbage is next collected.

    def _buffer(self, height: int, width: int, channels: int) -> Tensor:
        shape = (self._samples, height, width, channels)
        return self._keep(torch.zeros(shape, dtype=self._dtype, device=self._device))

    def _keep(self, tensor: Tensor) -> Tensor:
        self._kept.append(tensor)
        return tensor

    def _fill(self, name: str, to: Tensor, pack: Callable[[Tensor], Tensor]) -> None:
        def refill(weights: Mapping[str, Tensor]) -> None:
            to.copy_(pack(weights[name].detach().to(to.device)).view_as(to))

        self._refill.append(refill)

    def _launch(self, call: Callable[[c_void_p], int]) -> None:
        def step(stream: c_void_p) -> None:
            if error := call(stream):
                raise RuntimeError(f"the fused network could not be launched: CUDA error {error}")

        self._steps.append(step)

    def _captured(self, steps: list[Callable[[c_void_p], None]]) -> torch.cuda.CUDAGraph:
        def run() -> None:
            stream = c_void_p(torch.cuda.current_stream().cuda_stream)
            for step in steps:
                step(stream)

        run()  # loads the kernels, which cannot happen while a graph is captured
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run()
        return graph


def _sliced_weight(weight: Tensor, kind: int) -> Tensor:
    """[Cout, Cin, k, k] in the order the kernel reads: phase, tap, slice, Cout, channel."""
    phases = 1
    if kind in (UP_1, UP_2):
        weight, phases = phase_weight(weight), 4
    out, channels, high, wide = weight.shape
    slice_ = SLICE.get(kind, 64)
    if kind in (SAME_GROUPS, SAME_GROUPS_WIDE):  # parts of eight channels before Cout
        sliced = weight.view(out, channels // slice_, slice_ // 8, 8, high, wide)
        return sliced.permute(4, 5, 1, 2, 0, 3).contiguous()
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
