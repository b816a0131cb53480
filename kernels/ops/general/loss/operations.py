"""The computation of each cross-entropy, in the given kernels or in PyTorch."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.ops.general.loss import linear, rows
from kernels.ops.general.loss.linear import Head
from kernels.ops.general.loss.rows import Kernels, Labels


def cross_entropy(
    kernels: Kernels | None,
    logits: Tensor,
    labels: Tensor,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    weight: Tensor | None = None,
    dtype: torch.dtype | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the loss, and each row's log-sum-exp and the loss's divisor for backward."""
    given = Labels(labels, weight, ignore_index, label_smoothing)
    rows.check("cross_entropy", logits, given, reduction)
    rows.check_loss("cross_entropy", dtype or logits.dtype)
    found = rows.computed(kernels, logits, given)
    loss, divisor = rows.reduced(kernels, found.losses, given, reduction, dtype or logits.dtype)
    return loss, found.lse, divisor


def cross_entropy_backward(
    kernels: Kernels | None,
    grad: Tensor,
    logits: Tensor,
    labels: Tensor,
    lse: Tensor,
    divisor: Tensor,
    ignore_index: int,
    label_smoothing: float,
    weight: Tensor | None,
) -> Tensor:
    given = Labels(labels, weight, ignore_index, label_smoothing)
    rows.check("cross_entropy_backward", logits, given, "none")
    if grad.numel() not in (1, labels.numel()):
        raise ValueError(
            f"cross_entropy_backward: grad has the shape {list(grad.shape)}; expected [] or "
            f"{list(labels.shape)}"
        )
    for name, x, count in (("lse", lse, labels.numel()), ("divisor", divisor, 1)):
        if x.dtype != rows.wide(logits.dtype) or x.numel() != count:
            raise ValueError(
                f"cross_entropy_backward: {name} is {x.dtype} {list(x.shape)}; expected "
                f"{rows.wide(logits.dtype)} of {count} elements"
            )
    into = logits.new_empty(logits.shape)
    lse = lse.contiguous()
    found = rows.computed(kernels, logits, given, grad.reshape(-1), divisor, lse, into).gradient
    return into if found is None else found


def linear_cross_entropy(
    kernels: Kernels | None,
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
    """Return the loss, its divisor, the logits' gradient if saved, and the wanted gradients."""
    head, given = Head(hidden, weight, bias), Labels(labels, None, ignore_index, label_smoothing)
    linear.check(head, given, reduction, chunk_size)
    rows.check_loss("linear_cross_entropy", dtype or hidden.dtype)
    if linear.keeps_logits(head, labels.numel(), wanted, chunk_size):
        found = linear.at_once(kernels, head, given)
    else:
        found = linear.by_chunks(kernels, head, given, None, wanted, chunk_size)
    loss, divisor = rows.reduced(kernels, found.losses, given, reduction, dtype or hidden.dtype)
    return loss, divisor, *found[1:]


def linear_cross_entropy_backward(
    kernels: Kernels | None,
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
    head, given = Head(hidden, weight, bias), Labels(labels, None, ignore_index, label_smoothing)
    linear.check(head, given, "none", chunk_size)
    if grads.shape not in ((1,), (labels.numel(),)):
        raise ValueError(
            f"linear_cross_entropy_backward: grads has the shape {list(grads.shape)}; expected [1] "
            f"or {[labels.numel()]}"
        )
    found = linear.by_chunks(kernels, head, given, grads, wanted, chunk_size)
    return found.hidden, found.weight, found.bias
