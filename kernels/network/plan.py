"""Runs the whole image transformation network on a CUDA device as fused convolutions.

A plan is made once for a size. It owns every buffer, with the weights in the order that the kernels
read. docs/explanation/performance.md shows the gain.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from ctypes import c_void_p

import torch
from torch import Tensor

from kernels.network.graph_plan import GraphPlan
from kernels.network.shapes import Dimensions

EPS = 1e-5
# Launches a layer on a stream; True if frames and pictures are bytes.
Step = Callable[[c_void_p, bool], None]


class NetworkPlan(GraphPlan):
    """The network for pictures [N, 3, H, W] of one size, dtype and device, on its own kernels.

    The weights are a published state dict, on any device; see GraphPlan for the rest.
    """

    def __init__(
        self,
        weights: Mapping[str, Tensor],
        network: Dimensions,
        shape: tuple[int, int, int],  # N, H, W
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        super().__init__(shape, dtype, device)
        self._kept: list[Tensor] = []  # kernels have only addresses, so the plan owns the tensors
        self._refill: list[Callable[[Mapping[str, Tensor]], None]] = []
        self._layers: dict[str, list[Step]] = {}
        with torch.cuda.device(device):
            self._lay_out(network, *shape[1:])
            self.set_weights(weights)

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        for refill in self._refill:
            refill(weights)

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(self._layers)

    def steps(self) -> list[Step]:
        return [step for steps in self._layers.values() for step in steps]

    # Layout

    def _lay_out(self, network: Dimensions, height: int, width: int) -> None:
        outer, between, inner = network.widths
        size, full = (height, width), (-(-height // 4) * 4, -(-width // 4) * 4)
        half, quarter = (full[0] // 2, full[1] // 2), (full[0] // 4, full[1] // 4)
        large, middle = self._buffer(full, outer), self._buffer(half, between)
        small, inside, outside = (self._buffer(quarter, inner) for _ in range(3))
        sums = [self._buffer(quarter, inner) for _ in range(2)]

        self._begin("encoder")
        self._first(large, size, full)
        self._layer("conv2", "in1", large, middle, stride=2)
        self._layer("conv3", "in2", middle, small, stride=2)

        self._begin("residual blocks")
        blocks = network.num_residual_blocks
        residual = self._residual_blocks(blocks, "in3", small, inside, outside, sums)

        self._begin("decoder")
        self._layer("deconv1", f"res{blocks}.in2", outside, middle, residual=residual)
        self._layer("deconv2", "in4", middle, large)
        self._last("in5", large, size)

    def _residual_blocks(
        self,
        blocks: int,
        norm: str,  # of x
        x: Tensor,  # [N, H, W, C], as all others
        inside: Tensor,  # output of a block's first layer
        outside: Tensor,  # output of its second layer, at last of the last block
        sums: Sequence[Tensor],  # for the blocks' inputs
    ) -> Tensor:
        """Lay out the residual blocks, and return the term to add to the last one's result."""
        residual = None
        for number in range(1, blocks + 1):
            keep, name = sums[number % 2], f"res{number}"
            # The first block's input has passed a ReLU; later inputs are sums without one.
            self._layer(f"{name}.conv1", norm, x, inside, residual=residual, activated=keep)
            self._layer(f"{name}.conv2", f"{name}.in1", inside, outside)
            x, norm, residual = outside, f"{name}.in2", keep
        assert residual is not None  # there is a block
        return residual

    @abstractmethod
    def _first(self, y: Tensor, size: tuple[int, int], padded: tuple[int, int]) -> None:
        """Lay out the first layer, from the frame; its norm is in1."""

    @abstractmethod
    def _layer(
        self,
        conv: str,
        norm: str,  # of x; ReLU follows if there is no residual
        x: Tensor,  # [N, H, W, Cin]
        y: Tensor,  # [N, H', W', Cout]
        *,
        stride: int = 1,
        residual: Tensor | None = None,
        activated: Tensor | None = None,
    ) -> None: ...

    @abstractmethod
    def _last(self, norm: str, x: Tensor, size: tuple[int, int]) -> None:
        """Lay out the last layer, to the picture."""

    # Helpers. The closures they return have no reference to the plan, so that dropping a plan frees
    # its memory at once rather than at the next garbage collection.

    def _begin(self, group: str) -> None:
        self._group = group

    def _buffer(self, size: tuple[int, int], channels: int) -> Tensor:
        shape = (self.samples, *size, channels)
        return self._keep(torch.zeros(shape, dtype=self.dtype, device=self.device))

    def _keep(self, tensor: Tensor) -> Tensor:
        self._kept.append(tensor)
        return tensor

    def _filled(
        self,
        name: str,
        pack: Callable[[Tensor], Tensor],
        shape: tuple[int, ...],
        dtype: torch.dtype = torch.float32,
    ) -> Tensor:
        """Return a buffer with `pack(weights[name])`, refilled whenever weights are set."""
        to = self._keep(torch.zeros(shape, dtype=dtype, device=self.device))
        self._fill(to, name, pack)
        return to

    def _fill(self, to: Tensor, name: str, pack: Callable[[Tensor], Tensor]) -> None:
        def refill(weights: Mapping[str, Tensor]) -> None:
            to.copy_(pack(weights[name].detach().to(to.device)).view_as(to))

        self._refill.append(refill)

    def _launch(self, layer: str, call: Callable[[c_void_p, bool], int]) -> None:
        """Add a launch of a layer, by the name of its convolution in the state dict."""

        def step(stream: c_void_p, in_bytes: bool) -> None:
            if error := call(stream, in_bytes):
                raise RuntimeError(f"the fused network could not be launched: CUDA error {error}")

        self._layers.setdefault(f"{self._group}/{layer}", []).append(step)

    def _prepared(self, part: str, in_bytes: bool) -> Callable[[], object]:
        steps = [step for layer in self._within(part) for step in self._layers[layer]]

        def submit() -> None:
            stream = c_void_p(torch.cuda.current_stream().cuda_stream)
            for step in steps:
                step(stream, in_bytes)

        return submit


def precision_of(dtype: torch.dtype, tf32: bool) -> str:
    """Return the libraries' name for FP16, BF16, FP32 or, with `tf32`, FP32 in TF32's ten bits."""
    return {
        torch.float16: "fp16",
        torch.bfloat16: "bf16",
        torch.float32: "tf32" if tf32 else "fp32",
    }[dtype]


def role_of(conv: str) -> str:
    roles = {"conv2": "down1", "conv3": "down2", "deconv1": "up1", "deconv2": "up2"}
    return roles.get(conv, "same")


def norm_after(conv: str) -> str:
    return {"deconv1": "in4", "deconv2": "in5"}.get(conv, conv.replace("conv", "in"))
