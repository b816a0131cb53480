"""A convolution with reflection padding as a module, on the fused kernel."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from kernels.ops.style.convolution.api import fused_conv_reflection_pad_forward, unavailable_reason


class FusedConv2d(nn.Conv2d):
    """Drop-in for `nn.Conv2d(..., padding_mode="reflect")`: same state dict, same result.

    It has square kernels, the same padding on all sides, no groups and no dilation.

    Args:
        kernel_size: Taps on a side, at least 1.
        stride: One stride, or the strides of height and width.
        padding: Pixels on each side; defaults to half the kernel.

    Raises:
        ValueError: If `kernel_size` is not a positive integer, or `nn.Conv2d` refuses an argument.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int | tuple[int, int] = 1,
        padding: int | None = None,
        bias: bool = True,
    ) -> None:
        if type(kernel_size) is not int or kernel_size < 1:
            raise ValueError(f"convolution: kernel_size must be at least 1, not {kernel_size!r}")
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            in_channels,
            out_channels,
            kernel_size,
            stride,
            kernel_size // 2 if padding is None else padding,
            bias=bias,
            padding_mode="reflect",
        )
        self._sides = (int(self.padding[0]), int(self.stride[0]), int(self.stride[1]))

    def forward(self, input: Tensor) -> Tensor:
        """Convolve [N, C, H, W] of any floating dtype and layout.

        Raises:
            ValueError: If the shape does not fit; H and W must exceed the padding.
        """
        return fused_conv_reflection_pad_forward(input, self.weight, self.bias, *self._sides)

    def remark(self, device: torch.device, dtype: torch.dtype) -> str:
        """Return why the convolution does not run on our kernel for such inputs; "" if it does."""
        return unavailable_reason(
            device,
            dtype,
            kernel_size=self.kernel_size[0],
            stride=self._sides[1:],
            out_channels=self.out_channels,
        )
