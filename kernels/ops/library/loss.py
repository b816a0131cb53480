"""Losses: cross-entropy of logits and of a linear layer, and the mean squared error.

What is reduced is summed in FP32 (FP64 for FP64), in a fixed order, and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from kernels.ops.autograd import Gradient, Kept
from kernels.ops.elements.functions import TYPES
from kernels.ops.launcher import CpuLauncher, CudaLauncher, without_autocast
from kernels.ops.losses import linear, operations, rows, samples, scaling, squares
from kernels.ops.losses.linear import BIAS, HIDDEN, WEIGHT, Head
from kernels.ops.losses.timed import TIMED
from kernels.ops.registry import LIBRARY, fused

ON_CPU, ON_CUDA = "loss", "loss_cuda"


def _ways(run: Callable[..., Any]) -> dict[str, Any]:
    """An operation in PyTorch, on the CPU and on a GPU: `run` takes first what runs the kernel."""

    def reference(*args: Any) -> Any:
        return run(None, *args)

    def launch_cpu(launch: CpuLauncher, first: Tensor, *args: Any) -> Any:
        return run(rows.on_cpu(launch, first.dtype), first, *args)

    def launch_cuda(launch: CudaLauncher, *args: Any) -> Any:
        return run(rows.on_cuda(launch), *args)

    return {"reference": reference, "launch_cpu": launch_cpu, "launch_cuda": launch_cuda}


def _refuses(**arguments: Any) -> str:
    x = next(x for x in arguments.values() if isinstance(x, Tensor))
    if x.device.type == "cpu" and x.dtype == torch.float64:
        return "no native CPU kernel in torch.float64: PyTorch's is used there"
    return ""


_COMMON: dict[str, Any] = {
    "cuda": ON_CUDA,
    "family": LIBRARY,
    "cuda_dtypes": tuple(TYPES),
    "refuses": _refuses,
    "timed": TIMED,
}


def _save_cross_entropy(
    arguments: Sequence[Any], results: Sequence[Tensor]
) -> Sequence[Tensor | None]:
    logits, labels, _, _, _, weight, _ = arguments
    return logits, labels, weight, *results[1:]


def _gradient_of_cross_entropy(kept: Kept, grad: Tensor) -> Sequence[Gradient]:
    logits, labels, weight, lse, divisor = kept.tensors
    ignore_index, _, smoothing = kept.options[2:5]
    if kept.needs[5]:
        raise RuntimeError("cross_entropy: weight has no gradient; expected one that needs none")
    found = cross_entropy_backward(
        grad, logits, labels, lse, divisor, ignore_index, smoothing, weight
    )
    return found, None, None, None, None, None, None


def _graph_is_kept() -> bool:
    """Whether the backward that runs was asked to retain its graph."""
    return torch._C._autograd._get_current_graph_task_keep_graph()  # pyright: ignore


def _autocast_to(x: Tensor) -> torch.dtype | None:
    """What autocast multiplies in where x is; None without it."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None


def _complete_logits(
    logits: Tensor,
    labels: Tensor,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    weight: Tensor | None = None,
    dtype: torch.dtype | None = None,
) -> tuple[Any, ...]:
    """The arguments of cross_entropy: under autocast a loss is FP32, as PyTorch's is."""
    if dtype is None and _autocast_to(logits) is not None:
        dtype = rows.wide(logits.dtype)
    return logits, labels, ignore_index, reduction, label_smoothing, weight, dtype


