"""Networks in float64, as the reference for the errors of all variants."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

STRIP_BYTES = 256 << 20  # approximate memory of the unfolded strip of a convolution's input


class StripedConv2d(nn.Module):
    """A convolution computed in strips of rows.

    PyTorch's float64 convolution on the CPU unfolds its whole input. For a 9x9 kernel over 32
    channels of 1280x720, that takes 19 GB; strips take STRIP_BYTES.

    Raises:
        ValueError: If the convolution has padding, or is transposed.
    """

    def __init__(self, conv: nn.Conv2d) -> None:
        super().__init__()
        if conv.padding not in (0, (0, 0), "valid") or conv.transposed:
            raise ValueError("only a convolution without padding can be cut into strips")
        self.conv = conv

    def forward(self, x: Tensor) -> Tensor:
        """Convolve [N, C, H, W] strip by strip, with the same result as the convolution."""
        kernel, _ = self.conv.kernel_size
        stride, _ = self.conv.stride
        dilation, _ = self.conv.dilation
        reach = dilation * (kernel - 1) + 1
        rows = (x.shape[2] - reach) // stride + 1
        per_row = x.shape[0] * x.shape[1] * x.shape[3] * kernel * kernel * x.element_size()
        step = max(1, STRIP_BYTES // per_row)
        strips = []
        for first in range(0, rows, step):
            last = min(first + step, rows) - 1
            strips.append(self.conv(x[:, :, first * stride : last * stride + reach]))
        return torch.cat(strips, dim=2)


def in_float64(network: nn.Module) -> nn.Module:
    """Copy a network with float64 weights and convolutions that run in strips."""
    network = copy.deepcopy(network).double()
    for module in list(network.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Conv2d) and not isinstance(module, StripedConv2d):
                setattr(module, name, StripedConv2d(child))
    return network
