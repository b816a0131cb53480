"""The sum of squared differences, in parts whose number does not depend on the threads."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.general.elementwise.functions import TYPES
from kernels.ops.general.loss.rows import MOST_THREADS, check_reduction, wide
from kernels.table.launcher import CpuLauncher, CudaLauncher

PART = 1 << 16  # elements per part on the CPU
MOST_BLOCKS = 1024
GRADIENT_THREADS, GRADIENT_LOADS = 256, 2  # per block; 16-byte loads per thread, of each tensor


def check(x: Tensor, target: Tensor, reduction: str) -> None:
    if x.dtype not in TYPES:
        raise ValueError(
            f"mse_loss: x is a tensor of {x.dtype}; expected float16, bfloat16, float32 or float64"
        )
    if (target.dtype, target.shape) != (x.dtype, x.shape):
        raise ValueError(
            f"mse_loss: target is {target.dtype} {list(target.shape)}; expected {x.dtype} "
            f"{list(x.shape)}, as x"
        )
    if target.device != x.device:
        raise ValueError(f"mse_loss: target is on {target.device}; expected {x.device}, where x is")
    check_reduction("mse_loss", reduction)


def in_pytorch(x: Tensor, target: Tensor, reduction: str) -> Tensor:
    check(x, target, reduction)
    if reduction == "none":
        return F.mse_loss(x, target, reduction="none")
    squares = (x.to(wide(x.dtype)) - target.to(wide(x.dtype))).square()
    return (squares.mean() if reduction == "mean" else squares.sum()).to(x.dtype)


def on_cpu(launch: CpuLauncher, x: Tensor, target: Tensor, reduction: str) -> Tensor:
    """Run loss.cpp, or PyTorch for FP64 and without a reduction."""
    check(x, target, reduction)
    if reduction == "none" or x.dtype == torch.float64 or not x.numel():
        return in_pytorch(x, target, reduction)
    x, target = x.contiguous(), target.contiguous()
    parts = torch.empty(-(-x.numel() // PART), dtype=torch.float32)
    launch("styleforge_squared_error", x, target, parts, TYPES[x.dtype], x.numel())
    found = parts.sum()
    return (found / x.numel() if reduction == "mean" else found).to(x.dtype)


def on_cuda(launch: CudaLauncher, x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Run loss.cu, or PyTorch's single kernel without a reduction."""
    check(x, target, reduction)
    if reduction == "none" or not x.numel():
        return in_pytorch(x, target, reduction)
    x, target = x.contiguous(), target.contiguous()
    blocks = min(MOST_BLOCKS, -(-x.numel() * x.element_size() // (16 * MOST_THREADS)))
    parts = x.new_empty(blocks, dtype=wide(x.dtype))
    kind, scale = TYPES[x.dtype], 1 / x.numel() if reduction == "mean" else 1.0
    given = x, target, parts, kind, x.numel(), scale
    launch("styleforge_squared_error", blocks, MOST_THREADS, *given)
    total = x.new_empty(())
    launch("styleforge_squared_error_total", 1, MOST_THREADS, parts, total, kind, blocks)
    return total


def gradient_in_pytorch(grad: Tensor, x: Tensor, target: Tensor, reduction: str) -> Tensor:
    _check_gradient(grad, x, target, reduction)
    dtype = wide(x.dtype)
    factor = grad.to(dtype) * _scale(x, reduction)
    return ((x.to(dtype) - target.to(dtype)) * factor).to(x.dtype)


def gradient_on_cpu(
    launch: CpuLauncher, grad: Tensor, x: Tensor, target: Tensor, reduction: str
) -> Tensor:
    """Run loss.cpp, or PyTorch for FP64 and without a reduction."""
    _check_gradient(grad, x, target, reduction)
    if reduction == "none" or x.dtype == torch.float64 or not x.numel():
        return gradient_in_pytorch(grad, x, target, reduction)
    x, target = x.contiguous(), target.contiguous()
    found = torch.empty_like(x)
    factor = _scale(x, reduction) * float(grad)
    given = x, target, found, TYPES[x.dtype], x.numel(), factor
    launch("styleforge_squared_error_gradient", *given)
    return found


def gradient_on_cuda(
    launch: CudaLauncher, grad: Tensor, x: Tensor, target: Tensor, reduction: str
) -> Tensor:
    """Run loss.cu, or PyTorch without a reduction."""
    _check_gradient(grad, x, target, reduction)
    if reduction == "none" or not x.numel():
        return gradient_in_pytorch(grad, x, target, reduction)
    x, target, count = x.contiguous(), target.contiguous(), x.numel()
    found = torch.empty_like(x)
    tile = GRADIENT_THREADS * GRADIENT_LOADS * 16 // x.element_size()
    given = grad, x, target, found, TYPES[x.dtype], count, _scale(x, reduction)
    launch("styleforge_squared_error_gradient", -(-count // tile), GRADIENT_THREADS, *given)
    return found


def _scale(x: Tensor, reduction: str) -> float:
    return 2 / max(1, x.numel()) if reduction == "mean" else 2.0


def _check_gradient(grad: Tensor, x: Tensor, target: Tensor, reduction: str) -> None:
    check(x, target, reduction)
    shape = x.shape if reduction == "none" else torch.Size()
    if (grad.dtype, grad.shape, grad.device) != (x.dtype, shape, x.device):
        raise ValueError(
            f"mse_loss: grad is {grad.dtype} {list(grad.shape)} on {grad.device}; expected "
            f"{x.dtype} {list(shape)} on {x.device}"
        )
