"""The native network on the CPU, its kernels as single convolutions, and their prepared weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from kernels.network.cpu.launchers import (
    CHANNELS,
    CpuNetwork,
    Kind,
    ValidWeights,
    cpu_network,
    in_use,
)
from kernels.network.cpu.plan import CpuPlan, Prepare, unsupported
from kernels.network.cpu.weights import (
    first_weights,
    halving_weights,
    last_weights,
    plain_weights,
    tap_sums,
)
from kernels.network.graph_plan import StageCallback, group_of
from models.inference.buffers import PreparedWeights
from models.inference.style_state import LoadedTransforms, TransformedState
from models.network_config import NetworkConfig

COLORS = 3
_TRANSFORMS = {
    Kind.VALID: plain_weights,
    Kind.VALID_HALVING: halving_weights,
    Kind.VALID_FIRST: first_weights,
}


class WinogradExecutor:
    """The executor of one network in FP32 on the CPU. Not thread-safe."""

    def __init__(self) -> None:
        self._plan: CpuPlan | None = None
        self._prepared = PreparedWeights()
        self._weights: Mapping[str, Tensor] | None = None
        self._loaded: LoadedTransforms | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()  # a copy of the network allocates its own buffers

    def forget_weights(self) -> None:
        """Collect the weights again for the next picture, in case other tensors replaced them."""
        self._weights = self._loaded = None

    def use_transforms(self, state: TransformedState, weights: Mapping[str, Tensor]) -> None:
        """Use the transforms of `state`, just loaded into `weights`, until either changes."""
        self._weights, self._prepared = weights, PreparedWeights()
        self._loaded = LoadedTransforms(state, weights)

    def plan(
        self, network: NetworkConfig, weights: Callable[[], Mapping[str, Tensor]], x: Tensor
    ) -> CpuPlan | None:
        """Return the native network if it can run pictures `x`, and load its library.

        It runs in FP32, between pictures in FP32 or in bytes, with gradients and autocast disabled.
        `weights` returns the state dict. The executor calls it once, and again after
        `forget_weights`.
        """
        if x.device.type != "cpu" or torch.is_grad_enabled() or unsupported(network):
            return None
        if self._weights is None:
            self._weights = weights()
        dtypes = {weight.dtype for weight in self._weights.values()}
        if x.dtype is not torch.uint8:
            dtypes.add(x.dtype)
        if torch.is_autocast_enabled("cpu") or dtypes != {torch.float32} or not in_use():
            return None
        if self._plan is None:
            native = cpu_network()
            self._plan = None if native is None else CpuPlan(native, network)
        return self._plan

    def __call__(
        self, plan: CpuPlan, x: Tensor, mark: StageCallback | None, *, by_layer: bool
    ) -> Tensor:
        """Stylize pictures [N, 3, H, W].

        Calls `mark` as TransformerNetBaseline.forward does, for each picture of the batch.
        """
        return plan(*self._given(), x, _marks(plan, mark, by_layer=by_layer))

    def paint_bytes(
        self, plan: CpuPlan, frames: Tensor, mark: StageCallback | None, *, by_layer: bool
    ) -> tuple[Tensor, Tensor]:
        """Stylize frames [N, H, W, 3] in bytes, see CpuPlan.paint_bytes; `mark` is as above."""
        return plan.paint_bytes(*self._given(), frames, _marks(plan, mark, by_layer=by_layer))

    def _given(self) -> tuple[Mapping[str, Tensor], Prepare]:
        weights = self._weights
        assert weights is not None  # `plan` collected them
        loaded = self._loaded
        if loaded is not None:
            loaded.touch()

        def prepare(name: str, make: Callable[[Tensor], Tensor]) -> Tensor:
            transformed = None if loaded is None else loaded.get(name, make)
            if transformed is not None:
                return transformed
            return self._prepared.get(name, weights[name], torch.float32, lambda w: (make(w),))[0]

        return weights, prepare


def _marks(plan: CpuPlan, mark: StageCallback | None, *, by_layer: bool) -> StageCallback:
    """Return a callback for layers that calls `mark` after each layer, or after each group."""
    if mark is None:
        return lambda _: None
    if by_layer:
        return mark
    last = set({group_of(layer): layer for layer in plan.layers}.values())
    return lambda layer: mark(group_of(layer)) if layer in last else None


class WinogradConvolutions:
    """Convolutions in FP32 on the CPU, without gradients. Not thread-safe."""

    def __init__(self) -> None:
        self._native: CpuNetwork | None = None
        self._prepared = PreparedWeights()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()  # a copy prepares its own weights

    def runs(self, x: Tensor, weight: Tensor, stride: int) -> bool:
        """Return whether the kernels convolve `x` with `weight`, and load their library.

        They convolve with [K, C, 3, 3], and from three colors with [K, 3, R, R] at stride 1.
        """
        inputs, *side = weight.shape[1:]
        fits = stride == 1 if inputs == COLORS else side == [3, 3] and not inputs % CHANNELS
        return fits and not weight.shape[0] % CHANNELS and _suits(x, weight)

    def runs_last(self, x: Tensor, weight: Tensor) -> bool:
        """Return the same for the convolution to three colors, [3, C, R, R] with an odd R."""
        to_colors = weight.shape[0] == COLORS and not weight.shape[1] % CHANNELS
        return to_colors and _suits(x, weight)

    def convolve_last(self, name: str, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Convolve without padding to three colors; return a new tensor, channels last."""
        native = self._loaded()
        side = weight.shape[2]
        n, _, height, width = x.shape
        out = x.new_empty(n, height - side + 1, width - side + 1, 3).permute(0, 3, 1, 2)
        (prepared,) = self._prepared.get(
            *(name, weight, torch.float32), lambda weight: (last_weights(weight),)
        )
        x = x.contiguous(memory_format=torch.channels_last)
        native.convolve_last(x, prepared, bias.contiguous(), side, out)
        return out

    def convolve(self, name: str, x: Tensor, weight: Tensor, stride: int, out: Tensor) -> Tensor:
        """Convolve without padding into `out`, [N, O, h, w], channels last, and return it.

        `name` is the key of the weight in the cache of prepared weights.
        """
        native = self._loaded()
        whole = Kind.VALID_FIRST if weight.shape[1] == COLORS else Kind.VALID
        kind = whole if stride == 1 else Kind.VALID_HALVING
        prepared = self._prepared.get(
            *(name, weight, torch.float32),
            lambda weight: (_TRANSFORMS[kind](weight, native), tap_sums(weight)),
        )
        x = x.contiguous(memory_format=torch.channels_last)
        native.convolve(kind, x, ValidWeights(*prepared), out, side=weight.shape[2])
        return out

    def _loaded(self) -> CpuNetwork:
        self._native = self._native or cpu_network()
        assert self._native is not None  # `runs` loaded it
        return self._native


def _suits(x: Tensor, weight: Tensor) -> bool:
    on_cpu = x.device.type == "cpu" and x.dtype is weight.dtype is torch.float32
    return on_cpu and in_use()
