"""The plan for any GPU of compute capability 8.0 or more: a block per tile, network_sm80.cu."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor

from kernels.network import abi
from kernels.network.abi import Sm80Conv, Sm80Edge
from kernels.network.gpu import Gpu
from kernels.network.launchers import Network
from kernels.network.plan import EPS, NetworkPlan, norm_after
from kernels.weight_transforms import as_matrix, phase_weight

DTYPES = {torch.float16: "float16", torch.bfloat16: "bfloat16"}

# The layers by input and output channels; those of 128 channels depend on the size.
CONVS = {(32, 64): "down1", (64, 128): "down2", (128, 64): "up1", (64, 32): "up2"}


class Sm80Plan(NetworkPlan):
    """The network in FP16 or BF16, a block of threads for each tile.

    Args:
        weights: This and the next four arguments are those of NetworkPlan.
        num_residual_blocks: Of the network.
        shape: N, H, W of the pictures.
        dtype: torch.float16 or torch.bfloat16.
        device: A CUDA device.
        library: The network on that GPU.
        small: Whether to run the layers that need less shared memory.
    """

    def __init__(
        self,
        weights: Mapping[str, Tensor],
        num_residual_blocks: int,
        shape: tuple[int, int, int],
        dtype: torch.dtype,
        device: torch.device,
        library: Network,
        small: bool = False,
    ) -> None:
        self._traits = library.abi.sm80
        self._library = library
        self._code = self._traits.dtypes[DTYPES[dtype]]
        self._blocks = Gpu.of(device).multiprocessors
        self._small = small
        self._norms: dict[str, abi.NormParams] = {}
        super().__init__(weights, num_residual_blocks, shape, dtype, device)

    def _first(self, y: Tensor, size: tuple[int, int], padded: tuple[int, int]) -> None:
        traits = self._traits.first
        pack = partial(first_weight, layer=traits)
        size_of_weight = traits.rows, traits.depth
        weight = self._filled("conv1.conv2d.weight", pack, size_of_weight, self.dtype)
        tile = traits.tile_h, traits.tile_w
        statistics, tiling = self._statistics("in1", 32, padded, tile, 1)
        arguments = [
            abi.FirstLayerParams(
                x.data_ptr(), weight.data_ptr(), y.data_ptr(), statistics, tiling, *size,
                self.ranges.data_ptr(),
            )
            for x in (self._x, self.frames)
        ]  # fmt: skip
        launch, dtype, samples = self._library.styleforge_sm80_first, self._code, self.samples
        self._launch(
            "conv1",
            lambda stream, in_bytes: launch(dtype, in_bytes, arguments[in_bytes], samples, stream),
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
        traits = self._conv(into, out, size)
        pack = partial(layer_weight, conv=traits, order=self._traits.weight_order)
        elements = traits.phases * traits.taps * into * out
        weight = self._filled(f"{conv}.conv2d.weight", pack, (elements,), self.dtype)
        tile = traits.tile_h, traits.tile_w
        statistics, tiling = self._statistics(norm_after(conv), out, tiled, tile, traits.phases)
        arguments = abi.Sm80ConvParams(
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
        launch, dtype, samples = self._library.styleforge_sm80_conv, self._code, self.samples
        kind = traits.kind
        self._launch(conv, lambda stream, _: launch(kind, dtype, arguments, samples, stream))

    def _last(self, norm: str, x: Tensor, size: tuple[int, int]) -> None:
        traits = self._traits.last
        pack = partial(last_weight, layer=traits)
        size_of_weight = traits.rows, traits.depth
        weight = self._filled("deconv3.conv2d.weight", pack, size_of_weight, self.dtype)
        bias = self._filled("deconv3.conv2d.bias", lambda b: b, (3,))
        arguments = [
            abi.LastLayerParams(x.data_ptr(), self._norms[norm], weight.data_ptr(), bias.data_ptr(),
                  y.data_ptr(), *size, x.shape[1], x.shape[2], self.ranges.data_ptr())
            for y in (self._y, self.pictures)
        ]  # fmt: skip
        launch, dtype, samples = self._library.styleforge_sm80_last, self._code, self.samples
        self._launch(
            "deconv3",
            lambda stream, in_bytes: launch(dtype, in_bytes, arguments[in_bytes], samples, stream),
        )

    def _conv(self, into: int, out: int, size: tuple[int, int]) -> Sm80Conv:
        """The layer for `into` to `out` channels and an input of `size`."""
        convs, name = self._traits.convs, CONVS.get((into, out))
        if name is not None:
            return convs["down2_small" if name == "down2" and self._small else name]
        if self._small:
            return convs["same_small"]
        # Where one wave of blocks covers the input, one block on a multiprocessor is faster;
        # beyond that, two.
        same = convs["same"]
        tiles = -(-size[0] // same.tile_h) * -(-size[1] // same.tile_w) * self.samples
        return convs["same_wide"] if tiles > self._blocks else same

    def _statistics(
        self, name: str, channels: int, size: tuple[int, int], tile: tuple[int, int], copies: int
    ) -> tuple[abi.Sm80StatisticsParams, abi.Tiling]:
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
        self._norms[name] = abi.NormParams(
            of_groups.data_ptr(), gamma.data_ptr(), beta.data_ptr(), groups, EPS
        )
        pointers = of_tiles.data_ptr(), of_groups.data_ptr(), tickets.data_ptr()
        tiling = abi.Tiling(*size, *tile, rows, columns, copies)
        return abi.Sm80StatisticsParams(*pointers, group), tiling


def layer_weight(weight: Tensor, conv: Sm80Conv, order: tuple[str, ...]) -> Tensor:
    """Reorder the weights of a 3x3 layer as its kernel reads them.

    Args:
        weight: [Cout, Cin, 3, 3].
        conv: The layer.
        order: The axes phase, tap, block, out and channel, outermost first.

    Returns:
        One dimension for each axis, dense.
    """
    if conv.phases > 1:
        weight = phase_weight(weight)
    out, channels = weight.shape[:2]
    shape = conv.phases, out // conv.phases, channels // conv.block_k, conv.block_k, conv.taps
    axes = ("phase", "out", "block", "channel", "tap")
    return weight.reshape(shape).permute([axes.index(axis) for axis in order]).contiguous()


def first_weight(weight: Tensor, layer: Sm80Edge) -> Tensor:
    """Reorder the weights of the first layer, [32, 3, 9, 9], as its kernel reads them.

    Returns:
        [layer.rows, layer.depth].
    """
    return _edge_weight(weight, ("out", "color", "row", "column"), layer)


def last_weight(weight: Tensor, layer: Sm80Edge) -> Tensor:
    """Reorder the weights of the last layer, [3, 32, 9, 9], as its kernel reads them.

    Returns:
        [layer.rows, layer.depth].
    """
    return _edge_weight(weight, ("color", "channel", "row", "column"), layer)


def _edge_weight(weight: Tensor, axes: tuple[str, ...], layer: Sm80Edge) -> Tensor:
    order = layer.weight_order
    matrix = as_matrix(weight, axes, order.rows, order.depth)
    rows, depth = matrix.shape
    return torch.nn.functional.pad(matrix, (0, layer.depth - depth, 0, layer.rows - rows))
