"""Cross-entropy of a linear layer, some rows at a time: all logits are never in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.general.elementwise.functions import TYPES
from kernels.ops.general.loss.rows import Kernels, Labels, check_reduction, computed, wide

MOST_LOGITS = 1 << 27  # at a time: 256 MB in half precision
# At a time, if they fit. Every chunk reads the whole weight, which limits a GPU's product of fewer
# rows. On the CPU a product first reorders the weight, which takes the time of 30 rows.
FEWEST_ROWS, FEWEST_ON_CPU = 512, 1024
PARTS = 8
# A chunk of logits may have 1 / OF_WEIGHT of the elements of the weight's gradient. That gradient
# is in memory anyway, and each chunk after the first reads and writes all of it.
OF_WEIGHT = 4
HIDDEN, WEIGHT, BIAS = 1, 2, 4  # bits of `wanted`


class Head(NamedTuple):
    """The layer that computes the logits from hidden [..., features].

    `weight` is [classes, features], and `bias` [classes] or None.
    """

    hidden: Tensor
    weight: Tensor
    bias: Tensor | None


class Found(NamedTuple):
    """The results for all rows.

    Attributes:
        losses: [rows].
        logits: The gradient of the sum of losses with respect to all logits; empty unless it is
            saved.
        hidden: The gradient of hidden; empty if it is not wanted, or if the logits' gradient is
            saved.
    """

    losses: Tensor
    logits: Tensor
    hidden: Tensor
    weight: Tensor
    bias: Tensor


def check(head: Head, given: Labels, reduction: str, chunk_size: int) -> None:
    hidden, weight, bias = head
    name = "linear_cross_entropy"
    if hidden.dtype not in TYPES or not hidden.dim():
        raise ValueError(
            f"{name}: hidden is {hidden.dtype} {list(hidden.shape)}; expected float16, bfloat16, "
            "float32 or float64 [..., features]"
        )
    if weight.dim() != 2 or weight.shape[1] != hidden.shape[-1] or not weight.shape[0]:
        raise ValueError(
            f"{name}: weight has the shape {list(weight.shape)}; expected [classes, "
            f"{hidden.shape[-1]}]"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ValueError(
            f"{name}: bias has the shape {list(bias.shape)}; expected {[weight.shape[0]]}"
        )
    if given.labels.dtype != torch.int64 or given.labels.shape != hidden.shape[:-1]:
        raise ValueError(
            f"{name}: labels is {given.labels.dtype} {list(given.labels.shape)}; expected int64 "
            f"{list(hidden.shape[:-1])}"
        )
    for what, x in (("weight", weight), ("bias", bias), ("labels", given.labels)):
        if x is not None and x.device != hidden.device:
            raise ValueError(
                f"{name}: {what} is on {x.device}; expected {hidden.device}, where hidden is"
            )
        if x is not None and x.is_floating_point() and x.dtype != hidden.dtype:
            raise ValueError(
                f"{name}: {what} is a tensor of {x.dtype}; expected {hidden.dtype}, as hidden"
            )
    check_reduction(name, reduction)
    if not 0 <= given.smoothing <= 1:
        raise ValueError(
            f"{name}: label_smoothing is {given.smoothing}; expected a number from 0 to 1"
        )
    if chunk_size < 0:
        raise ValueError(f"{name}: chunk_size is {chunk_size}; expected rows, or 0")


def rows_at_a_time(rows: int, classes: int, features: int = 0, on_cpu: bool = False) -> int:
    """Return the rows per chunk: an eighth of all, not too few, at most MOST_LOGITS logits.

    With `features`, a chunk has at least a quarter of the size of the weight's wanted gradient.
    """
    fewest = FEWEST_ON_CPU if on_cpu else FEWEST_ROWS
    least = max(fewest, features // OF_WEIGHT)
    return max(1, min(max(-(-rows // PARTS), least), MOST_LOGITS // classes))


def _step(head: Head, rows: int, wanted: int, chunk_size: int) -> int:
    weight = head.weight
    features = weight.shape[1] if wanted & WEIGHT else 0
    return chunk_size or rows_at_a_time(rows, weight.shape[0], features, weight.is_cpu)


def keeps_logits(head: Head, rows: int, wanted: int, chunk_size: int) -> bool:
    """Return whether the forward pass leaves the products with the logits' gradient to backward.

    It does if one chunk has all rows and its logits need no more memory than the weight's gradient.
    Backward then need not scale that gradient. It scales the hidden rows, which have fewer
    elements, before their product.
    """
    few = 0 < rows <= min(head.weight.shape[1], _step(head, rows, wanted, chunk_size))
    return few and bool(wanted & WEIGHT)


def by_chunks(
    kernels: Kernels | None,
    head: Head,
    given: Labels,
    grads: Tensor | None,
    wanted: int,
    chunk_size: int,
) -> Found:
    """Compute the losses and the wanted gradients.

    PyTorch's product computes a chunk of logits. One call of our kernel computes its losses and, in
    its place, its gradient; two more products turn that into the gradients of the head. Gradients
    of weight and bias are summed in a fixed order.

    Args:
        grads: [rows] or [1], factors of the gradients; None for 1.
        wanted: The sum of HIDDEN, WEIGHT and BIAS.
        chunk_size: Rows at a time; with 0, `rows_at_a_time` decides.
    """
    hidden, weight, bias = head.hidden.reshape(-1, head.hidden.shape[-1]), head.weight, head.bias
    labels, rows = given.labels.reshape(-1), hidden.shape[0]
    accumulated = wide(hidden.dtype)
    losses = hidden.new_empty(rows, dtype=accumulated)
    of_hidden = hidden.new_zeros(hidden.shape if wanted & HIDDEN else 0)
    # The first chunk writes it whole; zeros before would touch it twice.
    of_weight = (weight.new_empty if rows else weight.new_zeros)(
        weight.shape if wanted & WEIGHT else 0
    )
    of_bias = weight.new_zeros(weight.shape[0] if wanted & BIAS else 0, dtype=accumulated)
    step = _step(head, rows, wanted, chunk_size)
    for at in range(0, rows, step):
        part = slice(at, at + step)
        logits = F.linear(hidden[part], weight, bias)
        losses[part], _, gradient = computed(
            kernels,
            logits,
            given._replace(labels=labels[part]),
            grads if grads is None or grads.numel() == 1 else grads[part],
            into=logits if wanted else None,
        )
        if gradient is not None and wanted & HIDDEN:
            of_hidden[part] = gradient @ weight
        if gradient is not None and wanted & WEIGHT:
            of_weight.addmm_(gradient.t(), hidden[part], beta=int(at > 0))
        if gradient is not None and wanted & BIAS:
            of_bias += gradient.sum(0, dtype=accumulated)
        del logits, gradient  # free before the next chunk
    return Found(
        losses,
        hidden.new_empty(0),
        of_hidden.view(head.hidden.shape) if wanted & HIDDEN else of_hidden,
        of_weight,
        of_bias.to(hidden.dtype),
    )


def at_once(kernels: Kernels | None, head: Head, given: Labels) -> Found:
    """Compute the losses and the gradient of all logits, in the memory of the logits."""
    hidden = head.hidden.reshape(-1, head.hidden.shape[-1])
    # PyTorch refuses an operation that returns a tensor twice.
    of_hidden, of_weight, of_bias = (hidden.new_empty(0) for _ in range(3))
    logits = F.linear(hidden, head.weight, head.bias)
    flat = given._replace(labels=given.labels.reshape(-1))
    losses, _, gradient = computed(kernels, logits, flat, into=logits)
    return Found(losses, cast("Tensor", gradient), of_hidden, of_weight, of_bias)


def products(
    gradient: Tensor, head: Head, wanted: int, scale: Callable[[list[Tensor]], None]
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Compute the gradients of hidden, weight and bias from the logits', [rows, classes].

    `scale` multiplies tensors in place by the gradient of the loss.
    """
    rows = head.hidden.reshape(-1, head.hidden.shape[-1])
    of_hidden = gradient @ head.weight if wanted & HIDDEN else None
    of_bias = gradient.sum(0, dtype=wide(gradient.dtype)) if wanted & BIAS else None
    right = rows.clone(memory_format=torch.contiguous_format) if wanted & WEIGHT else None
    scale([x for x in (of_hidden, of_bias, right) if x is not None])
    return (
        None if of_hidden is None else of_hidden.view(head.hidden.shape),
        None if right is None else gradient.t() @ right,
        None if of_bias is None else of_bias.to(gradient.dtype),
    )
