"""The network's plan for Hopper: persistent, warp-specialized layers of network_sm90.cu."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

import torch
from torch import Tensor

from kernels.network import abi
from kernels.network import sm90_layout as layout
from kernels.network.gpu import Gpu
from kernels.network.launchers import Network
from kernels.network.plan import EPS, NetworkPlan, norm_after, precision_of, role_of
from kernels.network.shapes import Dimensions

_apart: ContextVar[bool] = ContextVar("layers_apart", default=False)


@contextmanager
def layers_apart() -> Generator[None]:
    """Make plans within the block launch each residual layer separately, to measure it."""
    token = _apart.set(True)
    try:
        yield
    finally:
        _apart.reset(token)


class Sm90Plan(NetworkPlan):
    """The network on Hopper in FP16, BF16 or FP32, on persistent, warp-specialized blocks.

    The device has compute capability 9.0. See NetworkPlan; `tf32` lets FP32 have TF32's ten bits.
    """

    def __init__(
        self,
        weights: Mapping[str, Tensor],
        network: Dimensions,
        shape: tuple[int, int, int],
        dtype: torch.dtype,
        device: torch.device,
        library: Network,
        tf32: bool = False,
    ) -> None:
        self._library = library
        self._traits = library.abi.sm90
        self._precision = self._traits.precisions[precision_of(dtype, tf32)]
        self._blocks = Gpu.of(device).multiprocessors
        self._norms: dict[str, abi.NormParams] = {}
        self._moments: dict[str, Tensor] = {}  # by norm, the moments of its layer
        super().__init__(weights, network, shape, dtype, device)

    def _first(self, y: Tensor, size: tuple[int, int], padded: tuple[int, int]) -> None:
        strips = layout.Strips.of(padded, self._precision.first.width, self._blocks)
        weight = self._edge_weight("conv1", layout.first_weight)
        statistics = self._statistics("in1", y.shape[-1], strips.blocks)
        launch, samples = self._library.styleforge_sm90_first, self.samples
        number = self._precision.number
        sources = self._x.data_ptr(), self.frames.data_ptr()
        arguments = [
            abi.EdgeConvParams(
                x, abi.NormParams(), weight.data_ptr(), None, y.data_ptr(), statistics,
                self.ranges.data_ptr(), *size, *padded, strips.count, strips.rows,
            )
            for x in sources
        ]  # fmt: skip
        self._launch(
            "conv1",
            lambda stream, in_bytes: launch(
                number, in_bytes, arguments[in_bytes], strips.blocks, samples, stream
            ),
        )

    def _residual_blocks(
        self,
        blocks: int,
        norm: str,
        x: Tensor,
        inside: Tensor,
        outside: Tensor,
        sums: Sequence[Tensor],
    ) -> Tensor:
        size, channels = (x.shape[1], x.shape[2]), x.shape[-1]
        precision = self._precision
        tiles = layout.joined_tiles(size, self.samples, self._blocks, precision)
        joined = precision.residual
        if tiles is None or joined is None or _apart.get():
            return super()._residual_blocks(blocks, norm, x, inside, outside, sums)
        names = [f"res{number}.{{}}{part}" for number in range(1, blocks + 1) for part in (1, 2)]
        weight = self._stacked_weights([name.format("conv") for name in names], channels)
        gamma, beta = (
            self._keep(torch.zeros(len(names) - 1, channels, device=self.device)) for _ in range(2)
        )
        for at, name in enumerate(names[:-1]):
            self._fill(gamma[at], f"{name.format('in')}.weight", lambda w: w)
            self._fill(beta[at], f"{name.format('in')}.bias", lambda b: b)
        exchanged = 2 * (len(names) - 1) * joined.sums_bytes
        told = self._keep(
            torch.zeros(self.samples, exchanged, dtype=torch.uint8, device=self.device)
        )
        halves = self._keep(torch.zeros(self.samples, dtype=torch.int32, device=self.device))
        activated = sums[0]
        arguments = abi.ResidualParams(
            x.data_ptr(), self._norms[norm], weight.data_ptr(), gamma.data_ptr(), beta.data_ptr(),
            inside.data_ptr(), outside.data_ptr(), activated.data_ptr(),
            self._statistics(names[-1].format("in"), channels, tiles.blocks),
            told.data_ptr(), halves.data_ptr(), EPS, len(names), *size,
            tiles.long, tiles.short, tiles.across,
        )  # fmt: skip
        launch, samples = self._library.styleforge_sm90_residual, self.samples
        number = precision.number
        self._launch(
            "res1" if blocks == 1 else f"res1-res{blocks}",
            lambda stream, _: launch(number, arguments, tiles.blocks, samples, stream),
        )
        return activated

    def _stacked_weights(self, convs: Sequence[str], channels: int) -> Tensor:
        precision, order = self._precision, self._traits.weight_order
        traits = precision.convs["same"]
        pack = partial(layout.layer_weight, conv=traits, precision=precision, order=order)
        elements = layout.weight_elements(traits, channels, precision)
        operand = layout.OPERANDS[precision.operand]
        whole = self._keep(torch.zeros(len(convs), elements, dtype=operand, device=self.device))
        for at, conv in enumerate(convs):
            self._fill(whole[at], f"{conv}.conv2d.weight", pack)
        return whole

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
        role, precision = role_of(conv), self._precision
        if role == "same":  # depends on the size
            traits = layout.residual_conv(size, self._blocks, precision)
        else:
            traits = precision.convs[role]
        tiles = layout.Tiles.of(tiled, traits.tile_long, self._blocks)
        order = self._traits.weight_order
        pack = partial(layout.layer_weight, conv=traits, precision=precision, order=order)
        weight = self._weight(conv, pack, layout.weight_elements(traits, into, precision))
        arguments = abi.Sm90ConvParams(
            x.data_ptr(), self._norms[norm],
            None if residual is None else residual.data_ptr(),
            None if activated is None else activated.data_ptr(),
            weight.data_ptr(), y.data_ptr(), self._statistics(norm_after(conv), out, tiles.blocks),
            *size, *tiled, tiles.long, tiles.short, tiles.across,
        )  # fmt: skip
        launch, samples = self._library.styleforge_sm90_conv, self.samples
        kind, number = traits.kind, precision.number
        self._launch(
            conv, lambda stream, _: launch(kind, number, arguments, tiles.blocks, samples, stream)
        )

    def _last(self, norm: str, x: Tensor, size: tuple[int, int]) -> None:
        strips = layout.Strips.of(size, self._precision.last.width, self._blocks)
        weight = self._edge_weight("deconv3", layout.last_weight)
        bias = self._filled("deconv3.conv2d.bias", lambda b: b, (3,))
        launch, samples = self._library.styleforge_sm90_last, self.samples
        number = self._precision.number
        arguments = [
            abi.EdgeConvParams(
                x.data_ptr(), self._norms[norm], weight.data_ptr(), bias.data_ptr(), y.data_ptr(),
                abi.StatisticsParams(), self.ranges.data_ptr(), *size, x.shape[1], x.shape[2],
                strips.count, strips.rows,
            )
            for y in (self._y, self.pictures)
        ]  # fmt: skip
        self._launch(
            "deconv3",
            lambda stream, in_bytes: launch(
                number, in_bytes, arguments[in_bytes], strips.blocks, samples, stream
            ),
        )

    def _weight(self, conv: str, pack: Callable[[Tensor], Tensor], elements: int) -> Tensor:
        operand = layout.OPERANDS[self._precision.operand]
        return self._filled(f"{conv}.conv2d.weight", pack, (elements,), operand)

    def _edge_weight(self, conv: str, pack: Callable[..., Tensor]) -> Tensor:
        traits, precision = self._traits, self._precision
        packed = partial(pack, precision=precision, traits=traits)
        elements = traits.kernel_rows * traits.weight_rows * traits.weight_depth
        return self._weight(conv, packed, elements * precision.operand_copies)

    def _statistics(self, name: str, channels: int, blocks: int) -> abi.StatisticsParams:
        group = -(-blocks // self._traits.max_groups)
        groups, n = -(-blocks // group), self.samples
        entries = self._keep(torch.zeros(n, blocks, 128, 4, device=self.device))
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
