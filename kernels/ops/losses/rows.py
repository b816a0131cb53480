"""Cross-entropy by row of the logits, in PyTorch and by the kernels of a GPU and of the CPU."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import Structure, byref, c_double, c_int, c_longlong, c_void_p
from typing import NamedTuple

import torch
from torch import Tensor

from kernels.ops.elements.functions import TYPES
from kernels.ops.launcher import CpuLauncher, CudaLauncher

MOST_THREADS = 512  # of a block
_BYTES = 32  # of a row, that a thread has under way
REDUCTIONS = ("none", "mean", "sum")


class StyleforgeRows(Structure):
    """Mirror of StyleforgeRows in include/loss/rows.h."""

    _fields_ = [
        *(
            (name, c_void_p)
            for name in (
                *("logits", "labels", "weight", "grads", "divisor", "losses", "lse", "gradient"),
            )
        ),
        *(
            (name, c_longlong)
            for name in (
                *("rows", "classes", "inner", "outer_stride", "inner_stride", "grad_step"),
                "ignore_index",
            )
        ),
        ("smoothing", c_double),
        *((name, c_int) for name in ("type", "known", "are_wide")),
    ]


class StyleforgeTotal(Structure):
    """Mirror of StyleforgeTotal in include/loss/rows.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("losses", "labels", "weight", "total", "divisor")),
        *((name, c_longlong) for name in ("rows", "classes", "ignore_index")),
        *((name, c_int) for name in ("type", "is_wide", "is_mean")),
    ]


class Labels(NamedTuple):
    """What the classes of rows are, and how they count.

    Attributes:
        labels: int64, of the logits' shape without its last dimension.
        weight: [classes], of the dtype that losses are computed in, or None.
        ignore_index: The label of rows that have no loss.
        smoothing: How much of the target is spread over all classes.
    """

    labels: Tensor
    weight: Tensor | None
    ignore_index: int
    smoothing: float


class Rows(NamedTuple):
    """What is computed of rows.

    Attributes:
        losses: [rows]; 0 where the label is ignored, NaN where it is no class.
        lse: [rows], the logarithms of the sums of exponentials.
        gradient: Of the logits' shape and dtype, or None.
    """

    losses: Tensor
    lse: Tensor
    gradient: Tensor | None


class Kernels(NamedTuple):
    """What runs losses of rows; None in place of it stands for PyTorch's operations.

    Attributes:
        rows: Runs a call whose logits have the dtype.
        total: Sums the losses of rows; None where PyTorch does.
    """

    rows: Callable[[StyleforgeRows, torch.dtype], None]
    total: Callable[[StyleforgeTotal], None] | None = None


