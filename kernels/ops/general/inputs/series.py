"""The operations that prepare series for any model."""

from __future__ import annotations

from torch import Tensor

from kernels.ops.general.inputs import CPU, CUDA, windows
from kernels.ops.general.inputs.timed import TIMED
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda, Gradient

__all__ = ["sliding_window", "sliding_window_backward"]


@Operation(
    reference=windows.reference,
    samples=windows.samples,
    cpu=Cpu(CPU, windows.launch_cpu),
    cuda=Cuda(CUDA, windows.launch_cuda),
    gradient=Gradient(windows.save, windows.gradients),
    refuses=windows.refuses,
    tolerance_scale=4,
    timed=TIMED["sliding_window"],
)
def sliding_window(x: Tensor, size: int, step: int = 1, reduce: str = "mean") -> Tensor:
    """Reduce x.unfold(-1, size, step) over each window without a tensor of the windows.

    Returns [..., (length - size) // step + 1], contiguous.

    Args:
        x: [..., length] of FP16, BF16, FP32 or FP64.
        size: Window length, 1 to length.
        step: Distance between the starts of two windows.
        reduce: "mean", "sum", "max" or "min". Equal extrema of a window share the gradient, as in
            torch.amax. NaN stays NaN.
    """
    ...


@Operation(
    reference=windows.backward_reference,
    samples=windows.samples_of_backward,
    cpu=Cpu(CPU, windows.backward_on_cpu),
    cuda=Cuda(CUDA, windows.backward_on_cuda),
    derived=("y",),
    refuses=windows.refuses,
    tolerance_scale=8,
)
def sliding_window_backward(
    grad: Tensor, x: Tensor, y: Tensor, size: int, step: int = 1, reduce: str = "mean"
) -> Tensor:
    """Compute the gradient of `sliding_window`. Every sum has a fixed order.

    All other arguments match the forward pass, whose result is y. Returns a contiguous tensor of
    x's shape and dtype.

    Args:
        grad: The gradient of y, of its shape and dtype.
    """
    ...
