"""A single layer of the general path on given inputs: its launches and their outputs."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from kernels.network import abi
from kernels.network.abi import Sm80Network
from kernels.network.launchers import Network
from kernels.network.plan import EPS
from kernels.network.shapes import Dimensions
from kernels.network.sm80 import Sm80Plan
from kernels.tuning.candidates import convs

# By role: the convolution in the state dict and the norm of its input, see NetworkPlan. One of the
# layers that keep their size adds a residual and stores its activated input, the other does
# neither.
CONVS = {
    "down1": (("conv2", "in1"),),
    "down2": (("conv3", "in2"),),
    "same": (("res2.conv1", "res1.in2"), ("res2.conv2", "res2.in1")),
    "up1": (("deconv1", "res2.in2"),),
    "up2": (("deconv2", "in4"),),
}
BLOCKS = 2  # residual blocks, so that the state dict has the names above
# the picture's size relative to the input's
SCALES = {"down1": 1, "down2": 2, "same": 4, "up1": 4, "up2": 2}


class LayerPlan(Sm80Plan):
    """The launches of one role in ROLES; see Sm80Plan for the weights.

    `stored` has the launches' outputs except statistics, by name.

    Args:
        layers: All layers of the network, as they should be launched.
        dtype: torch.float16 or torch.bfloat16.
        library: The network on that GPU; it must know the kernels of `layers`.
    """

    def __init__(
        self,
        role: str,
        layers: Sm80Network,
        weights: Mapping[str, Tensor],
        network: Dimensions,
        shape: tuple[int, int, int],
        dtype: torch.dtype,
        device: torch.device,
        library: Network,
        small: bool = False,
    ) -> None:
        self._role, self._chosen = role, layers
        self.stored: dict[str, Tensor] = {}
        self._merged: dict[str, Tensor] = {}
        super().__init__(weights, network, shape, dtype, device, library, small)

    def statistics(self) -> dict[str, Tensor]:
        """Return mean and variance of each norm's input, [N, C, 2] in FP64, by the norm's name."""
        return {name: _moments(merged) for name, merged in self._merged.items()}

    def _lay_out(self, network: Dimensions, height: int, width: int) -> None:
        self._traits = self._chosen
        size, full = (height, width), (-(-height // 4) * 4, -(-width // 4) * 4)
        generator = torch.Generator(self.device).manual_seed(0)

        def random(size: tuple[int, int], channels: int) -> Tensor:
            x = self._buffer(size, channels)
            return x.copy_(torch.randn(x.shape, generator=generator, device=self.device))

        self._begin(self._role)
        if self._role == "first":
            for x in (self._x, self.frames):
                x.random_(0, 256, generator=generator)
            y = self._keep_stored("y", self._buffer(full, network.widths[0]))
            self._first(y, size, full)
            return
        if self._role == "last":
            x = random(full, network.widths[0])
            self._given_norm("in5", x)
            self._last("in5", x, size)
            self.stored |= {"values": self._y, "bytes": self.pictures, "ranges": self.ranges}
            return
        layer, scale = convs(network)[self._role], SCALES[self._role]
        inner = full[0] // scale, full[1] // scale
        enlarged = 2 if layer.upsample else 1
        outer = inner[0] * enlarged // layer.stride, inner[1] * enlarged // layer.stride
        for number, (conv, norm) in enumerate(CONVS[self._role]):
            x = random(inner, layer.into)
            self._given_norm(norm, x)
            adds = layer.residual and number == 0
            residual = random(inner, layer.into) if adds else None
            keeps = adds and self._role == "same"
            activated = self._buffer(inner, layer.into) if keeps else None
            if activated is not None:
                self._keep_stored(f"{conv} activated", activated)
            y = self._keep_stored(conv, self._buffer(outer, layer.out))
            self._layer(
                conv, norm, x, y, stride=layer.stride, residual=residual, activated=activated
            )

    def _keep_stored(self, name: str, tensor: Tensor) -> Tensor:
        self.stored[name] = tensor
        return tensor

    def _given_norm(self, name: str, x: Tensor) -> None:
        samples, channels = x.shape[0], x.shape[-1]
        values = x.reshape(samples, -1, channels).float()
        count, mean = values.shape[1], values.mean(1)
        m2 = (values - mean[:, None]).square().sum(1)
        columns = [torch.full_like(mean, count), mean, m2, torch.zeros_like(mean)]
        merged = self._keep(torch.stack(columns, -1).reshape(samples, 1, channels, 4).contiguous())
        gamma, beta = (
            self._filled(f"{name}.{part}", lambda w: w, (channels,)) for part in ("weight", "bias")
        )
        self._norms[name] = abi.NormParams(
            merged.data_ptr(), gamma.data_ptr(), beta.data_ptr(), 1, EPS
        )

    def _statistics(self, name: str, channels: int, blocks: int) -> abi.StatisticsParams:
        params = super()._statistics(name, channels, blocks)
        (merged,) = (kept for kept in self._kept if kept.data_ptr() == params.groups)
        self._merged[name] = merged
        return params


def _moments(merged: Tensor) -> Tensor:
    """Merge groups [N, groups, C, (count, mean, M2, -)] to mean and variance, [N, C, 2] in FP64."""
    count, mean, m2, _ = merged.double().unbind(-1)
    total = count.sum(1)
    center = (count * mean).sum(1) / total
    squares = m2.sum(1) + (count * (mean - center[:, None]).square()).sum(1)
    return torch.stack([center, squares / total], -1)
