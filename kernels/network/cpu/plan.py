"""The whole network on the CPU: its layers in order, and the buffers between them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from kernels.network.cpu import weights as transforms
from kernels.network.cpu.launchers import CHANNELS, CpuNetwork, Kind, Norm
from kernels.network.graph_plan import StageCallback
from kernels.network.shapes import Dimensions
from utils.profiling import nvtx_range, recorded
from utils.translation.texts import tr

EPS = 1e-5  # the eps of every norm
MULTIPLE = 4  # the layers pad sides to multiples of it

# Returns the transformed weights for their name and a transform; may cache them.
Prepare = Callable[[str, Callable[[Tensor], Tensor]], Tensor]


@runtime_checkable
class BytesNetwork(Protocol):
    """A network that reads and writes bytes on some devices."""

    def paint_bytes(
        self, frames: Tensor, mark: StageCallback | None = None
    ) -> tuple[Tensor, Tensor] | None:
        """Stylize frames [N, H, W, 3] in bytes; None if it cannot do so here.

        `mark` is called as by the network itself.

        Returns:
            The pictures as rounded bytes, [N, H, W, 3], and the least and the greatest value of
            each before it was rounded, [N, 2] in FP32, or NaN if a value is not finite.
        """
        ...


def unsupported(network: Dimensions) -> str:
    """Return why the kernels do not run a network of these dimensions; "" if they do."""
    if any(width % CHANNELS for width in network.widths):
        return tr(
            "the native kernels only support widths that are multiples of {channels}; runs layer "
            "by layer",
            channels=CHANNELS,
        )
    return ""


class CpuPlan:
    """The layers of a network, in FP32 and without gradients. Not thread-safe.

    A layer writes its raw result and its norm. The next layer applies the norm while it loads. All
    pictures share the same buffers, which grow with the size.
    """

    def __init__(self, native: CpuNetwork, network: Dimensions) -> None:
        self._native, self._network = native, network
        self._buffers = torch.empty(0)

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers in order, with their groups: "encoder/conv1"."""
        numbers = range(1, self._network.num_residual_blocks + 1)
        blocks = (f"residual blocks/res{n}.conv{part}" for n in numbers for part in (1, 2))
        ends = (f"{group}conv{n}" for group in ("encoder/", "decoder/de") for n in (1, 2, 3))
        first, second, third, *decoder = ends
        return first, second, third, *blocks, *decoder

    def __call__(
        self,
        weights: Mapping[str, Tensor],
        prepare: Prepare,
        x: Tensor,
        mark: StageCallback,
    ) -> Tensor:
        """Stylize pictures [N, 3, H, W] in FP32 one by one; return [N, 3, H, W], channels last.

        Args:
            weights: The state dict, with the published keys, in FP32.
            x: Sides of at least 16. The first layer pads sides to multiples of 4 by reflection.
            mark: Receives the name of each layer, such as "encoder/conv1", after the layer.
        """
        result = x.new_empty(len(x), *x.shape[2:], 3)
        named = _Weights(weights, prepare, self._native)
        for picture, to in zip(x.permute(0, 2, 3, 1).contiguous(), result, strict=True):
            self._paint(named, picture, to, None, mark)
        return result.permute(0, 3, 1, 2)

    def paint_bytes(
        self,
        weights: Mapping[str, Tensor],
        prepare: Prepare,
        frames: Tensor,
        mark: StageCallback,
    ) -> tuple[Tensor, Tensor]:
        """Stylize frames [N, H, W, 3] in bytes one by one; the other arguments are as in a call.

        It returns the result of BytesNetwork.paint_bytes.
        """
        result = torch.empty_like(frames, memory_format=torch.contiguous_format)
        limits = torch.empty(len(frames), 2, dtype=torch.float32)
        named = _Weights(weights, prepare, self._native)
        for frame, to, its_limits in zip(frames.contiguous(), result, limits, strict=True):
            self._paint(named, frame, to, its_limits, mark)
        return result, limits

    def _paint(
        self,
        weights: _Weights,
        x: Tensor,  # [H, W, 3]
        to: Tensor,  # of x's shape and dtype
        limits: Tensor | None,  # for bytes
        mark: StageCallback,
    ) -> None:
        first, last = Kind.FIRST, Kind.LAST
        if x.dtype is torch.uint8:
            first, last = Kind.FIRST_OF_BYTES, Kind.LAST_TO_BYTES
        high, wide = (-(-side // MULTIPLE) * MULTIPLE for side in x.shape[:2])
        outer, middle, inner = self._network.widths
        quarter = (high // 4, wide // 4, inner)
        full, half, raw, inside, *trunks = self._take(
            (high, wide, outer), (high // 2, wide // 2, middle), quarter, quarter, quarter, quarter
        )
        layer = _Layer(self._native, weights)
        names = iter(self.layers)
        with nvtx_range("encoder"):
            norm = layer(first, "conv1", "in1", x, full, side=self._network.end_kernel)
            mark(next(names))
            norm = layer(Kind.HALVING, "conv2", "in2", full, half, norm)
            mark(next(names))
            norm = layer(Kind.HALVING, "conv3", "in3", half, raw, norm)
            mark(next(names))
        trunk: Tensor | None = None  # the first block's input has a ReLU and no residual
        with nvtx_range("residual blocks"):
            for number in range(1, self._network.num_residual_blocks + 1):
                block, kept = f"res{number}", trunks[number % 2]
                parts = f"{block}.conv1", f"{block}.in1"
                norm = layer(Kind.PLAIN, *parts, raw, inside, norm, residual=trunk, kept=kept)
                mark(next(names))
                norm = layer(Kind.PLAIN, f"{block}.conv2", f"{block}.in2", inside, raw, norm)
                mark(next(names))
                trunk = kept
        with nvtx_range("decoder"):
            norm = layer(Kind.ENLARGING, "deconv1", "in4", raw, half, norm, residual=trunk)
            mark(next(names))
            norm = layer(Kind.ENLARGING, "deconv2", "in5", half, full, norm)
            mark(next(names))
            side = self._network.end_kernel
            layer(last, "deconv3", "", full, to, norm, side=side, limits=limits)
            mark(next(names))

    def _take(self, *shapes: tuple[int, int, int]) -> Sequence[Tensor]:
        """Return buffers of these shapes, as consecutive parts of one tensor."""
        sizes = [math.prod(shape) for shape in shapes]
        if self._buffers.numel() < sum(sizes):
            # Code outside inference mode could not write to a tensor created in it.
            with torch.inference_mode(False):
                self._buffers = torch.empty(sum(sizes))
        parts = torch.split_with_sizes(self._buffers[: sum(sizes)], sizes)
        return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]


class _Weights:
    """The weights of a network by name; `of` transforms a convolution's for the kernels."""

    def __init__(self, named: Mapping[str, Tensor], prepare: Prepare, native: CpuNetwork) -> None:
        self._named, self._prepare, self._native = named, prepare, native

    def of(self, kind: Kind, layer: str) -> Tensor:
        make = _TRANSFORMS[kind]
        return self._prepare(f"{layer}.conv2d.weight", lambda weight: make(weight, self._native))

    def __getitem__(self, name: str) -> Tensor:
        return self._named[name]


class _Layer:
    """Applies layers by name."""

    def __init__(self, native: CpuNetwork, weights: _Weights) -> None:
        self._native, self._weights = native, weights

    def __call__(
        self,
        kind: Kind,
        convolution: str,
        norm: str,  # "" for the last layer, which has a bias instead
        x: Tensor,
        to: Tensor,
        before: Norm | None = None,
        *,
        side: int = 3,
        residual: Tensor | None = None,
        kept: Tensor | None = None,
        limits: Tensor | None = None,
    ) -> Norm:
        """Apply a layer to the normalized x, write its raw result and return its norm."""
        following = Norm(*torch.empty(2, to.shape[2], dtype=torch.float32))
        gamma = self._weights[f"{norm}.weight"].contiguous() if norm else None
        beta = self._weights[f"{norm}.bias" if norm else f"{convolution}.conv2d.bias"].contiguous()
        weights = self._weights.of(kind, convolution)
        with recorded(f"styleforge::{convolution}"):
            self._native.layer(
                *(kind, x, weights, to),
                side=side, norm=before, residual=residual, kept=kept,
                gamma=gamma, beta=beta, eps=EPS, following=following, limits=limits,
            )  # fmt: skip
        return following


def _last(weight: Tensor, _: CpuNetwork) -> Tensor:
    return transforms.last_weights(weight)


_TRANSFORMS: dict[Kind, Callable[[Tensor, CpuNetwork], Tensor]] = {
    Kind.FIRST: transforms.first_weights,
    Kind.FIRST_OF_BYTES: transforms.first_weights,
    Kind.HALVING: transforms.halving_weights,
    Kind.PLAIN: transforms.plain_weights,
    Kind.ENLARGING: transforms.enlarging_weights,
    Kind.LAST: _last,
    Kind.LAST_TO_BYTES: _last,
}
