"""The plan for any GPU of compute capability 8.0 or more, and for 7.5 in FP16.

Its layers come from network_sm80.cu, its separate FP32 sources, and network_sm75.cu.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from kernels.network import abi
from kernels.network.abi import Sm80, Sm80Conv, Sm80Edge, Sm80Int8, Sm80Network
from kernels.network.gpu import Gpu
from kernels.network.launchers import Network
from kernels.network.plan import EPS, NetworkPlan, norm_after, precision_of, role_of
from kernels.network.shapes import Dimensions, name_of
from kernels.weight_transforms import as_matrix, phase_weight

DTYPES = torch.float16, torch.bfloat16, torch.float32  # of activations

# In a layer that keeps its size, a 16x16 tile takes as long as this many 8x16 tiles: 27 and 18 us
# on an H200.
COST_OF_WIDE_TILE = 1.5
# The small layers fit a multiprocessor of compute capability 8.6, 8.9 or 12.0.
SMALL_SHARED_BYTES = 100 * 1024


class Sm80Plan(NetworkPlan):
    """The network in FP16, BF16 or FP32, run by thread blocks that take tiles one after another.

    Args:
        weights: See NetworkPlan, as for the next four arguments.
        dtype: One of DTYPES.
        small: Whether to run the layers that need less shared memory.
        tf32: Whether FP32 may be multiplied with the ten bits of TF32.
        layers: The description of the layers; defaults to sm80's.
    """

    def __init__(
        self,
        weights: Mapping[str, Tensor],
        network: Dimensions,
        shape: tuple[int, int, int],
        dtype: torch.dtype,
        device: torch.device,
        library: Network,
        small: bool = False,
        tf32: bool = False,
        layers: abi.Sm80 | None = None,
    ) -> None:
        precision = precision_of(dtype, tf32)
        self._sm80 = layers or library.abi.sm80_in(precision)
        self._traits = self._sm80.layers(name_of(network), shape, small=small)
        self._library = library
        self._code = self._sm80.precisions[precision]
        self._operand = torch.float16 if dtype is torch.float32 else dtype
        self._gpu = Gpu.of(device)
        self._small = small
        self._norms: dict[str, abi.NormParams] = {}
        self._moments: dict[str, Tensor] = {}  # by norm, the moments of its layer
        super().__init__(weights, network, shape, dtype, device)

    def _first(self, y: Tensor, size: tuple[int, int], padded: tuple[int, int]) -> None:
        traits = self._traits.first_small if self._small else self._traits.first
        weight = self._edge_weight("conv1", first_weight, traits)
        tiling = _tiling(padded, traits)
        blocks = self._blocks(tiling, traits)
        statistics = self._statistics("in1", y.shape[-1], blocks)
        arguments = [
            abi.FirstLayerParams(
                x.data_ptr(), weight.data_ptr(), y.data_ptr(), statistics, tiling, *size,
                self.ranges.data_ptr(),
            )
            for x in (self._x, self.frames)
        ]  # fmt: skip
        launch, samples = self._library.styleforge_sm80_first, self.samples
        network, small, precision = self._traits.number, int(self._small), self._code
        self._launch(
            "conv1",
            lambda stream, in_bytes: launch(
                network, small, precision, in_bytes, arguments[in_bytes], blocks, samples, stream
            ),
        )

    def _layer(
        self,
        conv: str,
        norm: str,
        x: Tensor,
        y: Tensor,
        *,
        stride: int = 1,
        residual: Tensor | None = None,
        activated: Tensor | None = None,
    ) -> None:
        into, out = x.shape[-1], y.shape[-1]
        size, tiled = (x.shape[1], x.shape[2]), (x.shape[1] // stride, x.shape[2] // stride)
        traits, precision = self._kernel_of(role_of(conv), size)
        weight = self._conv_weight(conv, traits, into, out)
        tiling = _tiling(tiled, traits)
        blocks = self._blocks(tiling, traits)
        arguments = abi.Sm80ConvParams(
            x.data_ptr(),
            self._norms[norm],
            None if residual is None else residual.data_ptr(),
            None if activated is None else activated.data_ptr(),
            weight.data_ptr(),
            y.data_ptr(),
            self._statistics(norm_after(conv), out, blocks),
            tiling,
            *size,
        )
        launch, samples, kind = self._library.styleforge_sm80_conv, self.samples, traits.kind
        self._launch(
            conv, lambda stream, _: launch(kind, precision, arguments, blocks, samples, stream)
        )

    def _last(self, norm: str, x: Tensor, size: tuple[int, int]) -> None:
        traits = self._traits.last_small if self._small else self._traits.last
        weight = self._edge_weight("deconv3", last_weight, traits)
        bias = self._filled("deconv3.conv2d.bias", lambda b: b, (3,))
        tiling = _tiling(size, traits)
        blocks = self._blocks(tiling, traits)
        arguments = [
            abi.LastLayerParams(x.data_ptr(), self._norms[norm], weight.data_ptr(), bias.data_ptr(),
                  y.data_ptr(), tiling, x.shape[1], x.shape[2], self.ranges.data_ptr())
            for y in (self._y, self.pictures)
        ]  # fmt: skip
        launch, samples = self._library.styleforge_sm80_last, self.samples
        network, small, precision = self._traits.number, int(self._small), self._code
        self._launch(
            "deconv3",
            lambda stream, in_bytes: launch(
                network, small, precision, in_bytes, arguments[in_bytes], blocks, samples, stream
            ),
        )

    def _edge_weight(self, conv: str, pack: Callable[..., Tensor], layer: Sm80Edge) -> Tensor:
        packed = partial(pack, layer=layer, sm80=self._sm80, operand=self._operand)
        shape = self._sm80.operand_copies, layer.rows, layer.depth
        return self._filled(f"{conv}.conv2d.weight", packed, shape, self._operand)

    def _kernel_of(self, role: str, size: tuple[int, int]) -> tuple[Sm80Conv, int]:
        name = conv_name(self._traits, role, size, self._gpu, self.samples, small=self._small)
        return self._traits.convs[name], self._code

    def _conv_weight(self, conv: str, traits: Sm80Conv, into: int, out: int) -> Tensor:
        pack = partial(layer_weight, conv=traits, sm80=self._sm80, operand=self._operand)
        elements = self._sm80.operand_copies * traits.phases * traits.taps * into * out
        return self._filled(f"{conv}.conv2d.weight", pack, (elements,), self._operand)

    def _blocks(self, tiling: abi.Tiling, layer: Sm80Conv | Sm80Edge) -> int:
        tiles = tiling.rows * tiling.columns
        return blocks_of(layer, tiles, self._gpu, self.samples, small=self._small)

    def _statistics(self, name: str, channels: int, blocks: int) -> abi.StatisticsParams:
        group = -(-blocks // self._sm80.max_groups)
        groups, n = -(-blocks // group), self.samples
        entries = self._keep(torch.zeros(n, blocks, channels, 4, device=self.device))
        merged = self._keep(torch.zeros(n, groups, channels, 4, device=self.device))
        self._moments[name] = merged
        tickets = self._keep(torch.zeros(n, groups, dtype=torch.int32, device=self.device))
        gamma, beta = (
            self._filled(f"{name}.{part}", lambda w: w, (channels,)) for part in ("weight", "bias")
        )
        self._norms[name] = abi.NormParams(
            merged.data_ptr(), gamma.data_ptr(), beta.data_ptr(), groups, EPS
        )
        return abi.StatisticsParams(
            entries.data_ptr(), merged.data_ptr(), tickets.data_ptr(), group
        )


def conv_name(
    layers: Sm80Network | Sm80Int8,
    role: str,
    size: tuple[int, int],
    gpu: Gpu,
    samples: int = 1,
    *,
    small: bool,
) -> str:
    """Return the library's name of the 3x3 layer for a `role_of` and an input size in pixels."""

    def variant(name: str) -> str:
        return f"{name}_small" if small and f"{name}_small" in layers.convs else name

    def rounds(name: str) -> int:
        tiling = _tiling(size, layers.convs[name])
        return -(-tiling.rows * tiling.columns * samples // gpu.multiprocessors)

    if role != "same" or "same_wide" not in layers.convs:
        return variant(role)
    same, wide = variant("same"), variant("same_wide")
    return wide if rounds(wide) * COST_OF_WIDE_TILE < rounds(same) else same


def blocks_of(
    layer: Sm80Conv | Sm80Edge, tiles: int, gpu: Gpu, samples: int = 1, *, small: bool
) -> int:
    """Return a layer's blocks per sample: all that the GPU runs at once, evenly loaded.

    `small` limits shared memory to SMALL_SHARED_BYTES per multiprocessor.
    """
    available = gpu.shared_bytes_of_multiprocessor
    if small:
        available = min(available, SMALL_SHARED_BYTES)
    at_once = max(1, min(layer.blocks, available // layer.occupied_bytes))
    slots = max(1, gpu.multiprocessors * at_once // samples)
    return -(-tiles // -(-tiles // slots))


def _tiling(size: tuple[int, int], layer: Sm80Conv | Sm80Edge) -> abi.Tiling:
    height, width = size
    return abi.Tiling(height, width, -(-height // layer.tile_h), -(-width // layer.tile_w))


def layer_weight(weight: Tensor, conv: Sm80Conv, sm80: Sm80, operand: torch.dtype) -> Tensor:
    """Reorder the weights of a 3x3 layer, [Cout, Cin, 3, 3], as its kernel reads them.

    Contiguous, with the axes of `sm80.weight_order`: block, tap, copy, phase, out and channel.
    """
    if conv.phases > 1:
        weight = phase_weight(weight)
    return in_steps(_copies(in_operands(weight, sm80), sm80, operand), conv, sm80)


def in_steps(copies: Tensor, conv: Sm80Conv, sm80: Sm80 | Sm80Int8) -> Tensor:
    """Order [copies, phases * Cout, Cin, kh, kw] by the steps of a 3x3 layer that read them.

    Input channels are in the operands' order. Returns the axes of `sm80.weight_order`, contiguous.
    """
    count, out, channels = copies.shape[:3]
    blocks = channels // conv.block_k
    shape = count, conv.phases, out // conv.phases, blocks, conv.block_k, conv.taps
    axes = ("copy", "phase", "out", "block", "channel", "tap")
    packed = copies.reshape(shape)
    return packed.permute([axes.index(axis) for axis in sm80.weight_order]).contiguous()


def first_weight(weight: Tensor, layer: Sm80Edge, sm80: Sm80, operand: torch.dtype) -> Tensor:
    """Reorder the first layer's [C, 3, k, k] to `operand` [operand_copies, rows, depth]."""
    matrix = _edge_weight(weight, ("out", "color", "row", "column"), layer)
    return _copies(matrix, sm80, operand)


def last_weight(weight: Tensor, layer: Sm80Edge, sm80: Sm80, operand: torch.dtype) -> Tensor:
    """Reorder the last layer's [3, C, k, k] to `operand` [operand_copies, rows, depth]."""
    weight = in_operands(weight, sm80)
    matrix = _edge_weight(weight, ("color", "channel", "row", "column"), layer)
    return _copies(matrix, sm80, operand)


def _edge_weight(weight: Tensor, axes: tuple[str, ...], layer: Sm80Edge) -> Tensor:
    order = layer.weight_order
    matrix = as_matrix(weight, axes, order.rows, order.depth)
    rows, depth = matrix.shape
    return torch.nn.functional.pad(matrix, (0, layer.depth - depth, 0, layer.rows - rows))


def in_operands(weight: Tensor, sm80: Sm80 | Sm80Int8) -> Tensor:
    """Put the input channels, the second axis, in the operands' order."""
    order, channels = sm80.channel_order, weight.shape[1]
    return weight[:, [first + each for first in range(0, channels, len(order)) for each in order]]


def _copies(weight: Tensor, sm80: Sm80, operand: torch.dtype) -> Tensor:
    """Return the weight as operands, [copies, ...].

    If an operand is the sum of two numbers, the second copy has the rounding errors of the first.
    """
    high = weight.float().to(operand)
    if sm80.operand_copies == 1:
        return high[None]
    return torch.stack([high, (weight.float() - high.float()).to(operand)])