def wide(dtype: torch.dtype) -> torch.dtype:
    """What a loss of logits of this dtype is computed in."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def check(name: str, logits: Tensor, given: Labels, reduction: str) -> None:
    """Check the arguments of a cross-entropy.

    Raises:
        ValueError: One of them does not fit.
    """
    labels, weight, _, smoothing = given
    if logits.dtype not in TYPES or not logits.dim() or not logits.shape[-1]:
        raise ValueError(
            f"{name}: logits is {logits.dtype} {list(logits.shape)}; expected float16, bfloat16, "
            "float32 or float64 [..., classes]"
        )
    if labels.dtype != torch.int64 or labels.shape != logits.shape[:-1]:
        raise ValueError(
            f"{name}: labels is {labels.dtype} {list(labels.shape)}; expected int64 "
            f"{list(logits.shape[:-1])}"
        )
    if weight is not None and weight.shape != logits.shape[-1:]:
        raise ValueError(
            f"{name}: weight has the shape {list(weight.shape)}; expected {[logits.shape[-1]]}"
        )
    for what, x in (("labels", labels), ("weight", weight)):
        if x is not None and x.device != logits.device:
            raise ValueError(
                f"{name}: {what} is on {x.device}; expected {logits.device}, where logits is"
            )
    check_reduction(name, reduction)
    if not 0 <= smoothing <= 1:
        raise ValueError(f"{name}: label_smoothing is {smoothing}; expected a number from 0 to 1")


def check_reduction(name: str, reduction: str) -> None:
    """Check the name of a reduction.

    Raises:
        ValueError: There is none of that name.
    """
    if reduction not in REDUCTIONS:
        raise ValueError(f"{name}: reduction is '{reduction}'; expected 'none', 'mean' or 'sum'")


def check_loss(name: str, dtype: torch.dtype) -> None:
    """Check the dtype of a loss.

    Raises:
        ValueError: It is none of those of logits.
    """
    if dtype not in TYPES:
        raise ValueError(
            f"{name}: dtype is {dtype}; expected float16, bfloat16, float32 or float64"
        )


def in_pytorch(logits: Tensor, given: Labels, grads: Tensor | None, wanted: bool) -> Rows:
    """What rows are, by PyTorch's operations, which can be differentiated."""
    labels, weight, ignore_index, smoothing = given
    x, classes = logits.to(wide(logits.dtype)), logits.shape[-1]
    valid, inside = labels != ignore_index, (labels >= 0) & (labels < classes)
    at = labels.clamp(0, classes - 1)
    hit = torch.full_like(at, 1 - smoothing, dtype=x.dtype)
    if weight is not None:
        hit = hit * weight[at]
    hit = torch.where(valid, torch.where(inside, hit, torch.nan), 0)
    lse = x.logsumexp(-1)
    losses = hit * (lse - x.gather(-1, at[..., None])[..., 0])
    each = smoothing / classes
    spread = torch.full_like(x, each) if weight is None else (each * weight).expand_as(x)
    if smoothing:
        losses = losses + spread.sum(-1) * lse - (spread * x).sum(-1)
    losses = torch.where(valid, losses, 0)
    if not wanted:
        return Rows(losses.flatten(), lse.flatten(), None)
    target = spread + hit[..., None] * (torch.arange(classes, device=x.device) == at[..., None])
    gradient = torch.softmax(x, -1) * target.sum(-1, keepdim=True) - target
    gradient = torch.where(valid[..., None], gradient, 0)
    if grads is not None:
        gradient = gradient * (grads.view(*labels.shape, 1) if grads.numel() > 1 else grads)
    return Rows(losses.flatten(), lse.flatten(), gradient.to(logits.dtype))