def _complete_head(
    hidden: Tensor,
    weight: Tensor,
    labels: Tensor,
    bias: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    chunk_size: int = 0,
    dtype: torch.dtype | None = None,
    wanted: int = 0,
) -> tuple[Any, ...]:
    """The arguments of linear_cross_entropy, with the gradients that forward computes.

    Under autocast it multiplies in the dtype of that, and its loss is FP32.
    """
    cast = _autocast_to(hidden)
    if cast is not None:
        hidden, weight = hidden.to(cast), weight.to(cast)
        bias = None if bias is None else bias.to(cast)
        dtype = dtype or torch.float32
    if torch.is_grad_enabled() and reduction != "none":
        each = ((HIDDEN, hidden), (WEIGHT, weight), (BIAS, bias))
        wanted = sum(bit for bit, x in each if x is not None and x.requires_grad)
    return (
        *(hidden, weight, labels, bias, ignore_index),
        *(reduction, label_smoothing, chunk_size, dtype, wanted),
    )


def _complete_squares(x: Tensor, target: Tensor, reduction: str = "mean") -> tuple[Any, ...]:
    """The arguments of mse_loss in one dtype: the promoted one, at least FP32 under autocast."""
    if x.dtype == target.dtype and _autocast_to(x) is None:
        return x, target, reduction
    dtype = torch.promote_types(x.dtype, target.dtype)
    if _autocast_to(x) is not None and dtype.is_floating_point:
        dtype = rows.wide(dtype)
    return x.to(dtype), target.to(dtype), reduction


def _save_head(arguments: Sequence[Any], results: Sequence[Tensor]) -> Sequence[Tensor | None]:
    return *arguments[:4], *results[1:]


@without_autocast
def _gradients_of_head(kept: Kept, grad: Tensor) -> Sequence[Gradient]:
    hidden, weight, labels, bias, divisor, of_logits, *made = kept.tensors
    ignore_index, reduction, smoothing, chunk_size, _, known = kept.options[4:]
    needs = kept.needs[0], kept.needs[1], kept.needs[3]
    wanted = sum(bit for bit, need in zip((HIDDEN, WEIGHT, BIAS), needs, strict=True) if need)

    def scale(gradients: list[Tensor]) -> None:
        linear_cross_entropy_scaled_backward(gradients, grad, divisor)

    found: Sequence[Tensor | None]
    if wanted & ~known or reduction == "none" or torch.is_grad_enabled():
        # Each row has a gradient of its own, or a second derivative is asked for.
        grads = grad.to(divisor.dtype) / divisor
        found = linear_cross_entropy_backward(
            *(torch.where(divisor == 0, 0, grads).reshape(-1), hidden, weight, labels, bias),
            *(ignore_index, smoothing, chunk_size, wanted),
        )
    elif of_logits.numel():
        found = linear.products(of_logits, Head(hidden, weight, bias), wanted, scale)
    else:
        # What a graph keeps serves the next backward as well; else nobody reads it once more.
        needed = [x if need else None for x, need in zip(made, needs, strict=True)]
        found = [None if x is None else x.clone() for x in needed] if _graph_is_kept() else needed
        scale([x for x in found if x is not None])
    of = [x if need else None for x, need in zip(found, needs, strict=True)]
    return of[0], of[1], None, of[2], *[None] * 6


def _gradients_of_squares(kept: Kept, grad: Tensor) -> Sequence[Gradient]:
    x, target = kept.tensors
    found = mse_loss_backward(grad, x, target, kept.options[2])
    return found, -found if kept.needs[1] else None, None


def _loss_alone(_given: Sequence[Any], results: Any) -> Tensor:
    """What a caller gets: the other results serve the gradients."""
    return results[0]


