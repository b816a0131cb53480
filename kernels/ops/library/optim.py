"""Steps of optimizers on lists of tensors, and the norm of lists: one launch for many tensors.

`kernel_fusion.optim` has the optimizers that are made of these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from kernels.ops.elements.functions import TYPES
from kernels.ops.launcher import CpuLauncher, CudaLauncher
from kernels.ops.optimizers import norms, samples, steps, tensors
from kernels.ops.optimizers.timed import TIMED
from kernels.ops.registry import LIBRARY, fused

ON_CPU, ON_CUDA = "optim", "optim_cuda"


def _ways(run: Callable[..., Any]) -> dict[str, Any]:
    """An operation in PyTorch, on the CPU and on a GPU: `run` takes first what runs the kernel."""

    def reference(*args: Any) -> Any:
        return run(None, *args)

    def launch_cpu(launch: CpuLauncher, *args: Any) -> Any:
        return run(tensors.on_cpu(launch), *args)

    def launch_cuda(launch: CudaLauncher, *args: Any) -> Any:
        return run(tensors.on_cuda(launch), *args)

    return {
        "reference": reference,
        "launch_cpu": launch_cpu,
        "launch_cuda": launch_cuda,
        "cuda": ON_CUDA,
        "family": LIBRARY,
        "cuda_dtypes": tuple(TYPES),
        "timed": TIMED,
    }


@fused(
    ON_CPU,
    **_ways(steps.adam),
    samples=samples.of_adam,
    mutates=("params", "exp_avgs", "exp_avg_sqs"),
)
def adam_step(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    steps: list[Tensor],
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
    """A step of Adam (Kingma and Ba, 2015), or of AdamW (Loshchilov and Hutter, 2019), in place.

    FP16 and BF16 are computed in FP32 and rounded once, averages too. Tensors that do not lie
    alike, or are not dense, are updated by PyTorch.

    Args:
        params: Of any shapes, FP16, BF16, FP32 and FP64 mixed, on one device.
        grads: The gradients, as the parameters, like the averages.
        exp_avgs: The averages of gradients.
        exp_avg_sqs: Those of their squares.
        steps: By parameter, which step this is for it, from 1: one FP32 element on the device.
        lr: The learning rate.
        beta1: Of the average of gradients, from 0 to below 1.
        beta2: Of that of squares.
        eps: Added to the root of the average of squares.
        weight_decay: How fast parameters decay.
        decoupled: Whether they decay apart from the gradient, as in AdamW.
        maximize: Whether the gradient is followed upwards.
        grad_scale: What gradients are divided by, one FP32 element on the device, or None.
        found_inf: The same; where it is not 0 nothing is updated. Or None.

    Raises:
        ValueError: A tensor does not fit.
    """
    ...


@fused(
    ON_CPU,
    **_ways(steps.sgd),
    samples=samples.of_sgd,
    mutates=("params", "momentum_buffers"),
)
def sgd_step(
    params: list[Tensor],
    grads: list[Tensor],
    momentum_buffers: list[Tensor],
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """A step of stochastic gradient descent, in place.

    Args:
        params: Of any shapes, FP16, BF16, FP32 and FP64 mixed, on one device.
        grads: The gradients, as the parameters.
        momentum_buffers: As the parameters, or none for a step without momentum.
        lr: The learning rate.
        momentum: What is kept of a buffer.
        dampening: How much less than 1 the gradient counts in it.
        weight_decay: Of the parameters, added to the gradient.
        nesterov: Whether the step looks ahead (Sutskever et al., 2013).
        maximize: Whether the gradient is followed upwards.
        grad_scale: As that of `adam_step`.
        found_inf: The same.

    Raises:
        ValueError: A tensor does not fit.
    """
    ...


@fused(ON_CPU, **_ways(norms.total_norm), samples=samples.of_norms)
def total_norm(tensors: list[Tensor], norm_type: float = 2.0) -> Tensor:
    """The norm of tensors taken as one vector.

    Sums have a fixed order, in FP32 within 4096 elements and in FP64 beyond.

    Args:
        tensors: Of any shapes, FP16, BF16, FP32 and FP64 mixed, on one device.
        norm_type: 1, 2 or infinity; PyTorch computes others: 0 counts the tensors that are not
            zero.

    Returns:
        [] in FP32, or FP64 if one of the tensors is.

    Raises:
        ValueError: A tensor or `norm_type` does not fit.
    """
    ...


@fused(ON_CPU, **_ways(norms.clip), samples=samples.of_clipping, mutates=("tensors",))
def clip_grads_with_norm(tensors: list[Tensor], total_norm: Tensor, max_norm: float) -> None:
    """Multiply tensors by max_norm / (total_norm + 1e-6) where that is below 1, in place.

    Where it is not, they are not touched.

    Args:
        tensors: Of any shapes, FP16, BF16, FP32 and FP64 mixed, on one device.
        total_norm: One element on the device.
        max_norm: The norm that they may have.

    Raises:
        ValueError: A tensor does not fit.
    """
    ...