def reduced(
    kernels: Kernels | None, losses: Tensor, given: Labels, reduction: str, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """The loss of rows, rounded to `dtype`, and what a sum of them was divided by."""
    labels, weight, ignore_index, _ = given
    if reduction == "none":
        return losses.view(labels.shape).to(dtype), losses.new_ones(())
    if kernels is not None and kernels.total is not None:
        return _summed(kernels.total, losses, given, reduction, dtype)
    loss, divisor = losses.sum(), losses.new_ones(())
    if reduction == "mean":
        divisor = divisor_of(labels, weight, ignore_index, loss.dtype)
        loss = loss / divisor
    return loss.to(dtype), divisor


def divisor_of(
    labels: Tensor, weight: Tensor | None, ignore_index: int, dtype: torch.dtype
) -> Tensor:
    """What a mean divides by: the weights of all labels that are not ignored."""
    valid = labels != ignore_index
    if weight is None:
        return valid.sum(dtype=dtype)
    return torch.where(valid, weight[labels.clamp(0, weight.shape[0] - 1)], 0).sum(dtype=dtype)


def _summed(
    total: Callable[[StyleforgeTotal], None],
    losses: Tensor,
    given: Labels,
    reduction: str,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor]:
    """The same by one launch."""
    labels, weight = given.labels.contiguous(), _weight_of(given, losses.dtype)
    loss, divisor = losses.new_empty((), dtype=dtype), losses.new_empty(())
    p = StyleforgeTotal(
        losses=losses.data_ptr(),
        labels=labels.data_ptr(),
        weight=None if weight is None else weight.data_ptr(),
        total=loss.data_ptr(),
        divisor=divisor.data_ptr(),
        rows=labels.numel(),
        classes=0 if weight is None else weight.numel(),
        ignore_index=given.ignore_index,
        type=TYPES[dtype],
        is_wide=losses.dtype == torch.float64,
        is_mean=reduction == "mean",
    )
    total(p)
    return loss, divisor


def _weight_of(given: Labels, dtype: torch.dtype) -> Tensor | None:
    return None if given.weight is None else given.weight.to(dtype).contiguous()


def on_cpu(launch: CpuLauncher, dtype: torch.dtype) -> Kernels | None:
    """Runs cpu/loss.cpp; in FP64, whose exponentials are PyTorch's, PyTorch."""
    if dtype == torch.float64:
        return None
    run = launch.function("styleforge_cross_entropy", c_longlong, c_void_p)

    def submit(p: StyleforgeRows, dtype: torch.dtype) -> None:
        if run(torch.get_num_threads(), byref(p)):
            raise RuntimeError(f"cross_entropy: the library has no kernel in {dtype}")

    return Kernels(submit)


def on_cuda(launch: CudaLauncher) -> Kernels:
    """Runs loss.cu."""

    def submit(p: StyleforgeRows, dtype: torch.dtype) -> None:
        name = f"styleforge_cross_entropy_{str(dtype).removeprefix('torch.')}"
        threads = threads_for(p.rows, p.classes, dtype.itemsize, launch.gpu.multiprocessors)
        launch(name, p.rows, threads, p)

    def total(p: StyleforgeTotal) -> None:
        launch("styleforge_cross_entropy_total", 1, MOST_THREADS, p)

    return Kernels(submit, total)


def computed(
    kernels: Kernels | None,
    logits: Tensor,
    given: Labels,
    grads: Tensor | None = None,
    divisor: Tensor | None = None,
    lse: Tensor | None = None,
    into: Tensor | None = None,
) -> Rows:
    """The losses of rows, their gradient, or both.

    Args:
        kernels: What runs; None for PyTorch's operations.
        logits: [..., classes]. The kernels take any strides of up to three dimensions of which the
            last one is dense; others are copied. FP64 on a CPU is computed by PyTorch.
        given: Of the rows.
        grads: [rows] or [1], what the gradient is multiplied by; None for 1.
        divisor: What `grads` are divided by, [], of the dtype of losses; None for 1.
        lse: Where it is known, losses are not computed.
        into: What the gradient is written to, contiguous; the logits themselves may be it. Without
            it there is none.
    """
    if kernels is None:
        if grads is not None and divisor is not None:
            grads = grads.to(divisor.dtype) / divisor
        return in_pytorch(logits, given, grads, into is not None)
    if logits.dim() > 3 or (logits.stride(-1) != 1 and logits.shape[-1] > 1):
        logits = logits.contiguous()
    labels, dtype = given.labels.contiguous(), wide(logits.dtype)
    weight = _weight_of(given, dtype)
    if grads is not None:
        grads = (grads if grads.dtype == logits.dtype else grads.to(dtype)).contiguous()
    losses = torch.empty(labels.numel(), dtype=dtype, device=logits.device)
    found = torch.empty_like(losses) if lse is None else lse
    if not labels.numel():
        return Rows(losses, found, into)
    p = StyleforgeRows(
        logits=logits.data_ptr(),
        labels=labels.data_ptr(),
        weight=None if weight is None else weight.data_ptr(),
        grads=None if grads is None else grads.data_ptr(),
        divisor=None if divisor is None else divisor.data_ptr(),
        losses=losses.data_ptr(),
        lse=found.data_ptr(),
        gradient=None if into is None else into.data_ptr(),
        rows=labels.numel(),
        classes=logits.shape[-1],
        inner=logits.shape[-2] if logits.dim() > 1 else 1,
        outer_stride=logits.stride(-3) if logits.dim() > 2 else 0,
        inner_stride=logits.stride(-2) if logits.dim() > 1 else 0,
        grad_step=int(grads is not None and grads.numel() > 1),
        ignore_index=given.ignore_index,
        smoothing=given.smoothing,
        type=TYPES[logits.dtype],
        known=lse is not None,
        are_wide=grads is not None and grads.dtype == dtype,
    )
    kernels.rows(p, logits.dtype)
    return Rows(losses, found, into)


def threads_for(rows: int, classes: int, size: int, multiprocessors: int) -> int:
    """Of a block that computes a row of elements of `size` bytes; a power of 2.

    Where a multiprocessor has more rows than the two blocks of most threads that it holds, blocks
    have half as many: one of four waits for its first logits while three read theirs.
    """
    wanted = max(32, classes * size // _BYTES)
    most = MOST_THREADS if rows <= 2 * multiprocessors else MOST_THREADS // 2
    return min(most, 1 << (wanted - 1).bit_length())
