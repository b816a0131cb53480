"""Convolution, instance norm and ReLU as one module, optionally after an enlargement."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from kernels.ops.style.convolution.api import fused_conv_instancenorm_forward, unavailable_reason


class FusedConvInstanceNormReLU(nn.Module):
    """relu(norm(conv(reflect(enlarge(x))))), with the convolution padded by half its kernel.

    `conv`, an `nn.Conv2d`, and `norm`, an `nn.InstanceNorm2d`, have their usual state dicts.

    Args:
        kernel_size: Taps on a side.
        upsample: 1, or 2 to enlarge first (nearest) by the exact four-phase form, which needs
            kernel 3 and stride 1; anything else is a ValueError.
        eps: Added to the variance.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int = 3,
        stride: int = 1,
        upsample: int = 1,
        eps: float = 1e-5,
        relu: bool = True,
    ) -> None:
        super().__init__()
        if upsample not in (1, 2):
            raise ValueError(f"convolution: upsample must be 1 or 2, not {upsample!r}")
        if upsample == 2 and (kernel_size, stride) != (3, 1):
            raise ValueError("convolution: upsampling needs a 3x3 kernel with stride 1")
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride)
        self.norm = nn.InstanceNorm2d(out_channels, eps=eps, affine=True)
        self._options = (eps, kernel_size // 2, stride, relu, upsample == 2)

    def forward(self, x: Tensor) -> Tensor:
        """Apply all layers to [N, C, H, W] of any floating dtype and layout.

        Raises:
            ValueError: If the shape does not fit, or the result is a single pixel.
        """
        conv, norm = self.conv, self.norm
        return fused_conv_instancenorm_forward(
            x, conv.weight, conv.bias, norm.weight, norm.bias, *self._options
        )

    def remark(self, device: torch.device, dtype: torch.dtype) -> str:
        """Return why the convolution does not run on our kernel for such inputs; "" if it does."""
        return unavailable_reason(
            device,
            dtype,
            kernel_size=self.conv.kernel_size[0],
            stride=self.conv.stride[0],
            out_channels=self.conv.out_channels,
            upsample=self._options[-1],
        )
