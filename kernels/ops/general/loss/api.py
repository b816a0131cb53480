"""Losses: cross-entropy of logits and of a linear layer, and the mean squared error.

Reductions sum in FP32 (FP64 for FP64), in a fixed order, and round once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from kernels.ops.general.elementwise.functions import TYPES
from kernels.ops.general.loss import linear, operations, rows, samples, scaling, squares
from kernels.ops.general.loss.linear import BIAS, HIDDEN, WEIGHT, Head
from kernels.ops.general.loss.timed import TIMED
from kernels.table.autograd import Grad, Kept
from kernels.table.launcher import CpuLauncher, CudaLauncher, without_autocast
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda, Gradient, Hidden

__all__ = [
    "cross_entropy",
    "cross_entropy_backward",
    "linear_cross_entropy",
    "linear_cross_entropy_backward",
    "linear_cross_entropy_scaled_backward",
    "mse_loss",
    "mse_loss_backward",
]

ON_CPU = "loss"


def _loss(
    run: Callable[..., Any], samples: Callable[[], Iterable[tuple[Any, ...]]], **parts: Any
) -> Operation:
    """Return an operation of which `run` is every way; it receives the kernel runner first.

    All other arguments match `Operation`.
    """

    def reference(*args: Any) -> Any:
        return run(None, *args)

    def launch_cpu(launch: CpuLauncher, first: Tensor, *args: Any) -> Any:
        return run(rows.on_cpu(launch, first.dtype), first, *args)

    def launch_cuda(launch: CudaLauncher, *args: Any) -> Any:
        return run(rows.on_cuda(launch), *args)

    return Operation(
        reference=reference,
        samples=samples,
        cpu=Cpu(ON_CPU, launch_cpu),
        cuda=_on_cuda(launch_cuda),
        refuses=_refuses,
        tolerance_scale=4,
        **parts,
    )


def _on_cuda(launch: Callable[..., Any]) -> Cuda:
    return Cuda("loss_cuda", launch, dtypes=tuple(TYPES))


def _refuses(**arguments: Any) -> str:
    x = next(x for x in arguments.values() if isinstance(x, Tensor))
    if x.device.type == "cpu" and x.dtype == torch.float64:
        return "no native CPU kernel in torch.float64: PyTorch's is used there"
    return ""


def _save_cross_entropy(
    arguments: Sequence[Any], results: Sequence[Tensor]
) -> Sequence[Tensor | None]:
    logits, labels, _, _, _, weight, _ = arguments
    return logits, labels, weight, *results[1:]


def _gradient_of_cross_entropy(kept: Kept, grad: Tensor) -> Sequence[Grad]:
    logits, labels, weight, lse, divisor = kept.tensors
    ignore_index, _, smoothing = kept.options[2:5]
    if kept.needs[5]:
        raise RuntimeError("cross_entropy: weight requires a gradient; expected one that does not")
    found = cross_entropy_backward(
        grad, logits, labels, lse, divisor, ignore_index, smoothing, weight
    )
    return found, None, None, None, None, None, None


def _graph_is_kept() -> bool:
    """Return whether the running backward pass retains its graph."""
    return torch._C._autograd._get_current_graph_task_keep_graph()  # pyright: ignore


def _autocast_to(x: Tensor) -> torch.dtype | None:
    """Return autocast's dtype on x's device, or None without autocast."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None


def _complete_logits(
    logits: Tensor,
    labels: Tensor,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
    weight: Tensor | None,
    dtype: torch.dtype | None,
) -> tuple[Any, ...]:
    """Return the arguments of cross_entropy. Under autocast the loss is FP32, as in PyTorch."""
    if dtype is None and _autocast_to(logits) is not None:
        dtype = rows.wide(logits.dtype)
    return logits, labels, ignore_index, reduction, label_smoothing, weight, dtype