@fused(
    ON_CPU,
    **_ways(operations.cross_entropy),
    **_COMMON,
    samples=samples.of_logits,
    save=_save_cross_entropy,
    backward=_gradient_of_cross_entropy,
    statistics=2,
    complete=_complete_logits,
    finish=_loss_alone,
    tolerance_scale=4,
)
def cross_entropy(
    logits: Tensor,
    labels: Tensor,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    weight: Tensor | None = None,
    dtype: torch.dtype | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The cross-entropy of logits with labels, without a matrix of probabilities.

    Forward reads the logits once, by an online softmax (Milakov and Gimelshein, 2018), and keeps a
    number for each row; backward reads them once more and writes the gradient. Classes are the last
    dimension, also of more than two.

    Args:
        logits: [..., classes], FP16, BF16, FP32 or FP64; up to three dimensions of any strides are
            read in place where the last one is dense.
        labels: int64 [...], from 0 to classes - 1, or ignore_index; another one makes the loss NaN.
        ignore_index: The label of rows that have no loss and no gradient.
        reduction: "mean" over the rows that count, by the weights of their labels, "sum" or "none".
        label_smoothing: How much of the target is spread over all classes (Szegedy et al., 2016),
            from 0 to 1.
        weight: [classes], by class what its loss is multiplied by, or None. It has no gradient.
        dtype: Of the loss; by default that of the logits, and FP32 under autocast.

    Returns:
        The loss: [], or [...] without a reduction. The operation itself gives
        for backward also the logarithms of the sums of exponentials, and what a mean divided by.

    Raises:
        ValueError: A shape, a dtype, a device, `reduction` or `label_smoothing` does not fit.
        RuntimeError: A gradient of `weight` is asked for.
    """
    ...


@fused(
    ON_CPU,
    **_ways(operations.cross_entropy_backward),
    **_COMMON,
    samples=samples.of_backward,
    derived=("lse", "divisor"),
    tolerance_scale=4,
)
def cross_entropy_backward(
    grad: Tensor,
    logits: Tensor,
    labels: Tensor,
    lse: Tensor,
    divisor: Tensor,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    weight: Tensor | None = None,
) -> Tensor:
    """The gradient of `cross_entropy` by the logits, in one pass.

    Args:
        grad: Of the loss: of one element, or of the labels' shape.
        logits: As in forward, like what follows where nothing is said.
        labels: The classes.
        lse: What forward found: [rows], FP32 (FP64 for FP64).
        divisor: What forward divided by, [].
        ignore_index: The label of rows without a gradient.
        label_smoothing: How much of the target is spread.
        weight: By class, or None.

    Returns:
        Of the logits' shape and dtype, contiguous.

    Raises:
        ValueError: An argument does not fit.
    """
    ...


@fused(
    ON_CPU,
    **_ways(operations.linear_cross_entropy),
    **_COMMON,
    samples=samples.of_heads,
    save=_save_head,
    backward=_gradients_of_head,
    statistics=5,
    complete=_complete_head,
    finish=_loss_alone,
    tolerance_scale=4,
)
def linear_cross_entropy(
    hidden: Tensor,
    weight: Tensor,
    labels: Tensor,
    bias: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    chunk_size: int = 0,
    dtype: torch.dtype | None = None,
    wanted: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """cross_entropy(linear(hidden, weight, bias), labels), some rows at a time.

    Logits of a chunk of rows are a product of PyTorch's; one kernel makes their losses and, in
    their place, their gradient, from which two products follow. So forward computes the gradients
    where a loss is reduced (Hsu et al., "Liger Kernel", 2024), with as many products as if all
    logits were kept, and backward scales them. Rows that are one chunk, and no more than features,
    keep the gradient of their logits, which takes no more memory than that of the weight, and
    backward has the two products. Without a reduction, and for second derivatives, backward
    computes the logits again.

    Args:
        hidden: [..., features], FP16, BF16, FP32 or FP64.
        weight: [classes, features] of hidden's dtype.
        labels: As those of `cross_entropy`, like the next ones where nothing is said.
        bias: [classes] of hidden's dtype, or None.
        ignore_index: The label of rows that have no loss.
        reduction: "mean", "sum" or "none".
        label_smoothing: From 0 to 1.
        chunk_size: Rows at a time; 0 for an eighth of them, or as many as have a quarter of the
            elements of the weight's gradient, of no more than 2^27 logits.
        dtype: Of the loss; by default that of hidden, and FP32 under autocast.
        wanted: The gradients that forward computes, found out by the function: 1 for hidden, 2 for
            weight and 4 for bias, added.

    Returns:
        The loss. The operation itself also gives what a mean divided by and the gradients of the
        sum of losses by the logits, hidden, weight and bias, without elements where they are not
        kept or not wanted; a backward that does not retain its graph scales the last three in
        place.

    Raises:
        ValueError: An argument does not fit.
    """
    ...


@fused(
    ON_CPU,
    **_ways(operations.linear_cross_entropy_backward),
    **_COMMON,
    samples=samples.of_heads_backward,
    tolerance_scale=4,
)
def linear_cross_entropy_backward(
    grads: Tensor,
    hidden: Tensor,
    weight: Tensor,
    labels: Tensor,
    bias: Tensor | None = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    chunk_size: int = 0,
    wanted: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of `linear_cross_entropy`, with the logits of a chunk computed again.

    Args:
        grads: Of the losses of rows, FP32 (FP64 for FP64): [rows], or [1] for all of them.
        hidden: As in forward, like what follows.
        weight: Of the linear layer.
        labels: The classes.
        bias: Of the linear layer, or None.
        ignore_index: The label of rows without a gradient.
        label_smoothing: How much of the target is spread.
        chunk_size: Rows at a time, or 0.
        wanted: 1 for hidden, 2 for weight and 4 for bias, added.

    Returns:
        The gradients of hidden, weight and bias, without elements where they are not wanted.

    Raises:
        ValueError: An argument does not fit.
    """
    ...


@fused(
    "",
    reference=scaling.in_pytorch,
    on_cpu="PyTorch's product with a number",
    launch_cuda=scaling.on_cuda,
    **_COMMON,
    samples=samples.made_gradients,
    mutates=("gradients",),
)
def linear_cross_entropy_scaled_backward(
    gradients: list[Tensor], grad: Tensor, divisor: Tensor
) -> None:
    """Multiply gradients that forward of `linear_cross_entropy` made by grad / divisor, in place.

    They are computed in FP32 (FP64 for FP64) and rounded once.

    Args:
        gradients: Contiguous, FP16, BF16 and FP32, or FP64, on one device.
        grad: Of the loss, one element on the device.
        divisor: What the loss was divided by, one element, FP32 (FP64 for FP64); gradients become 0
            where it is 0.

    Raises:
        ValueError: A tensor does not fit.
    """
    ...


@fused(
    ON_CPU,
    reference=squares.in_pytorch,
    launch_cpu=squares.on_cpu,
    launch_cuda=squares.on_cuda,
    **_COMMON,
    samples=samples.pairs,
    save=lambda arguments, _: arguments[:2],
    backward=_gradients_of_squares,
    complete=_complete_squares,
    tolerance_scale=4,
)
def mse_loss(x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The mean of (x - target)^2, in one pass; without a reduction, PyTorch's kernel.

    Args:
        x: Any shape and strides; FP16, BF16, FP32 or FP64.
        target: Of x's shape: nothing is broadcast. Another dtype is promoted with x's, as PyTorch
            promotes them.
        reduction: "mean", "sum" or "none".

    Returns:
        [], or x's shape without a reduction, of the promoted dtype; FP32 under autocast (FP64 for
        FP64).

    Raises:
        ValueError: A shape, a dtype, a device or `reduction` does not fit.
    """
    ...


@fused(
    ON_CPU,
    reference=squares.gradient_in_pytorch,
    launch_cpu=squares.gradient_on_cpu,
    launch_cuda=squares.gradient_on_cuda,
    **_COMMON,
    samples=samples.pairs_backward,
    tolerance_scale=4,
)
def mse_loss_backward(grad: Tensor, x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The gradient of `mse_loss` by x; that by target is its negative.

    Args:
        grad: Of the loss, [], or of x's shape without a reduction; x's dtype.
        x: As in forward.
        target: As in forward.
        reduction: As in forward.

    Returns:
        Of x's shape and dtype.

    Raises:
        ValueError: An argument does not fit.
    """
    ...
