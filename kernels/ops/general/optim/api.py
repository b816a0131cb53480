"""Optimizer steps on lists of tensors, and the norm of a list: one launch for many tensors.

`kernel_fusion.optim` builds its optimizers on these operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torch import Tensor

from kernels.ops.general.elementwise.functions import TYPES
from kernels.ops.general.optim import norms, samples, steps, tensors
from kernels.ops.general.optim.timed import TIMED
from kernels.table.launcher import CpuLauncher, CudaLauncher
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda

__all__ = ["adam_step", "clip_grads_with_norm", "sgd_step", "total_norm"]


def _of_lists(
    run: Callable[..., Any], samples: Callable[[], Iterable[tuple[Any, ...]]], **parts: Any
) -> Operation:
    """Return an operation of which `run` is every way; it receives the kernel runner first.

    All other arguments match `Operation`.
    """

    def reference(*args: Any) -> Any:
        return run(None, *args)

    def launch_cpu(launch: CpuLauncher, *args: Any) -> Any:
        return run(tensors.on_cpu(launch), *args)

    def launch_cuda(launch: CudaLauncher, *args: Any) -> Any:
        return run(tensors.on_cuda(launch), *args)

    return Operation(
        reference=reference,
        samples=samples,
        cpu=Cpu("optim", launch_cpu),
        cuda=Cuda("optim_cuda", launch_cuda, dtypes=tuple(TYPES)),
        **parts,
    )


@_of_lists(steps.adam, samples.of_adam, mutates=("params", "exp_avgs", "exp_avg_sqs"))
def adam_step(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    steps: Sequence[Tensor],
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """Perform a step of Adam (Kingma and Ba, 2015) or AdamW (Loshchilov and Hutter, 2019) in place.

    FP16 and BF16 tensors, averages included, are computed in FP32 and rounded once. PyTorch updates
    tensors that are not dense or whose layouts differ.

    Args:
        params: Any shapes; FP16, BF16, FP32 and FP64 mixed, on one device.
        grads: The gradients, shaped like the parameters; so are the averages.
        steps: The step count of each parameter, from 1: one FP32 element each, on the device.
        beta1: Decay of the gradient average, in [0, 1); `beta2` of the squared-gradient average.
        eps: Added to the root of the average of squares.
        decoupled: Whether weight decay is decoupled from the gradient, as in AdamW.
        grad_scale: Divisor of the gradients, one FP32 element on the device, or None.
        found_inf: One FP32 element on the device, or None. If it is not 0, nothing is updated.
    """
    ...


@_of_lists(steps.sgd, samples.of_sgd, mutates=("params", "momentum_buffers"))
def sgd_step(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    momentum_buffers: Sequence[Tensor],
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """Perform a step of stochastic gradient descent in place.

    Args:
        params: Any shapes; FP16, BF16, FP32 and FP64 mixed, on one device.
        grads: The gradients, shaped like the parameters.
        momentum_buffers: Shaped like the parameters, or empty for a step without momentum.
        momentum: Factor of the previous buffer.
        dampening: Reduces the gradient's share in the buffer to 1 - dampening.
        weight_decay: Multiple of the parameters added to the gradient.
        nesterov: Nesterov momentum (Sutskever et al., 2013).
        grad_scale: As in `adam_step`, like `found_inf`.
    """
    ...


@_of_lists(norms.total_norm, samples.of_norms, timed=TIMED["total_norm"])
def total_norm(tensors: Sequence[Tensor], norm_type: float = 2.0) -> Tensor:
    """Compute the norm of several tensors as if they were one vector.

    The summation order is fixed: FP32 within 4096 elements, FP64 beyond. Returns [] in FP32, or in
    FP64 if one of the tensors is.

    Args:
        tensors: Any shapes; FP16, BF16, FP32 and FP64 mixed, on one device.
        norm_type: 1, 2 or infinity. PyTorch computes other norms; 0 counts the nonzero tensors.
    """
    ...


@_of_lists(norms.clip, samples.of_clipping, mutates=("tensors",))
def clip_grads_with_norm(tensors: Sequence[Tensor], total_norm: Tensor, max_norm: float) -> None:
    """Multiply tensors by max_norm / (total_norm + 1e-6) in place if that factor is below 1.

    Otherwise the tensors, FP16, BF16, FP32 and FP64 mixed on one device, are not touched.
    `total_norm` is one element on the device.
    """
    ...
