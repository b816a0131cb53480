"""In-place scaling of the forward pass's gradients by the gradient of the loss."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.ops.general.elementwise.functions import TYPES
from kernels.ops.general.loss.rows import wide
from kernels.table.launcher import CudaLauncher

THREADS, LOADS = 256, 4  # per block; 16-byte loads per thread


def check(gradients: list[Tensor], grad: Tensor, divisor: Tensor) -> None:
    name = "linear_cross_entropy_scaled_backward"
    for at, x in enumerate(gradients):
        if x.dtype not in TYPES or not x.is_contiguous():
            raise ValueError(
                f"{name}: gradients[{at}] is {x.dtype} of strides {x.stride()}; expected "
                "contiguous float16, bfloat16, float32 or float64"
            )
        if wide(x.dtype) != divisor.dtype or x.device != divisor.device:
            raise ValueError(
                f"{name}: gradients[{at}] is {x.dtype} on {x.device}, with a divisor of "
                f"{divisor.dtype} on {divisor.device}; expected both on one device, in dtypes "
                "whose losses are computed in one"
            )
    for what, x in (("grad", grad), ("divisor", divisor)):
        if x.numel() != 1 or x.dtype not in TYPES or x.device != divisor.device:
            raise ValueError(
                f"{name}: {what} is {x.dtype} {list(x.shape)} on {x.device}; expected one floating "
                f"element on {divisor.device}"
            )


def in_pytorch(gradients: list[Tensor], grad: Tensor, divisor: Tensor) -> None:
    check(gradients, grad, divisor)
    factor = torch.where(divisor == 0, 0, grad.to(divisor.dtype) / divisor)
    for x in gradients:
        x.mul_(factor)


def on_cuda(launch: CudaLauncher, gradients: list[Tensor], grad: Tensor, divisor: Tensor) -> None:
    """Run loss.cu; PyTorch's product of 16 bits and an FP32 number uses no vectors on a GPU."""
    check(gradients, grad, divisor)
    for x in gradients:
        if x.numel():
            tile = THREADS * LOADS * 16 // x.element_size()
            given = x, grad, divisor, TYPES[x.dtype], TYPES[grad.dtype], x.numel()
            launch("styleforge_scale", -(-x.numel() // tile), THREADS, *given)
