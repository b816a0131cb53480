"""The layers of the published network, and the interface that executors need of a network."""

from __future__ import annotations

from typing import Protocol, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.network_config import NetworkConfig

M = TypeVar("M", bound=nn.Module)


class ConvLayer(nn.Module):
    """Reflection padding by half the odd kernel, then a convolution to ceil(H / stride)."""

    upsample = 1

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1
    ) -> None:
        super().__init__()
        self.reflection_pad = nn.ReflectionPad2d(kernel_size // 2)
        self.conv2d = nn.Conv2d(in_channels, out_channels, kernel_size, stride)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv2d(self.reflection_pad(x))


class UpsampleConvLayer(ConvLayer):
    """A nearest-neighbor enlargement by `upsample` (None or 1 for none), then a ConvLayer."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        upsample: int | None = None,
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride)
        self.upsample = upsample or 1

    def forward(self, x: Tensor) -> Tensor:
        if self.upsample > 1:
            x = F.interpolate(x, mode="nearest", scale_factor=self.upsample)
        return super().forward(x)


class ResidualBlock(nn.Module):
    """x + norm(conv(relu(norm(conv(x))))), without a ReLU after the sum."""

    def __init__(
        self, channels: int, norm_type: type[nn.InstanceNorm2d] = nn.InstanceNorm2d
    ) -> None:
        super().__init__()
        self.conv1 = ConvLayer(channels, channels, 3)
        self.in1 = norm_type(channels, affine=True)
        self.conv2 = ConvLayer(channels, channels, 3)
        self.in2 = norm_type(channels, affine=True)
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.in1(self.conv1(x)))
        return self.in2(self.conv2(y)) + x


class PublishedNetwork(Protocol):
    """The layers of a transformer network that executors read, by their published names."""

    shape: NetworkConfig
    num_residual_blocks: int
    conv1: ConvLayer
    in1: nn.InstanceNorm2d
    conv2: ConvLayer
    in2: nn.InstanceNorm2d
    conv3: ConvLayer
    in3: nn.InstanceNorm2d
    deconv1: UpsampleConvLayer
    in4: nn.InstanceNorm2d
    deconv2: UpsampleConvLayer
    in5: nn.InstanceNorm2d
    deconv3: ConvLayer

    @property
    def residual_blocks(self) -> list[ResidualBlock]: ...


def to_channels_last(module: M, device: torch.device | None = None) -> M:
    """Move a module, in place, to channels-last memory, on `device` if not None; return it."""
    # PyTorch: the overloads of Module.to leave out memory_format.
    module.to(device, memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
    return module
