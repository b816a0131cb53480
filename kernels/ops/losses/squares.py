"""The sum of squared differences, by parts whose number does not depend on the threads."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.elements.functions import TYPES
from kernels.ops.launcher import CpuLauncher, CudaLauncher
from kernels.ops.losses.rows import MOST_THREADS, check_reduction, wide

PART = 1 << 16  # elements, of a part on the CPU
MOST_BLOCKS = 1024
NUMBERS = {"none": 0, "mean": 1, "sum": 2}  # as PyTorch's operators have them


def check(x: Tensor, target: Tensor, reduction: str) -> None:
    """Check the arguments.

    Raises:
        ValueError: One of them does not fit.
    """
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


def in_pytorch(x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """What the loss is."""
    check(x, target, reduction)
    if reduction == "none":
        return F.mse_loss(x, target, reduction="none")
    squares = (x.to(wide(x.dtype)) - target.to(wide(x.dtype))).square()
    return (squares.mean() if reduction == "mean" else squares.sum()).to(x.dtype)


def on_cpu(launch: CpuLauncher, x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """By cpu/loss.cpp; FP64, and what is not reduced, by PyTorch."""
    check(x, target, reduction)
    if reduction == "none" or x.dtype == torch.float64 or not x.numel():
        return in_pytorch(x, target, reduction)
    x, target = x.contiguous(), target.contiguous()
    parts = torch.empty(-(-x.numel() // PART), dtype=torch.float32)
    launch("styleforge_squared_error", x, target, parts, TYPES[x.dtype], x.numel())
    found = parts.sum()
    return (found / x.numel() if reduction == "mean" else found).to(x.dtype)


def on_cuda(launch: CudaLauncher, x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """By loss.cu; what is not reduced, by PyTorch's one kernel."""
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


def backward_in_pytorch(grad: Tensor, x: Tensor, target: Tensor, reduction: str) -> Tensor:
    """What the gradient of x is, of a loss that is reduced."""
    check(x, target, reduction)
    check_backward(grad, x, reduction)
    of = wide(x.dtype)
    return (_factor(x, reduction) * grad.to(of) * (x.to(of) - target.to(of))).to(x.dtype)


def backward_on_cpu(
    launch: CpuLauncher, grad: Tensor, x: Tensor, target: Tensor, reduction: str
) -> Tensor:
    """By cpu/loss.cpp; FP64 by PyTorch."""
    if x.dtype == torch.float64 or not x.numel():
        return backward_in_pytorch(grad, x, target, reduction)
    check(x, target, reduction)
    check_backward(grad, x, reduction)
    x, target = x.contiguous(), target.contiguous()
    found = torch.empty_like(x)
    factor = _factor(x, reduction) * float(grad)
    given = x, target, found, TYPES[x.dtype], x.numel(), factor
    launch("styleforge_squared_error_gradient", *given)
    return found


def check_backward(grad: Tensor, x: Tensor, reduction: str) -> None:
    """Check what a gradient is made of.

    Raises:
        ValueError: The loss is not reduced, or `grad` is not that of one number of x's dtype.
    """
    if reduction == "none" or grad.shape != () or grad.dtype != x.dtype:
        raise ValueError(
            f"mse_loss_backward: grad is {grad.dtype} {list(grad.shape)}, reduction '{reduction}'; "
            f"expected {x.dtype} [] of 'mean' or 'sum'"
        )


def _factor(x: Tensor, reduction: str) -> float:
    return 2 / max(x.numel(), 1) if reduction == "mean" else 2.0


def gradient(grad: Tensor, x: Tensor, target: Tensor, reduction: str) -> Tensor:
    """The gradient of x; that of the target is its negative.

    PyTorch's kernel takes one pass, but the call that can be differentiated fills the result with
    zeros first. On a CPU that of 16 bits takes several times as long as to move its bytes.
    """
    if x.is_cpu and reduction != "none":
        run: Any = torch.ops.styleforge.mse_loss_backward
        return run(grad, x, target, reduction)
    run = torch.ops.aten.mse_loss_backward
    given = grad, x, target, NUMBERS[reduction]
    if torch.is_grad_enabled():
        return run(*given)
    return run.grad_input(*given, grad_input=torch.empty_like(x))
