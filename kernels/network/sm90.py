"""The network's plan for Hopper: persistent, warp-specialised layers of network_sm90.cu."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from ctypes import byref
from functools import partial

import torch
from torch import Tensor

from kernels.network import sm90_layout as layout
from kernels.network.plan import EPS, NetworkPlan, norm_after

KINDS = {(32, 64): layout.DOWN_1, (64, 128): layout.DOWN_2, (128, 64): layout.UP_1,
         (64, 32): layout.UP_2}  # fmt: skip


class Sm90Plan(NetworkPlan):
    """On a GPU of compute capability 9.0; dtypes FP16, BF16 and FP32."""

    def __init__(
        self,
        weights: Mapping[str, Tensor],
        num_residual_blocks: int,
        shape: tuple[int, int, int],
        dtype: torch.dtype,
        device: torch.device,
        library: ctypes.CDLL,
        tf32: bool = False,  # whether FP32 may be multiplied as TF32
    ) -> None:
        self._library = layout.declared(library)
        self._mode = {
            torch.float16: layout.HALF,
            torch.bfloat16: layout.BRAIN,
            torch.float32: layout.SINGLE if tf32 else layout.EXACT,
        }[dtype]
        # What weights are multiplied as.
        self._operand = torch.bfloat16 if dtype is torch.bfloat16 else torch.float16
        self._blocks = torch.cuda.get_device_properties(device).multi_processor_count
        self._norms: dict[str, layout.Norm] = {}
        super().__init__(weights, num_residual_blocks, shape, dtype, device)

    def _first(self, y: Tensor, size: tuple[int, int], padded: tuple[int, int]) -> None:
        strips = layout.Strips.of(padded, layout.strip_width(self._mode), self._blocks)
        weight = self._weight("conv1", partial(layout.first_weight, mode=self._mode), 10 * 64 * 32)
        statistics = self._statistics("in1", 32, strips.blocks)
        launch, mode, samples = self._library.styleforge_hopper_first, self._mode, self.samples
        sources = self._x.data_ptr(), self.frames.data_ptr()
        arguments = [
            layout.Ends(
                x, layout.Norm(), weight.data_ptr(), None, y.data_ptr(), statistics,
                self.ranges.data_ptr(), *size, *padded, strips.count, strips.rows,
            )
            for x in sources
        ]  # fmt: skip
        self._launch(
            lambda stream, in_bytes: launch(
                mode, in_bytes, byref(arguments[in_bytes]), strips.blocks, samples, stream
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
            kind = layout.residual_kind(size, self._blocks)
        tiles = layout.Tiles.of(tiled, layout.tile_side(kind, self._mode), self._blocks)
        rows = 64 if kind == layout.DOWN_1 else 128
        taps = {layout.UP_1: 2 * 4, layout.UP_2: 6}.get(kind, 9)
        pack = partial(layout.layer_weight, kind=kind, mode=self._mode)
        weight = self._weight(conv, pack, rows * into * taps)
        arguments = layout.Layer(
            x.data_ptr(), self._norms[norm],
            None if residual is None else residual.data_ptr(),
            None if activated is None else activated.data_ptr(),
            weight.data_ptr(), y.data_ptr(), self._statistics(norm_after(conv), out, tiles.blocks),
            *size, *tiled, tiles.long, tiles.short, tiles.across,
        )  # fmt: skip
        launch, mode, samples = self._library.styleforge_hopper_conv, self._mode, self.samples
        self._launch(
            lambda stream, _: launch(kind, mode, byref(arguments), tiles.blocks, samples, stream)
        )

    def _last(self, norm: str, x: Tensor, size: tuple[int, int]) -> None:
        strips = layout.Strips.of(size, layout.strip_width(self._mode), self._blocks)
        weight = self._weight("deconv3", partial(layout.last_weight, mode=self._mode), 10 * 64 * 32)
        bias = self._filled("deconv3.conv2d.bias", lambda b: b, (3,))
        launch, mode, samples = self._library.styleforge_hopper_last, self._mode, self.samples
        arguments = [
            layout.Ends(
                x.data_ptr(), self._norms[norm], weight.data_ptr(), bias.data_ptr(), y.data_ptr(),
                layout.Entries(), self.ranges.data_ptr(), *size, x.shape[1], x.shape[2],
                strips.count, strips.rows,
            )
            for y in (self._y, self.pictures)
        ]  # fmt: skip
        self._launch(
            lambda stream, in_bytes: launch(
                mode, in_bytes, byref(arguments[in_bytes]), strips.blocks, samples, stream
            )
        )

    def _weight(self, conv: str, pack: Callable[[Tensor], Tensor], elements: int) -> Tensor:
        copies = 2 if self._mode == layout.EXACT else 1
        return self._filled(f"{conv}.conv2d.weight", pack, (elements * copies,), self._operand)

    def _statistics(self, name: str, channels: int, blocks: int) -> layout.Entries:
        group = -(-blocks // layout.MOST_GROUPS)
        groups, n = -(-blocks // group), self.samples
        entries = self._keep(torch.zeros(n, blocks, 128, 4, device=self.device))
        merged = self._keep(torch.zeros(n, groups, channels, 4, device=self.device))
        tickets = self._keep(torch.zeros(n, groups, dtype=torch.int32, device=self.device))
        gamma, beta = (
            self._filled(f"{name}.{part}", lambda w: w, (channels,)) for part in ("weight", "bias")
        )
        self._norms[name] = layout.Norm(
            merged.data_ptr(), gamma.data_ptr(), beta.data_ptr(), groups, EPS
        )
        return layout.Entries(entries.data_ptr(), merged.data_ptr(), tickets.data_ptr(), group)