def _complete_head(
    hidden: Tensor,
    weight: Tensor,
    labels: Tensor,
    bias: Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
    chunk_size: int,
    dtype: torch.dtype | None,
    wanted: int,
) -> tuple[Any, ...]:
    """Return the arguments of linear_cross_entropy, with the gradients that forward computes.

    Under autocast it multiplies in autocast's dtype, and the loss is FP32.
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


def _complete_squares(x: Tensor, target: Tensor, reduction: str) -> tuple[Any, ...]:
    """Return the arguments of mse_loss in the promoted dtype, under autocast at least FP32."""
    if x.dtype == target.dtype and _autocast_to(x) is None:
        return x, target, reduction
    dtype = torch.promote_types(x.dtype, target.dtype)
    if _autocast_to(x) is not None and dtype.is_floating_point:
        dtype = rows.wide(dtype)
    return x.to(dtype), target.to(dtype), reduction


def _save_head(arguments: Sequence[Any], results: Sequence[Tensor]) -> Sequence[Tensor | None]:
    return *arguments[:4], *results[1:]


@without_autocast
def _gradients_of_head(kept: Kept, grad: Tensor) -> Sequence[Grad]:
    hidden, weight, labels, bias, divisor, of_logits, *made = kept.tensors
    ignore_index, reduction, smoothing, chunk_size, _, known = kept.options[4:]
    needs = kept.needs[0], kept.needs[1], kept.needs[3]
    wanted = sum(bit for bit, need in zip((HIDDEN, WEIGHT, BIAS), needs, strict=True) if need)

    def scale(gradients: list[Tensor]) -> None:
        linear_cross_entropy_scaled_backward(gradients, grad, divisor)

    found: Sequence[Tensor | None]
    if wanted & ~known or reduction == "none" or torch.is_grad_enabled():
        # Each row has its own gradient, or a second derivative is needed.
        grads = grad.to(divisor.dtype) / divisor
        found = linear_cross_entropy_backward(
            *(torch.where(divisor == 0, 0, grads).reshape(-1), hidden, weight, labels, bias),
            *(ignore_index, smoothing, chunk_size, wanted),
        )
    elif of_logits.numel():
        found = linear.products(of_logits, Head(hidden, weight, bias), wanted, scale)
    else:
        # A retained graph needs these again in the next backward pass; otherwise nothing reads them
        # again.
        needed = [x if need else None for x, need in zip(made, needs, strict=True)]
        found = [None if x is None else x.clone() for x in needed] if _graph_is_kept() else needed
        scale([x for x in found if x is not None])
    of = [x if need else None for x, need in zip(found, needs, strict=True)]
    return of[0], of[1], None, of[2], *[None] * 6


def _gradients_of_squares(kept: Kept, grad: Tensor) -> Sequence[Grad]:
    x, target = kept.tensors
    found = mse_loss_backward(grad, x, target, kept.options[2])
    return found, -found if kept.needs[1] else None, None


@_loss(
    operations.cross_entropy,
    samples.of_logits,
    gradient=Gradient(_save_cross_entropy, _gradient_of_cross_entropy, statistics=2),
    hidden=Hidden(2),
    complete=_complete_logits,
    timed=TIMED["cross_entropy"],
)
def cross_entropy(
    logits: Tensor,
    labels: Tensor,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    weight: Tensor | None = None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Compute the cross-entropy of logits and labels without a probability matrix.

    The forward pass reads the logits once with an online softmax (Milakov and Gimelshein, 2018) and
    saves one number per row. The backward pass reads them once more and writes the gradient.
    Classes are always the last dimension, whatever the number of dimensions. Returns the loss: [],
    or [...] without a reduction. The operation itself also returns the logarithms of the sums of
    exponentials and the divisor of a mean, for the backward pass.

    Args:
        logits: [..., classes], FP16, BF16, FP32 or FP64. Up to three dimensions of any strides are
            read in place if the last one is dense.
        labels: int64 [...], from 0 to classes - 1, or ignore_index. Any other label makes the loss
            NaN.
        ignore_index: The label of rows without loss and gradient.
        reduction: "mean" over the counted rows, weighted by their labels' weights; "sum" or "none".
        label_smoothing: Share of the target spread over all classes (Szegedy et al., 2016), from 0
            to 1.
        weight: [classes], a factor for each class's loss, or None. It has no gradient.
        dtype: Dtype of the loss. Defaults to the dtype of the logits, and to FP32 under autocast.

    Raises:
        RuntimeError: If `weight` requires a gradient.
    """
    ...


@_loss(operations.cross_entropy_backward, samples.of_backward, derived=("lse", "divisor"))
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
    """Compute the gradient of `cross_entropy` with respect to the logits, in one pass.

    All other arguments match the forward pass. Returns a contiguous tensor of the logits' shape and
    dtype.

    Args:
        grad: The gradient of the loss: one element, or the labels' shape.
        lse: Log-sum-exp of each row from the forward pass: [rows], FP32 (FP64 for FP64).
        divisor: The divisor of the forward pass, [].
    """
    ...


