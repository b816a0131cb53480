"""The residual block as a module, on the fused operation."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from kernels.ops.style.convolution.api import unavailable_reason
from kernels.ops.style.convolution.residual import fused_residual_block_forward


def residual_block(
    x: Tensor,
    conv1: nn.Conv2d,
    in1: nn.InstanceNorm2d,
    conv2: nn.Conv2d,
    in2: nn.InstanceNorm2d,
) -> Tensor:
    """Apply the fused operation with the weights of these layers and the first norm's eps.

    The 3x3 convolutions keep the channels of x, [N, C, H, W] of any floating dtype and layout; a
    ReLU follows `in1`.

    Raises:
        ValueError: If the shapes do not fit.
    """
    return fused_residual_block_forward(
        x,
        conv1.weight,
        conv1.bias,
        in1.weight,
        in1.bias,
        conv2.weight,
        conv2.bias,
        in2.weight,
        in2.bias,
        in1.eps,
    )


class _Padded(nn.Module):
    """A holder of a convolution under its name in the published networks."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv2d = nn.Conv2d(channels, channels, 3)


class FusedResidualBlock(nn.Module):
    """x + norm(conv(relu(norm(conv(x))))); drop-in for the residual block of the networks.

    The state dict has the published names: `conv1.conv2d`, `in1`, `conv2.conv2d`, `in2`.
    """

    def __init__(self, channels: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.conv1 = _Padded(channels)
        self.in1 = nn.InstanceNorm2d(channels, eps=eps, affine=True)
        self.conv2 = _Padded(channels)
        self.in2 = nn.InstanceNorm2d(channels, eps=eps, affine=True)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the block to [N, C, H, W] of any floating dtype and layout.

        Raises:
            ValueError: If the number of channels or dimensions differs, or H or W is below 2.
        """
        return residual_block(x, self.conv1.conv2d, self.in1, self.conv2.conv2d, self.in2)

    def remark(self, device: torch.device, dtype: torch.dtype) -> str:
        """Return why the convolutions do not run on our kernel for such inputs; "" if they do."""
        return unavailable_reason(device, dtype, out_channels=self.in1.num_features)