@_loss(
    operations.linear_cross_entropy,
    samples.of_heads,
    gradient=Gradient(_save_head, _gradients_of_head, statistics=5),
    hidden=Hidden(5),
    complete=_complete_head,
    timed=TIMED["linear_cross_entropy"],
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
) -> Tensor:
    """Compute cross_entropy(linear(hidden, weight, bias), labels) for some rows at a time.

    PyTorch's product computes the logits of a chunk of rows. One kernel computes their losses and
    overwrites the logits with their gradient, from which two products follow. A reduced loss thus
    gets its gradients in the forward pass (Hsu et al., "Liger Kernel", 2024), with as many products
    as if all logits were kept; the backward pass scales them. If all rows form one chunk and do not
    outnumber the features, the forward pass saves the gradient of the logits, which needs no more
    memory than the weight's gradient, and the backward pass computes the two products. Without a
    reduction, and for second derivatives, the backward pass recomputes the logits.

    The operation itself returns, besides the loss, the divisor of a mean and the gradients of the
    sum of losses with respect to logits, hidden, weight and bias; gradients that are not saved or
    not wanted are empty. A backward pass that does not retain its graph scales the last three in
    place.

    Args:
        hidden: [..., features], FP16, BF16, FP32 or FP64.
        weight: [classes, features] of hidden's dtype; `bias` is [classes], or None.
        labels: As in `cross_entropy`, like `ignore_index` and `label_smoothing`.
        reduction: "mean", "sum" or "none".
        chunk_size: Rows at a time. With 0, a chunk is an eighth of the rows, or, if that is more,
            the rows whose logits number a quarter of the weight gradient's elements; at most 2^27
            logits.
        dtype: Dtype of the loss. Defaults to hidden's dtype, and to FP32 under autocast.
        wanted: The gradients that the forward pass computes, which the function determines: 1 for
            hidden, 2 for weight and 4 for bias, added.
    """
    ...


@_loss(operations.linear_cross_entropy_backward, samples.of_heads_backward)
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
    """Compute the gradients of `linear_cross_entropy`, recomputing the logits chunk by chunk.

    All other arguments match the forward pass. Returns the gradients of hidden, weight and bias;
    the unwanted ones are empty.

    Args:
        grads: The gradients of the row losses, FP32 (FP64 for FP64): [rows], or [1] for all rows.
        wanted: 1 for hidden, 2 for weight and 4 for bias, added.
    """
    ...


@Operation(
    reference=scaling.in_pytorch,
    samples=samples.made_gradients,
    cpu=Cpu(named="PyTorch's product with a number"),
    cuda=_on_cuda(scaling.on_cuda),
    mutates=("gradients",),
    refuses=_refuses,
)
def linear_cross_entropy_scaled_backward(
    gradients: Sequence[Tensor], grad: Tensor, divisor: Tensor
) -> None:
    """Multiply the forward pass's gradients of `linear_cross_entropy` by grad / divisor in place.

    The products are computed in FP32 (FP64 for FP64) and rounded once.

    Args:
        gradients: Contiguous; FP16, BF16 and FP32, or FP64; on one device.
        grad: The gradient of the loss, one element on the device.
        divisor: The divisor of the loss, one element, FP32 (FP64 for FP64). If it is 0, the
            gradients become 0.
    """
    ...


@Operation(
    reference=squares.in_pytorch,
    samples=samples.pairs,
    cpu=Cpu(ON_CPU, squares.on_cpu),
    cuda=_on_cuda(squares.on_cuda),
    gradient=Gradient(lambda arguments, _: arguments[:2], _gradients_of_squares),
    complete=_complete_squares,
    refuses=_refuses,
    tolerance_scale=4,
    timed=TIMED["mse_loss"],
)
def mse_loss(x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Compute the mean of (x - target)^2 in one pass; without a reduction, PyTorch's kernel runs.

    Returns [], or x's shape without a reduction, in the promoted dtype; FP32 under autocast (FP64
    for FP64).

    Args:
        x: Any shape and strides; FP16, BF16, FP32 or FP64.
        target: A tensor of x's shape; it does not broadcast. Dtypes promote as in PyTorch.
        reduction: "mean", "sum" or "none".
    """
    ...


@Operation(
    reference=squares.gradient_in_pytorch,
    samples=samples.pairs_backward,
    cpu=Cpu(ON_CPU, squares.gradient_on_cpu),
    cuda=_on_cuda(squares.gradient_on_cuda),
    refuses=_refuses,
    tolerance_scale=4,
)
def mse_loss_backward(grad: Tensor, x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Compute the gradient of `mse_loss` with respect to x; the target's is its negative.

    All other arguments match the forward pass. Returns a tensor of x's shape and dtype.

    Args:
        grad: The gradient of the loss in x's dtype: [], or x's shape without a reduction.
    """
    ...
